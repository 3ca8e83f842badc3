"""Tests that judge time have the machine to themselves, however many workers there are.

A test marked `timing` waits until the others' tests have ended, and holds them back while it runs:
a lock of readers and writers on two files of the whole test run. A test that waits to be alone
keeps new ones from beginning.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Room:
    """Where all workers' tests run."""

    def __init__(self, folder: Path) -> None:
        self._gate, self._room = (
            os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            for name in ("gate.lock", "room.lock")
        )

    @contextmanager
    def entered(self, *, alone: bool) -> Iterator[None]:
        """Be in it, with others or alone."""
        how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        fcntl.flock(self._gate, how)
        fcntl.flock(self._room, how)
        if not alone:
            fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._room, fcntl.LOCK_UN)
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the files back."""
        os.close(self._gate)
        os.close(self._room)
