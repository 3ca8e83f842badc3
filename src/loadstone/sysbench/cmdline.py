"""Splits a command line into options, test and command. Only numbers are checked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.sysbench.errors import Refused
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.options import BLOCKS, Kind, Option, for_all_tests, key_of

# Our own options may also be written `--compat 1.1`; sysbench's own never are.
_VALUE_MAY_FOLLOW = tuple(option.key for option in BLOCKS["ours"] if option.kind is not Kind.BOOL)


@dataclass(frozen=True)
class Given:
    """An option as given: the word, and the text after `=` if there is any."""

    word: str
    key: str
    text: str | None
    from_file: bool = False


@dataclass
class CommandLine:
    """A command line, split into its parts."""

    words: tuple[str, ...] = ()
    """The words as given."""
    test: str | None = None
    command: str | None = None
    given: dict[str, Given] = field(default_factory=dict)
    """Options that all tests have; the last of each name counts."""
    of_test: list[Given] = field(default_factory=list)
    """Options that only the test may know."""
    only_in_file: list[str] = field(default_factory=list)
    """Keys of those that were given in a file only."""

    test_option: bool = False
    """The test was named with `--test`, as in 0.5."""

    def text(self, key: str) -> str | None:
        """The text after `=`; empty if there was none."""
        return (self.given[key].text or "") if key in self.given else None


def parse(words: Sequence[str]) -> CommandLine:
    """Split the words into options, test and command.

    Raises:
        Refused: a number is invalid, or there is a word too many.
    """
    known = for_all_tests()
    line = CommandLine(tuple(words))
    bare: list[str] = []
    for word in _joined(words):
        if not word.startswith("--"):
            bare.append(word)
            continue
        given = _given(word)
        if given.key == "test":
            _take_test(line, given)
        elif given.key == "config_file" and given.text:
            _take_file(line, Path(given.text), known)
        else:
            _take(line, given, known)
    _take_bare(line, bare)
    return line


def _joined(words: Sequence[str]) -> Iterable[str]:
    """Turn `--compat 1.1` into `--compat=1.1`."""
    rest = iter(words)
    for word in rest:
        if word.startswith("--") and key_of(word[2:]) in _VALUE_MAY_FOLLOW:
            following = next(rest, None)
            if following is None:
                raise Refused(f"{word} needs a value")
            yield f"{word}={following}"
        else:
            yield word


def _given(word: str) -> Given:
    name, equals, text = word[2:].partition("=")
    return Given(word, key_of(name), text if equals else None)


def _take_test(line: CommandLine, given: Given) -> None:
    line.test, line.test_option = given.text or "", True
    print(
        "WARNING: the --test option is deprecated. You can pass a script name or path on the "
        "command line without any options.",
        file=sys.stderr,
    )


def _take(line: CommandLine, given: Given, known: dict[str, Option]) -> None:
    option = known.get(given.key)
    is_switch = option is not None and option.kind is Kind.BOOL
    # A switch that is neither on nor off is unknown; the TLS modes of 1.1 are checked later.
    if option is None or (
        is_switch and given.key != "mysql_ssl" and values.switch(given.text) is None
    ):
        line.of_test.append(given)
        return
    if option.kind is Kind.INT and values.strict_int(given.text or "") is None:
        raise Refused(f"Invalid value for the '{option.key}' option: '{given.text}'")
    line.given[given.key] = given


def _take_file(line: CommandLine, path: Path, known: dict[str, Option]) -> None:
    """Read the lines `name=value` of a file; all others are ignored."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return
    for each in text.splitlines():
        name, equals, value = each.strip().partition("=")
        if name.startswith(("#", "[")) or not equals:
            continue
        name, value = name.strip(), value.strip()
        given = Given(f"--{name}={value}", key_of(name), value, from_file=True)
        if given.key in known:
            _take(line, given, known)
        else:
            line.only_in_file.append(given.key)
            line.of_test.append(given)


def _take_bare(line: CommandLine, bare: list[str]) -> None:
    if not line.test_option and bare:
        line.test = bare.pop(0)
    if bare:
        line.command = bare.pop(0)
    if bare:
        raise Refused(f"Unrecognized command line argument: {bare[0]}")
