"""latency.hlog: the interval log of HdrHistogram, which other tools can open.

A line is `Tag=<step>/<what>,<begin>,<length>,<max>,<histogram>`. The engine counts `begin` from the
start of the load; in the file it counts from the start of the run, which the file's head names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from loadstone.model.message import say
from loadstone.model.result import Window
from loadstone.runs import safe_open
from loadstone.runs.errors import StoreError

LONGEST_LINE = 4 * safe_open.MEGABYTE
"""Bytes: a histogram with three digits has at most half a megabyte before it is packed."""

UNFINISHED = "unfinished-"
"""Before the meaning of lines with the ages of events that had not ended when the window did."""

_SAME_TIME_S = 1e-5
"""Times have microseconds, and are the sum of two."""


def restamp(line: str, load_began_s: float) -> str:
    """Convert the engine's line to the time base of the run's file.

    Times have microseconds: the drain of a few users takes less than a millisecond, and with
    coarser times it would seem to lie in the window.
    """
    tag, begin, rest = line.split(",", 2)
    return f"{tag},{float(begin) + load_began_s:.6f},{rest}"


def lines_of(path: Path, from_byte: int, tag: str) -> Iterator[str]:
    """The complete lines of one step, from the byte at which they begin.

    Raises:
        StoreError: the file cannot be read, or a line is not one of such a log.
    """
    prefix = f"Tag={tag}/"
    for line in text_lines(path, from_byte):
        if not line.startswith(prefix):
            return
        yield line


def text_lines(path: Path, from_byte: int = 0) -> Iterator[str]:
    """All complete lines of the file, without their line ends.

    Raises:
        StoreError: it cannot be read, or a line is not text or longer than ours ever are.
    """
    try:
        with safe_open.opened(path) as file:
            file.seek(from_byte)
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                yield line.decode("ascii").rstrip("\n")
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
    except UnicodeDecodeError as error:
        raise StoreError(say("{path} has a line that is not text", path=path)) from error
    if len(line) >= LONGEST_LINE:
        raise StoreError(
            say(
                "{path} has a line of more than {most} MB",
                path=path,
                most=LONGEST_LINE // safe_open.MEGABYTE,
            )
        )


def interval_of(line: str) -> tuple[float, float]:
    """Start and end of a line's interval, in seconds since the start of the run.

    Raises:
        StoreError: it is not a line of an interval log.
    """
    try:
        _, begin, length, _ = line.split(",", 3)
        ends = float(begin), float(begin) + float(length)
    except ValueError as error:
        raise StoreError(
            say("latency.hlog: {line} is no line of an interval log", line=repr(line[:60]))
        ) from error
    if not all(map(math.isfinite, ends)):
        raise StoreError(say("latency.hlog: {line} has no time", line=repr(line[:60])))
    return ends


def middle_of(line: str) -> float:
    """The middle of a line's interval, in seconds since the start of the run.

    Raises:
        StoreError: it is not a line of an interval log.
    """
    begin, end = interval_of(line)
    return (begin + end) / 2


def within(lines: Iterable[str], window: Window, load_began_s: float) -> Iterator[str]:
    """Lines of the window: the middle of the interval decides, which tolerates rounding."""
    for line in lines:
        begin, end = interval_of(line)
        if window.has(begin - load_began_s, end - load_began_s):
            yield line


def after(lines: Iterable[str], window: Window, load_began_s: float) -> Iterator[str]:
    """Lines of the drain that follows the window; none if the window ended before the load did."""
    for line in lines:
        begin, _ = interval_of(line)
        if abs(begin - load_began_s - window.to_s) < _SAME_TIME_S:
            yield line


def tag_of(line: str) -> str:
    """The tag: `step-1/response`, also of the values above the histogram's range."""
    return line.partition(",")[0].removeprefix("Tag=").removesuffix("!above")


def meaning_of(tag: str) -> str:
    """The part of a tag after the step: `response`, `read`, `error-1213`."""
    return tag.partition("/")[2]
