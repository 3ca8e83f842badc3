"""latency.hlog: the interval log of HdrHistogram, so that other tools open it.

A line is `Tag=<step>/<what>,<begin>,<length>,<max>,<histogram>`. The engine counts `begin` from
the load's begin; in the file it counts from the run's, which the head of the file names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from loadstone.store.errors import StoreError


def restamp(line: str, load_began_s: float) -> str:
    """The engine's line as it belongs into the file of the run.

    To the microsecond: the drain of a few users is over within less than a millisecond, and in
    coarser times it would seem to lie in the window.
    """
    tag, begin, rest = line.split(",", 2)
    return f"{tag},{float(begin) + load_began_s:.6f},{rest}"


def lines_of(path: Path, from_byte: int, tag: str) -> Iterator[str]:
    """The whole lines of one step, from the byte on where they begin."""
    prefix = f"Tag={tag}/".encode()
    try:
        with path.open("rb") as file:
            file.seek(from_byte)
            for line in file:
                if not line.endswith(b"\n") or not line.startswith(prefix):
                    return
                yield line.decode("ascii").rstrip("\n")
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error


def within(lines: Iterable[str], from_s: float, to_s: float) -> Iterator[str]:
    """Those whose interval lies in the window: its middle does, so rounding does not matter."""
    for line in lines:
        _, begin, length, _ = line.split(",", 3)
        if from_s <= float(begin) + float(length) / 2 < to_s:
            yield line


def tag_of(line: str) -> str:
    """The tag: `step-1/response`."""
    return line.partition(",")[0].removeprefix("Tag=")


def meaning_of(tag: str) -> str:
    """What follows the step in a tag: `response`, `read`, `error-1213`."""
    return tag.partition("/")[2]
