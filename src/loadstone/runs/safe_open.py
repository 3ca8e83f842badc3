"""Opens the files of a run's folder, which somebody else may have made.

A folder is copied, unpacked, and handed on. So each of its files must be a plain file: a link may
lead anywhere, a FIFO never ends to be waited for, and a device has no size. What is read whole has
a limit, and so has a number: nothing of ours comes near it, and sums of what does have no meaning.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from loadstone.model.message import say

MEGABYTE: Final = 1024 * 1024

LARGEST_DOCUMENT: Final = 64 * MEGABYTE
"""Bytes of a file that is read as one document: result.json has some 50 kB a step."""

LONGEST_LINE: Final = 16 * MEGABYTE
"""Bytes of a line: those of a cluster's seconds and of a plan are the longest, some 100 kB."""

GREATEST: Final = 1e20
"""No number that was measured or counted is greater; a server's own counters end at 1.8e19."""

LEAST: Final = 1e-60
"""None but zero is nearer to zero: what is divided by it has no end."""

_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789E", b"000000000e")
_PERHAPS_OUTSIDE: Final = (b"0" * 19, b"0e0", b"0e+", b"0e-00")
"""What a number outside the limits has, if all digits were noughts; a text may have it as well."""


class NotPlain(OSError):
    """A link, a FIFO, a device, a folder, or larger than any file of a run."""


class NumberOutside(ValueError):
    """A number that nobody measured."""


def opened(path: Path, *, flags: int = os.O_RDONLY) -> BinaryIO:
    """The file, to be read from its begin; or as `flags` say.

    Raises:
        NotPlain: it is no plain file.
        OSError: it is not there, or not for us.
    """
    try:
        # Opening a FIFO would wait for somebody to write to it.
        more = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(path, flags | more, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotPlain(errno.ELOOP, say("it is a link, which no file of a run is")) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotPlain(errno.EINVAL, say("it is not a regular file"))
    buffering = 0 if flags & os.O_ACCMODE else -1
    return os.fdopen(descriptor, "r+b" if flags & os.O_RDWR else "rb", buffering=buffering)


def contents(path: Path, most: int = LARGEST_DOCUMENT) -> bytes:
    """All of a file.

    Raises:
        NotPlain: it is no plain file, or has more than so many bytes.
        OSError: it is not there, or not for us.
    """
    with opened(path) as file:
        is_larger = os.fstat(file.fileno()).st_size > most
        found = b"" if is_larger else file.read(most + 1)
    if is_larger or len(found) > most:
        raise NotPlain(errno.EFBIG, say("it is larger than {most} MB", most=most // MEGABYTE))
    return found


def document(path: Path) -> bytes:
    """A JSON document to be read by people: as `contents`, without what drives their terminals."""
    return shown(contents(path))


def shown(text: bytes) -> bytes:
    """JSON in which U+FFFD stands for each control character that a string of it has."""
    return _CONTROL.sub(_replaced, text) if _PERHAPS_CONTROL.search(text) else text


_PERHAPS_CONTROL: Final = re.compile(rb"\\u00|\\[bf]|\x7f|\xc2[\x80-\x9f]")
_CONTROL: Final = re.compile(
    # Of U+0000 to U+001F all but tab and the ends of lines, U+007F, and U+0080 to U+009F; any
    # other character behind a backslash is passed over, as it may be a backslash.
    rb"\\u00(?:0[0-8bcefBCEF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F])|\\[bf]|\x7f|\xc2[\x80-\x9f]"
    rb"|(\\.)",
    re.DOTALL,
)


def _replaced(found: re.Match[bytes]) -> bytes:
    return found[1] or b"\xef\xbf\xbd"


def is_there(path: Path) -> bool:
    """Whether there is something under this name, be it a link that leads nowhere."""
    return os.path.lexists(path)


def check_numbers(document: bytes) -> None:
    """Look at the numbers of a JSON document, before they are computed with.

    Raises:
        NumberOutside: one is beyond `GREATEST`, or nearer to zero than `LEAST`.
    """
    # Almost no document of ours has anything that looks like it, so almost none is parsed twice;
    # and a pattern would take longer to look than the parser takes to parse.
    alike = document.translate(_DIGITS_ALIKE)
    if any(sign in alike for sign in _PERHAPS_OUTSIDE):
        # What is no JSON is refused by whoever parses it for its content.
        with suppress(json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            json.loads(document, parse_int=_bounded, parse_float=_bounded)


def _bounded(digits: str) -> float:
    number = float(digits)
    if abs(number) > GREATEST or 0 < abs(number) < LEAST:
        raise NumberOutside(f"{digits[:40]} was never measured")
    return number
