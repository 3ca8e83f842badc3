"""Room on the disk for the last words of a run that ends because the disk is full."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from loadstone.runs.errors import StoreError

_BYTES = 16 * 1024
"""Two lines of a journal take some hundred; file systems give blocks."""

_CANNOT_RESERVE = (errno.EINVAL, errno.EOPNOTSUPP)


class Reserve:
    """Blocks that belong to a file without a name: free again as soon as this process ends."""

    def __init__(self, folder: Path) -> None:
        """Take them where the folder lies.

        Raises:
            StoreError: the disk is full already, or the folder cannot be written to.
        """
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)
        except OSError as error:
            raise StoreError.from_os("write to the folder", folder, error) from error
        try:
            os.posix_fallocate(self._file.fileno(), 0, _BYTES)
        except OSError as error:
            # Some network file systems reserve nothing: then there is no room, and no last word.
            if error.errno not in _CANNOT_RESERVE:
                self._file.close()
                raise StoreError.from_os("write to the folder", folder, error) from error

    def close(self) -> None:
        """Give them back. Safe to repeat."""
        self._file.close()
