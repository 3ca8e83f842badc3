"""Reserves disk space for the last journal lines of a run that ends because the disk is full."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from loadstone.runs.errors import StoreError

_BYTES = 16 * 1024
"""Two lines of a journal take a few hundred bytes; file systems allocate blocks."""

_CANNOT_RESERVE = (errno.EINVAL, errno.EOPNOTSUPP)


class Reserve:
    """Blocks allocated to a file without a name: they are freed when this process ends."""

    def __init__(self, folder: Path) -> None:
        """Allocate them on the file system that holds the folder.

        Raises:
            StoreError: the disk is already full, or the folder cannot be written to.
        """
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)
        except OSError as error:
            raise StoreError.from_os("write to the folder", folder, error) from error
        try:
            os.posix_fallocate(self._file.fileno(), 0, _BYTES)
        except OSError as error:
            # Some network file systems cannot reserve space: then the last lines may be lost.
            if error.errno not in _CANNOT_RESERVE:
                self._file.close()
                raise StoreError.from_os("write to the folder", folder, error) from error

    def close(self) -> None:
        """Free the blocks. Safe to repeat."""
        self._file.close()
