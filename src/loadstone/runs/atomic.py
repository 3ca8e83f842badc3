"""Files that are there in full or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

from loadstone.runs.errors import StoreError

PRIVATE = 0o600
"""What a run's folder holds, and what was made of somebody's data: for its owner alone."""

SHARED = 0o666
"""What somebody asked for under a name of their own: the umask says who else may read it."""

_HALF_WRITTEN = re.compile(r"\..+\.([0-9a-f]{16}|[0-9]+)")


def write_bytes(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Put `content` at `path`: a reader sees the old file or the new one, never half of it.

    `mode`: what the umask takes from is asked for; the file that was there counts for nothing.

    Raises:
        StoreError: it cannot be written; nothing of it is left.
    """
    # Nobody else has put a link there under a name that nobody knew, and none is followed.
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
    """Remove what a process that was killed had not finished; nobody may be writing there.

    Raises:
        StoreError: it cannot be removed.
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
