"""Writes files atomically: they exist completely or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

from loadstone.runs.errors import StoreError

PRIVATE = 0o600
"""Mode of a run's files and of files made from somebody's data: for their owner alone."""

SHARED = 0o666
"""Mode of files that a user asked for by name: the umask decides who else may read them."""

_HALF_WRITTEN = re.compile(r"\..+\.([0-9a-f]{16}|[0-9]+)")


def write_bytes(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Put `content` at `path`: a reader sees the old file or the new one, never half of it.

    `mode` is reduced by the umask; the mode of an earlier file does not matter.

    Raises:
        StoreError: it cannot be written; nothing of it is left.
    """
    # The name is random, so nobody can have put a link there; a link is not followed either.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    made = False
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(temporary, flags, mode))
        made = True
        temporary.write_bytes(content)
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except BaseException as error:
        if made:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreError.from_os("write", path, error) from error
        raise


def clear_half_written(folder: Path) -> None:
    """Remove the files that a killed process left half-written; nobody may be writing there.

    Raises:
        StoreError: one cannot be removed.
    """
    try:
        for path in folder.iterdir():
            if _HALF_WRITTEN.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        raise StoreError.from_os("clear", folder, error) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
