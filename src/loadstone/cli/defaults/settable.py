"""The options that the file of user defaults can set, by command, and those that it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import click

from loadstone.cli.help.command import Explained, Option
from loadstone.model.message import Message, say

Path = tuple[str, ...]
"""The words that call a command, without the program's name."""

_ONE_COMMAND = say("it grants consent, which holds for one command only")
_NO_PASSWORD = say("files are copied and shown, so no password or token is read from this one")

REFUSED: Mapping[str, Message] = {
    "all": say("what it includes is decided for one command only"),
    "empty_password": say(
        "it lets everyone on this machine log in, which is decided for one server only"
    ),
    "enable_cleartext_plugin": _ONE_COMMAND,
    "no_abort": _ONE_COMMAND,
    "password": _NO_PASSWORD,
    "sysbench_tables": _ONE_COMMAND,
    "token": _NO_PASSWORD,
    "trust_folder": _ONE_COMMAND,
    "writes": _ONE_COMMAND,
    "yes": _ONE_COMMAND,
}
"""Options that grant consent or are secrets, and why the file cannot set them."""

_ELSEWHERE: Mapping[str, Message] = {
    "password": say("keep it in LOADSTONE_PASSWORD, or in an option file that defaults_file names"),
    "token": say("keep it in LOADSTONE_TOKEN"),
}


def instead_of(refused: str) -> Message:
    """What to do instead of setting a refused option."""
    option = f"--{refused.replace('_', '-')}"
    typed = say("leave it out, and give {option} on the command line", option=option)
    return _ELSEWHERE.get(refused, typed)


@dataclass(frozen=True)
class Settable:
    """An option of a command, under one of its names."""

    option: Option
    key: str
    """The name in the file, with underscores."""
    is_opposite: bool = False
    """Whether the key is the other name of a switch: `text` of `--prepared/--text`."""

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value."""
        return bool(self.option.is_flag)


def key_of(name: str) -> str:
    """The name of a key or an option as one with underscores: `--table-size`, `table-size`."""
    return name.removeprefix("--").replace("-", "_")


def options_of(command: click.Command) -> dict[str, Settable]:
    """The options of a command by their keys; those that end a command, like --help, are not."""
    found: dict[str, Settable] = {}
    for option in command.params:
        if not isinstance(option, Option) or option.is_eager or option.hidden:
            continue
        found |= {key: Settable(option, key) for key in _keys(option.opts)}
        if not option.has_hidden_opposite:
            opposites = _keys(option.secondary_opts)
            found |= {key: Settable(option, key, is_opposite=True) for key in opposites}
    return found


def _keys(names: list[str]) -> list[str]:
    return [key_of(name) for name in names if name.startswith("--")]


def commands_of(root: click.Group) -> dict[Path, click.Command]:
    """All groups and commands that take defaults, by the words that call them."""
    return {(): root} | dict(_below(root, ()))


def _below(group: click.Group, path: Path) -> Iterator[tuple[Path, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, Explained):
            yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _below(command, (*path, name))


def path_of(context: click.Context) -> Path:
    """The words that call the command of this context."""
    words: list[str] = []
    around: click.Context | None = context
    while around is not None and around.parent is not None:
        words.insert(0, around.info_name or "")
        around = around.parent
    return tuple(words)
