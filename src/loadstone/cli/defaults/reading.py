"""Reads the file of user defaults: each setting with its command, option, value and line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from loadstone.cli.defaults.place import DefaultsRefused, Place, place_of_defaults
from loadstone.cli.defaults.settable import (
    REFUSED,
    Path,
    Settable,
    commands_of,
    instead_of,
    key_of,
    options_of,
)
from loadstone.cli.defaults.values import Given, UnfitValue, as_words, given_by
from loadstone.config.problems import Problems, document_of, text_of
from loadstone.model.hints import write as write_example
from loadstone.model.message import Joined, Message, say
from loadstone.model.nearest import nearest

_MANY = 12
"""With that many options, a hint does not list them."""


@dataclass(frozen=True)
class Setting:
    """The default that the file gives to one option of one command."""

    command: Path
    option: str
    """The option's key, such as `table_size`."""
    param: str
    """Click's name of the option."""
    given: Given
    words: tuple[str, ...]
    """The words that say the same on a command line."""
    written: Any
    """The value as TOML has it."""
    line: int


@dataclass(frozen=True)
class UserDefaults:
    """The settings of the file; none without a file."""

    place: Place | None
    settings: tuple[Setting, ...] = ()

    def of(self, command: Path) -> dict[str, Setting]:
        """The settings for a command, by click's name of the option."""
        return {each.param: each for each in self.settings if each.command == command}


def read_defaults(root: click.Group) -> UserDefaults:
    """The settings of the user's file for the commands of `root`.

    Raises:
        DefaultsRefused: the file cannot be read, or something in it is wrong; it has all problems.
    """
    place = place_of_defaults()
    if place is None or not place.is_used:
        return UserDefaults(place)
    file = str(place.path)
    document, problems = document_of(text_of(place.path, DefaultsRefused), file, DefaultsRefused)
    settings = _Reader(commands_of(root), problems).read(document)
    if problems.found:
        raise DefaultsRefused(file, problems.found)
    return UserDefaults(place, tuple(settings))


@dataclass(frozen=True)
class _Entry:
    """A key of a table, and its value."""

    table: Path
    """The group or command whose table it is in."""
    at: tuple[str, ...]
    """The keys as written."""
    value: object

    @property
    def key(self) -> str:
        return key_of(self.at[-1])


class _Reader:
    def __init__(self, commands: Mapping[Path, click.Command], problems: Problems) -> None:
        self._commands = commands
        self._problems = problems
        self._set_in: dict[tuple[Path, str], Path] = {}
        """The table that sets an option of a command, by click's name of the option."""
        self._options = {
            path: options_of(command)
            for path, command in commands.items()
            if not isinstance(command, click.Group)
        }

    def read(self, document: Mapping[str, Any]) -> list[Setting]:
        """The settings, in the order of the commands; a table of a command is above its group's."""
        found: dict[Path, dict[str, Setting]] = {path: {} for path in self._options}
        entries = list(self._entries(document, (), ()))
        self._refuse_twice(entries)
        for entry in sorted(entries, key=lambda each: len(each.table)):
            for path, option, given in self._settings(entry):
                self._keep(found[path], path, option, (entry, given))
        return [each for settings in found.values() for each in settings.values()]

    def _keep(
        self,
        settings: dict[str, Setting],
        path: Path,
        of: Settable,
        what: tuple[_Entry, Given | None],
    ) -> None:
        entry, given = what
        param = of.option.name or ""
        if given is None:
            if param in settings and settings[param].option == of.key:
                del settings[param]
            return
        before = settings.get(param)
        if before and before.option != of.key and self._set_in[path, param] == entry.table:
            said = say("{option} is set too, and they exclude each other", option=before.option)
            self._problems.add(entry.at, said, say("leave one out"))
        self._set_in[path, param] = entry.table
        settings[param] = Setting(
            command=path,
            option=of.key,
            param=param,
            given=given,
            words=as_words(given, of),
            written=entry.value,
            line=self._problems.line(entry.at),
        )

    def _entries(
        self, table: Mapping[str, Any], path: Path, at: tuple[str, ...]
    ) -> Iterator[_Entry]:
        """The keys of this table and of those of the commands below."""
        below = {key_of(each[-1]): each for each in self._commands if each[:-1] == path and each}
        for name, value in table.items():
            inner = below.get(key_of(name))
            if inner is None or not isinstance(value, dict):
                yield _Entry(path, (*at, name), value)
            else:
                yield from self._entries(value, inner, (*at, name))

    def _refuse_twice(self, entries: Iterable[_Entry]) -> None:
        known: dict[tuple[Path, str], _Entry] = {}
        for entry in entries:
            before = known.setdefault((entry.table, entry.key), entry)
            if before is not entry:
                line = self._problems.line(before.at)
                said = say("it is set in line {line} already", line=line)
                self._problems.add(entry.at, said, say("leave one out"))

    def _settings(self, entry: _Entry) -> Iterator[tuple[Path, Settable, Given | None]]:
        """The option that the entry sets in each command that has it and takes its value."""
        if entry.key in REFUSED:
            self._problems.add(entry.at, *_refused(entry.key))
            return
        having = list(self._having(entry))
        if not having:
            self._problems.add(entry.at, *self._unknown(entry))
            return
        unfit: UnfitValue | None = None
        taken = 0
        for path, option in having:
            try:
                given = given_by(entry.value, option, self._context(path))
            except UnfitValue as error:
                unfit = unfit or error
                continue
            taken += 1
            yield path, option, given
        # An option may take different values in different commands: one that fits none is wrong.
        if unfit and not taken:
            self._problems.add(entry.at, unfit.what, unfit.write)

    def _having(self, entry: _Entry) -> Iterator[tuple[Path, Settable]]:
        for path, options in self._options.items():
            option = options.get(entry.key)
            inside = path[: len(entry.table)] == entry.table
            if option and inside and not (option.option.is_own and path != entry.table):
                yield path, option

    def _owners(self, entry: _Entry) -> Iterator[str]:
        """The tables of the commands whose own option it is."""
        for path, options in self._options.items():
            if entry.key in options and path[: len(entry.table)] == entry.table:
                yield f"[{'.'.join(path)}]"

    def _context(self, path: Path) -> click.Context:
        context = click.Context(self._commands[()], info_name="loadstone")
        for length in range(1, len(path) + 1):
            command = self._commands[path[:length]]
            context = click.Context(command, parent=context, info_name=path[length - 1])
        return context

    def _unknown(self, entry: _Entry) -> tuple[Message, Message]:
        """What is wrong with a key that no command has, and what was perhaps meant."""
        command = self._commands[entry.table]
        name = " ".join(("loadstone", *entry.table))
        of_workloads: Callable[[], list[str]] = getattr(command, "options_of_workloads", list)
        more = of_workloads()
        if f"--{entry.key.replace('_', '-')}" in more:
            return (
                say("it is an option of a workload"),
                write_example(f'set_option = ["{entry.key}=..."]'),
            )
        if isinstance(entry.value, dict) and isinstance(command, click.Group):
            known = [each for each in command.list_commands(click.Context(command))]
            if entry.at[-1] in known:
                return (
                    say("{command} takes no defaults", command=f"{name} {entry.at[-1]}"),
                    say("leave the table out"),
                )
            return say("there is no such command"), _meant(entry.at[-1], known, name)
        keys = {
            key
            for path, options in self._options.items()
            if path[: len(entry.table)] == entry.table
            for key, option in options.items()
            if key not in REFUSED and not (option.option.is_own and path != entry.table)
        }
        if isinstance(command, click.Group):
            if entry.at[-1] in command.list_commands(click.Context(command)):
                table = ".".join((*entry.table, entry.at[-1]))
                return say("it is a command, not an option"), write_example(f"[{table}]")
            said = say("no command of {group} has such an option", group=name)
            if owners := list(self._owners(entry)):
                said = say("it belongs in the table of its command")
                return said, say("write it in {tables}", tables=Joined(owners, "choices"))
        else:
            said = say("{command} has no such option", command=name)
        return said, _meant(entry.key, sorted(keys), name)


def _refused(key: str) -> tuple[Message, Message]:
    return say("it cannot be set here: {why}", why=REFUSED[key]), instead_of(key)


def _meant(word: str, known: list[str], command: str) -> Message:
    if near := nearest(word, known):
        return near
    if len(known) < _MANY:
        return say("there are {known}", known=Joined(known))
    return say("{command} shows what there is", command=f"{command} --help")
