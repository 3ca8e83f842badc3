"""The scripts that a command line names, with their weights."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from loadstone.pgbench import builtin
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.values import HIGHEST, whole

STANDARD_INPUT = "-"
_MOST_SCRIPTS = 128
"""The limit of pgbench, and that of the engine for workloads at once."""
_MOST_BYTES = 16_000_000
"""A file without an end must not fill the memory."""


@dataclass(frozen=True)
class Script:
    """A script that clients run, drawn by its weight."""

    called: str
    """Its name in reports: a file's is its path."""
    text: str
    weight: int = 1
    is_builtin: bool = False


def of_builtin(word: str) -> Script:
    """The script of `-b NAME[@W]`.

    Raises:
        Failed: there is no such script, or the weight is none.
    """
    name, weight = _name_and_weight(word)
    found = builtin.find(name)
    return Script(found.about, found.text, weight, is_builtin=True)


def of_file(word: str) -> Script:
    """The script of `-f FILENAME[@W]`.

    Raises:
        Failed: it cannot be read, or the weight is none.
    """
    name, weight = _name_and_weight(word)
    # A report can be printed whatever bytes the name has.
    called = os.fsencode(name).decode(errors="backslashreplace")
    return Script(called, _text_of(name), weight)


def check(scripts: tuple[Script, ...]) -> None:
    """Check that one of the scripts can be drawn.

    Raises:
        Failed: there are too many scripts, or all weights are 0.
    """
    if len(scripts) > _MOST_SCRIPTS:
        raise Failed(f"at most {_MOST_SCRIPTS} SQL scripts are allowed")
    if not sum(script.weight for script in scripts):
        raise Failed("total script weight must not be zero")


def _name_and_weight(word: str) -> tuple[str, int]:
    name, at, text = word.rpartition("@")
    if not at:
        return word, 1
    number = whole(text)
    if number is None:
        raise Failed(f"invalid weight specification: @{text}")
    if not 0 <= number <= HIGHEST:
        raise Failed(f"weight specification out of range (0 .. {HIGHEST}): {text}")
    return name, number


def _text_of(name: str) -> str:
    try:
        if name == STANDARD_INPUT:
            written = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                written = file.read(_MOST_BYTES + 1)
        if len(written) > _MOST_BYTES:
            raise Failed(f'file "{name}" is larger than {_MOST_BYTES} bytes')
        text = written.decode()
    except OSError as error:
        raise Failed(f'could not open file "{name}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise Failed(f'file "{name}" is not UTF-8: {error.reason}') from error
    if "\0" in text:
        raise Failed(f'file "{name}" has a byte of zero')
    return text
