"""`loadstone config`: the file of user defaults, and what it sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import by_text, current, in_words
from loadstone.cli.options.types import json_option
from loadstone.model.message import Joined, Message, counted, say

if TYPE_CHECKING:
    from loadstone.cli.defaults.place import Place
    from loadstone.cli.defaults.reading import Setting, UserDefaults
    from loadstone.cli.defaults.settable import Settable

_HEADS = (say("command"), say("option"), say("line"), say("value"))
_NAMED = 3
"""As many commands are named; of more the number is shown."""

_IN_HELP = re.compile(r"\[(?:default: |默认：)([^\]]*)\]$")


@command(
    help=say(
        "Show the file of your defaults, and each option that it sets, with its line.\n\n"
        "The file is ~/.config/loadstone/config.toml, or the one that LOADSTONE_CONFIG names. Each"
        " command has a table with its options; keys above all tables are for every command that"
        " has the option. The command line comes before the environment, the environment before"
        " the file (docs/config.md)."
    ),
    examples=(
        (
            say("a file"),
            "cat ~/.config/loadstone/config.toml\n"
            '  out = "/srv/runs"\n'
            '  target = "mysql://bench@db1/sbtest"\n'
            "  [run]\n"
            "  concurrency = [1, 8, 64]",
        ),
        (say("what it sets"), "loadstone config"),
    ),
)
@option(
    "--all",
    "everything",
    is_flag=True,
    help=say("Show all options of all commands, with the defaults that are in effect."),
)
@json_option
@click.pass_context
def config(context: click.Context, everything: bool, as_json: bool) -> None:
    """Show the user's defaults."""
    from loadstone.cli.defaults.reading import read_defaults

    root = context.find_root().command
    assert isinstance(root, click.Group)
    found = read_defaults(root)
    rows = list(_rows(root, found)) if everything else None
    if as_json:
        import json

        click.echo(json.dumps(_document(found, rows), indent=2))
        return
    click.echo(in_words(_where(found.place)))
    if rows is not None:
        _print_rows(_as_texts(rows))
    elif found.settings:
        _print_rows(_merged(found.settings))
    elif found.place is not None and found.place.is_used:
        click.echo(in_words(say("it sets nothing")), err=True)


def _where(place: Place | None) -> Message:
    from loadstone.cli.defaults.place import VARIABLE

    if place is None:
        return say("file  none: {variable} is empty", variable=VARIABLE)
    if not place.is_used:
        return say("file  {file}, which does not exist", file=str(place.path))
    return say("file  {file}", file=str(place.path))


@dataclass(frozen=True)
class _Row:
    """An option of a command with the default that is in effect."""

    command: str
    option: str
    default: str | None
    """`None` if the option has none."""
    setting: Setting | None
    """Where the file sets it."""


def _rows(root: click.Group, found: UserDefaults) -> Iterator[_Row]:
    from loadstone.cli.defaults.in_effect import as_text
    from loadstone.cli.defaults.settable import commands_of, options_of

    for path, each in commands_of(root).items():
        if isinstance(each, click.Group):
            continue
        settings = found.of(path)
        for key, of in options_of(each).items():
            if of.is_opposite:
                continue
            setting = settings.get(of.option.name or "")
            if setting is not None and isinstance(of.option.flag_value, str):
                setting = setting if setting.option == key else None
            default = as_text(setting) if setting else _built_in(of)
            yield _Row(" ".join(path), key, default, setting)


def _built_in(of: Settable) -> str | None:
    """The default without the file, as the help shows it."""
    default: Any = of.option.default
    if isinstance(default, str | int | float) or (default is not None and hasattr(default, "name")):
        shown = _plain_default(default)
        if shown is not None:
            return shown
    if found := _IN_HELP.search(by_text(of.option.help or "")):
        return found[1]
    return "false" if of.is_switch else None


def _plain_default(default: Any) -> str | None:
    from os import PathLike, fspath

    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, PathLike):
        return str(fspath(default))
    return str(default) if isinstance(default, str | int | float) else None


def _merged(settings: tuple[Setting, ...]) -> Iterator[tuple[str, ...]]:
    """A row for each line of the file: a key above all tables sets many commands."""
    from loadstone.cli.defaults.in_effect import as_text

    lines: dict[tuple[int, str], list[Setting]] = {}
    for each in sorted(settings, key=lambda one: one.line):
        lines.setdefault((each.line, each.option), []).append(each)
    for (line, key), several in lines.items():
        names = [" ".join(each.command) for each in several]
        yield _commands(names), key, str(line), as_text(several[0])


def _commands(names: list[str]) -> str:
    if len(names) <= _NAMED:
        return current().value(Joined(names))  # as typed: `run` is a command in any language
    return in_words(counted("1 command", "{number} commands", len(names)))


def _as_texts(rows: list[_Row]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        line = str(row.setting.line) if row.setting else ""
        yield row.command, row.option, line, row.default or "-"


def _print_rows(rows: Iterator[tuple[str, ...]]) -> None:
    """Columns of text, never cut: values are there to be copied."""
    from loadstone.cli.help.wrapping import width_of

    table = [tuple(map(in_words, _HEADS)), *rows]
    widths = [max(width_of(row[column]) for row in table) for column in range(len(_HEADS))]
    click.echo()
    for row in table:
        cells = (
            cell + " " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


def _document(found: UserDefaults, rows: list[_Row] | None) -> dict[str, Any]:
    place = found.place
    document: dict[str, Any] = {
        "version": 1,
        "file": str(place.path) if place else None,
        "exists": bool(place and place.is_used),
        "settings": [
            {
                "command": " ".join(each.command),
                "option": each.option,
                "value": each.written,
                "line": each.line,
            }
            for each in found.settings
        ],
    }
    if rows is not None:
        document["options"] = [
            {
                "command": row.command,
                "option": row.option,
                "default": row.default,
                "line": row.setting.line if row.setting else None,
            }
            for row in rows
        ]
    return document
