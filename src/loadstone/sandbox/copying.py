"""Copies data folders: at no cost where the file system shares blocks between copies."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

_FICLONE = 0x40049409  # ioctl_ficlone(2)


def copy_folder(source: Path, copy: Path) -> None:
    """Copy a folder to where there is none; its owner alone can enter the copy.

    Raises:
        OSError: a file cannot be read or written, or there is no room.
    """
    shutil.copytree(source, copy, copy_function=_copy_file)
    copy.chmod(0o700)


def _copy_file(source: str, copy: str) -> str:
    with open(source, "rb") as old, open(copy, "wb") as new:
        try:
            fcntl.ioctl(new, _FICLONE, old.fileno())
        except OSError:
            return str(shutil.copy2(source, copy))  # another file system, or one that shares none
    shutil.copystat(source, copy)
    return copy
