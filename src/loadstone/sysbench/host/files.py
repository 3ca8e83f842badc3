"""The files of `fileio`: creating, checking and removing them, with sysbench's messages.

The engine can do this too, but does not report which file it is working on or what it found there.
"""

from __future__ import annotations

import mmap
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.host_test import FileioTest
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.host import blocks, report
from loadstone.sysbench.log import Log

_PIECE = 2**20
_RIGHTS = 0o600
_FLAGS = {"sync": os.O_SYNC, "dsync": os.O_DSYNC, "direct": os.O_DIRECT}


@dataclass(frozen=True)
class Trouble:
    """Why the files cannot be used for a run: what is wrong, and what may have been forgotten."""

    fatal: str
    warning: str


def prepare(test: FileioTest, log: Log, is_stopped: Callable[[], bool]) -> bool:
    """Create the files; returns `False` if it was stopped. Existing parts are kept and extended.

    Raises:
        Fatal: a file cannot be made or written.
    """
    log.notice(report.making(test))
    began_s, written = time.monotonic(), 0
    # Writes with O_DIRECT must be of whole pages.
    with closing(mmap.mmap(-1, _piece_size(test))) as piece:
        for number, path in enumerate(_paths(test)):
            with _opened(path, test) as file:
                length = os.fstat(file).st_size
                log.notice(report.making_file(path.name, length, _length(test)))
                piece[:] = random.Random(number).randbytes(len(piece))
                for count in _fill(file, length, test, piece):
                    written += count
                    if is_stopped():
                        return False
    log.notice(report.made(written, time.monotonic() - began_s))
    return True


def trouble_with(test: FileioTest, log: Log) -> Trouble | None:
    """Open each file as the run will; returns what is wrong with the first bad one."""
    is_new = test.mode == "seqwr"
    for path in _paths(test):
        log.debug(f"Opening file: {path.name}")
        try:
            length = _length_when_opened(path, test)
        except OSError as error:
            return Trouble(
                f"Cannot open file '{path.name}' errno = {error.errno} ({error.strerror})",
                "Did you forget to run the prepare step?",
            )
        if length < _length(test) and not is_new:
            return Trouble(
                f"Size of file '{path.name}' is {report.size(length)}, "
                f"but at least {report.size(_length(test))} is expected.",
                "Did you run 'prepare' with different --file-total-size or --file-num values?",
            )
    return None


def lengthen(test: FileioTest) -> None:
    """Extend the files that `seqwr` wrote to whole blocks, so that the other modes can use them.

    Raises:
        Fatal: a file is gone.
    """
    for path in _paths(test):
        try:
            if path.stat().st_size < _length(test):
                os.truncate(path, _length(test))
        except OSError as error:
            raise Fatal(_told("Cannot lengthen file", path, error)) from error


def cleanup(test: FileioTest, log: Log) -> None:
    """Remove the files. Anything but a plain file is left alone.

    Raises:
        Fatal: one cannot be removed.
    """
    log.notice("Removing test files...")
    for path in _paths(test):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            path.unlink()
        except OSError as error:
            raise Fatal(_told("Cannot remove file", path, error)) from error


def _paths(test: FileioTest) -> Iterator[Path]:
    return (test.folder / f"test_file.{number}" for number in range(test.num))


def _length(test: FileioTest) -> int:
    """The minimum length of each file in bytes."""
    return test.total_size // test.num


def _missing(test: FileioTest, length: int) -> int:
    """Bytes to append to the existing ones: whole blocks."""
    missing = max(_length(test) - length, 0)
    return -(-missing // test.block_size) * test.block_size


def _flags(test: FileioTest) -> int:
    flags = 0
    for flag in test.extra_flags:
        flags |= _FLAGS[flag]
    return flags


@contextmanager
def _opened(path: Path, test: FileioTest) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | _flags(test), _RIGHTS)
    except OSError as error:
        raise Fatal(f"Can't open file errno = {error.errno} ({error.strerror})") from error
    try:
        yield file
    finally:
        os.close(file)


def _piece_size(test: FileioTest) -> int:
    """The size of a write: whole blocks, if each has a checksum."""
    return max(_PIECE // test.block_size, 1) * test.block_size if test.checksums else _PIECE


def _fill(file: int, begin: int, test: FileioTest, piece: mmap.mmap) -> Iterator[int]:
    """Append what is missing and sync it to the disk; yields the number of bytes of each write."""
    done, size = 0, _missing(test, begin)
    try:
        with memoryview(piece) as view:
            while done < size:
                with view[: min(size - done, len(piece))] as part:
                    if test.checksums:
                        blocks.seal(part, test.block_size, begin + done)
                    count = os.pwrite(file, part, begin + done)
                done += count
                yield count
        if size:
            os.fsync(file)
    except OSError as error:
        raise Fatal(f"Failed to write file! errno = {error.errno} ({error.strerror})") from error


def _length_when_opened(path: Path, test: FileioTest) -> int:
    access = os.O_RDONLY if test.mode in ("seqrd", "rndrd") else os.O_RDWR
    new = os.O_CREAT if test.mode == "seqwr" else 0
    file = os.open(path, access | new | os.O_CLOEXEC | _flags(test), _RIGHTS)
    try:
        return os.fstat(file).st_size
    finally:
        os.close(file)


def _told(what: str, path: Path, error: OSError) -> str:
    return f"{what} '{path.name}' errno = {error.errno} ({error.strerror})"
