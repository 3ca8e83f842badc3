"""The defaults that hold for the command that runs now: for click, for messages, for the record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from loadstone.cli.defaults.giving_way import Typed, unfit
from loadstone.cli.defaults.place import VARIABLE
from loadstone.cli.defaults.reading import Setting, UserDefaults, read_defaults
from loadstone.cli.defaults.settable import key_of, path_of
from loadstone.cli.help.command import DEFAULTS, FileDefault
from loadstone.model.message import Message, say

_SETTINGS = "loadstone.defaults.settings"
_FILE = "loadstone.defaults.file"
_WORKLOADS = ("workload", "workloads")


def take_defaults(context: click.Context) -> None:
    """Read the user's file and let the commands below `context` find it.

    Raises:
        DefaultsRefused: the file is wrong.
    """
    root = context.find_root().command
    assert isinstance(root, click.Group)
    context.meta[DEFAULTS] = _Choosing(read_defaults(root))


@dataclass(frozen=True)
class _Choosing:
    """Chooses the defaults that fit a command line."""

    defaults: UserDefaults

    def __call__(self, context: click.Context, args: Sequence[str]) -> Mapping[str, FileDefault]:
        settings = self.defaults.of(path_of(context))
        if not settings or self.defaults.place is None:
            return {}
        parsed, _, _ = context.command.make_parser(context).parse_args(list(args))
        asks_for_help = any(
            each.is_eager and each.name in parsed for each in context.command.get_params(context)
        )
        if not asks_for_help:
            gone = unfit(_typed(context, parsed), [each.option for each in settings.values()])
            settings = {param: each for param, each in settings.items() if each.option not in gone}
        file = self.defaults.place.path
        context.meta[_FILE] = str(file)
        context.meta[_SETTINGS] = {
            param: each for param, each in settings.items() if param not in parsed
        }
        return {
            param: FileDefault(each.given, as_text(each), file.name)
            for param, each in settings.items()
        }


def as_text(setting: Setting) -> str:
    """The value for people."""
    if isinstance(setting.written, bool):
        return str(setting.written).lower()
    given = setting.given
    return ", ".join(given) if isinstance(given, tuple) else str(given)


def _typed(context: click.Context, parsed: Mapping[str, Any]) -> Typed:
    """`parsed`: what was typed, by click's names."""
    options: dict[str, Any] = {}
    words: tuple[str, ...] = ()
    has: set[str] = set()
    for param in context.command.params:
        if isinstance(param, click.Option):
            keys = {key_of(each) for each in param.opts if each.startswith("--")}
            has |= keys
            if param.name in parsed:
                options |= dict.fromkeys(keys, parsed[param.name])
        elif param.name in _WORKLOADS:
            given = parsed.get(param.name)
            words = (
                given if isinstance(given, tuple) else (given,) if isinstance(given, str) else ()
            )
    return Typed(path_of(context), has, options, words)


def words_in_effect() -> tuple[str, ...]:
    """The file's part of this command, as words of a command line."""
    context = click.get_current_context(silent=True)
    settings = _settings_of(context)
    return tuple(word for each in settings.values() for word in each.words)


def origin_of(error: click.UsageError) -> Message | None:
    """Where an option that the error names was set, if that is the file."""
    named = set(re.findall(r"--[a-z][a-z-]*", str(error.message)))
    for setting in _settings_of(error.ctx).values():
        option = f"--{setting.option.replace('_', '-')}"
        if option in named and error.ctx is not None:
            return say(
                "{option} is set in {file}:{line}; {variable}= before the command leaves the file"
                " out",
                option=option,
                file=error.ctx.meta[_FILE],
                line=setting.line,
                variable=VARIABLE,
            )
    return None


def _settings_of(context: click.Context | None) -> Mapping[str, Setting]:
    return context.meta.get(_SETTINGS, {}) if context is not None else {}
