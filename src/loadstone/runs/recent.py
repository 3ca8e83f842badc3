"""Where the last minutes of a journal begin, found without reading what is before them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO

from loadstone.runs import safe_open
from loadstone.runs.tail import last_entry

_AT = re.compile(rb'\{"kind":"[a-z_]+","at_s":(-?[0-9][0-9.e+-]*)[,}]')
_NEAR_ENOUGH = 64 * 1024
"""Bytes: reading so many more lines costs less than another look."""


def recent_from(journal: Path, seconds: float) -> int:
    """A byte before all lines that were written within `seconds` before the last line.

    Lines are in the order of their times, so this is a bisection. 0 if the journal cannot be read,
    or something in it is not a line of a journal: who reads it all says so.
    """
    last = last_entry(journal)
    if last is None:
        return 0
    try:
        with safe_open.opened(journal) as file:
            return _bisected(file, last.at_s - seconds)
    except (OSError, ValueError):
        return 0


def _bisected(file: BinaryIO, wanted_s: float) -> int:
    """A byte after which, up to `_NEAR_ENOUGH`, the first line at `wanted_s` or later begins.

    Raises:
        ValueError: a line does not say when it was written.
    """
    before, behind = 0, os.fstat(file.fileno()).st_size
    while behind - before > _NEAR_ENOUGH:
        middle = (before + behind) // 2
        if _at_s(file, middle) < wanted_s:
            before = middle
        else:
            behind = middle
    return before


def _at_s(file: BinaryIO, byte: int) -> float:
    """When the first line that begins behind a byte was written; infinity if there is none."""
    file.seek(byte)
    file.readline(safe_open.LONGEST_LINE)
    line = file.readline(safe_open.LONGEST_LINE)
    if not line.endswith(b"\n"):
        return float("inf")
    found = _AT.match(line)
    if found is None:
        raise ValueError(line[:40])
    return float(found[1])
