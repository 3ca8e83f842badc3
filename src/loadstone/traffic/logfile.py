"""A log as lines: opened, unpacked where it is gzip, and never held in memory as a whole."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from loadstone.model.figure import Bytes
from loadstone.model.message import say
from loadstone.traffic.errors import LogRefused

_GZIP = b"\x1f\x8b"
LONGEST_LINE = 64 << 20
"""The longest line, in bytes: a default server's `max_allowed_packet`."""


class Line(NamedTuple):
    """A line of the file."""

    number: int
    """Counted from 1."""

    content: bytes
    """The line without its line break."""

    is_whole: bool
    """Whether its line break was there: the last line of a truncated log has none."""


def lines_of(path: Path) -> Iterator[Line]:
    """All lines, one after the other.

    Raises:
        LogRefused: the file cannot be read, or is not text; earlier lines were yielded.
    """
    number = 0
    try:
        with _opened(path) as file:
            while content := file.readline(LONGEST_LINE):
                number += 1
                is_whole = content.endswith(b"\n")
                if not is_whole and len(content) >= LONGEST_LINE:
                    said = say(
                        "a line of more than {size}: this is not a log", size=Bytes(LONGEST_LINE)
                    )
                    raise LogRefused(str(path), number, said, say("give a log of statements"))
                yield Line(number, content.rstrip(b"\r\n") if is_whole else content, is_whole)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        said = say(
            "the gzip file is damaged or was cut off after this line: {reason}", reason=str(error)
        )
        raise LogRefused(str(path), max(number, 1), said, say("copy it again")) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        said = say("cannot be read: {reason}", reason=reason)
        line = number + 1 if number else 0
        raise LogRefused(str(path), line, said, say("give the path of a log")) from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        packed = file.peek(2)[:2] == _GZIP
        if not packed:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield unpacked  # type: ignore[misc]
