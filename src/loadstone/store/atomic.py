"""Files that are there in full or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from loadstone.store.errors import StoreError

PRIVATE = 0o600
PUBLIC = 0o644


def write_bytes(path: Path, content: bytes, mode: int = PUBLIC) -> None:
    """Put `content` at `path`: a reader sees the old file or the new one, never half of it."""

    def fill(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_with(path, fill, mode)


def write_with(path: Path, fill: Callable[[Path], None], mode: int = PUBLIC) -> None:
    """As `write_bytes`, for writers that want a path of their own to write to."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode))
        os.chmod(temporary, mode)
        fill(temporary)
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError.from_os("write", path, error) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
