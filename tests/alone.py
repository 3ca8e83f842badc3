"""Gives tests that judge time the machine to themselves, however many workers there are.

A test marked `timing` waits until the tests of other workers have ended, and holds new ones back
while it runs: a lock of readers and writers on two files of the whole test run. A test that waits
to be alone keeps new ones from starting.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Room:
    """The lock of all workers' tests."""

    def __init__(self, folder: Path) -> None:
        self._gate, self._room = (
            os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            for name in ("gate.lock", "room.lock")
        )

    @contextmanager
    def entered(self, *, alone: bool) -> Iterator[None]:
        """Hold the lock for the block, shared with others or alone."""
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
        """Close the two files."""
        os.close(self._gate)
        os.close(self._room)
