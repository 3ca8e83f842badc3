"""Opens the files of a run's folder, which somebody else may have made.

A folder may be copied, unpacked, and passed on. So each of its files must be a plain file: a link
may lead anywhere, reading a FIFO may never end, and a device has no size. There is a limit for
files that are read whole, and one for numbers: ours come nowhere near it, and sums of larger ones
would be meaningless.
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
"""Bytes of a file that is read as one document: result.json has about 50 kB per step."""

LONGEST_LINE: Final = 16 * MEGABYTE
"""Bytes of a line: a cluster's seconds and plans have the longest, about 100 kB."""

GREATEST: Final = 1e20
"""No measured or counted number is greater; a server's own counters end at 1.8e19."""

LEAST: Final = 1e-60
"""No number other than zero is closer to zero: dividing by it would overflow."""

_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789E", b"000000000e")
_PERHAPS_OUTSIDE: Final = (b"0" * 19, b"0e0", b"0e+", b"0e-00")
"""Part of any number outside the limits if all digits were zeros; a text may contain it, too."""


class NotPlain(OSError):
    """A link, a FIFO, a device or a folder, or a file larger than any of a run."""


class NumberOutside(ValueError):
    """A number outside the limits, which nobody can have measured."""


def opened(path: Path, *, flags: int = os.O_RDONLY) -> BinaryIO:
    """Open the file for reading from its start; or as `flags` say.

    Raises:
        NotPlain: it is not a plain file.
        OSError: it does not exist, or we may not open it.
    """
    try:
        # Opening a FIFO would wait for a writer.
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
    """Read all of a file.

    Raises:
        NotPlain: it is not a plain file, or has more than `most` bytes.
        OSError: it does not exist, or we may not open it.
    """
    with opened(path) as file:
        is_larger = os.fstat(file.fileno()).st_size > most
        found = b"" if is_larger else file.read(most + 1)
    if is_larger or len(found) > most:
        raise NotPlain(errno.EFBIG, say("it is larger than {most} MB", most=most // MEGABYTE))
    return found


def document(path: Path) -> bytes:
    """Read a JSON document for display: like `contents`, without control characters."""
    return shown(contents(path))


def shown(text: bytes) -> bytes:
    """JSON with U+FFFD in place of each control character in its strings."""
    return _CONTROL.sub(_replaced, text) if _PERHAPS_CONTROL.search(text) else text


_PERHAPS_CONTROL: Final = re.compile(rb"\\u00|\\[bf]|\x7f|\xc2[\x80-\x9f]")
_CONTROL: Final = re.compile(
    # U+0000 to U+001F except tab and line ends, U+007F, and U+0080 to U+009F; any other character
    # after a backslash is skipped, as it may be a backslash.
    rb"\\u00(?:0[0-8bcefBCEF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F])|\\[bf]|\x7f|\xc2[\x80-\x9f]"
    rb"|(\\.)",
    re.DOTALL,
)


def _replaced(found: re.Match[bytes]) -> bytes:
    return found[1] or b"\xef\xbf\xbd"


def is_there(path: Path) -> bool:
    """Whether something has this name, even a dangling link."""
    return os.path.lexists(path)


def check_numbers(document: bytes) -> None:
    """Check the numbers of a JSON document before they are used.

    Raises:
        NumberOutside: one is beyond `GREATEST`, or closer to zero than `LEAST`.
    """
    # Almost no document of ours contains anything similar, so almost none is parsed twice; and a
    # regular expression would take longer than the parser.
    alike = document.translate(_DIGITS_ALIKE)
    if any(sign in alike for sign in _PERHAPS_OUTSIDE):
        # Invalid JSON is rejected later, when it is parsed for its content.
        with suppress(json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            json.loads(document, parse_int=_bounded, parse_float=_bounded)


def _bounded(digits: str) -> float:
    number = float(digits)
    if abs(number) > GREATEST or 0 < abs(number) < LEAST:
        raise NumberOutside(f"{digits[:40]} was never measured")
    return number
