"""Splits a command line into options, test and command. Only numbers are checked."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.sysbench.errors import Refused
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.options import BLOCKS, Kind, Option, for_all_tests, key_of

# Our own options may also be written `--compat 1.1`; sysbench's own never are.
_VALUE_MAY_FOLLOW = tuple(option.key for option in BLOCKS["ours"] if option.kind is not Kind.BOOL)

_VALUE_IN_FILE = re.compile(r"""(?!#)(?:"([^"]*)"|'([^']*)'|(\S+))""")


@dataclass(frozen=True)
class Given:
    """An option as given: the word, and the text after `=` if there is any."""

    word: str
    key: str
    text: str | None


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
    """Keys of the options in a file that not all tests have: there they set nothing."""

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
    options: list[Given] = []
    for word in _joined(words):
        if not word.startswith("--"):
            _take_word(line, word)
        elif (given := _given(word)).key == "test":
            _take_test(line, given)
        else:
            options.append(given)
    # As in sysbench, a word too many is reported before a wrong value.
    for given in options:
        if given.key == "config_file" and given.text:
            _take_file(line, Path(given.text), known)
        else:
            _take(line, given, known)
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
    """Take `--test=NAME` of 0.5: it counts where it stands, and replaces a test named before."""
    if given.text is None:
        return
    line.test = given.text or None
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
    """Read the lines `name=value` of a file; all others are ignored.

    As in sysbench, a file sets only options that all tests have.
    """
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return
    for each in text.splitlines():
        name, equals, rest = each.strip().partition("=")
        if name.startswith(("#", "[")) or not equals:
            continue
        name, value = name.strip(), _value_in_file(rest.strip())
        key = key_of(name)
        if key not in known:
            line.only_in_file.append(key)
            continue
        if known[key].kind is Kind.BOOL and values.switch(value) is None and key != "mysql_ssl":
            value = "on"
        _take(line, Given(f"--{name}={value}", key, value), known)


def _value_in_file(text: str) -> str:
    """The first word, or what is in quotes; the rest of the line is a remark."""
    found = _VALUE_IN_FILE.match(text)
    return next((part for part in found.groups() if part is not None), "") if found else ""


def _take_word(line: CommandLine, word: str) -> None:
    if line.test is None:
        line.test = word
    elif line.command is None:
        line.command = word
    else:
        raise Refused(f"Unrecognized command line argument: {word}")
