"""A terminal for a program that shows more if it has one; its output is discarded."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminal() -> Iterator[int]:
    """The descriptor to pass to the program."""
    ours, theirs = pty.openpty()
    reader = threading.Thread(target=_read_all, args=(ours,), daemon=True)
    reader.start()
    try:
        yield theirs
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)


def _read_all(descriptor: int) -> None:
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError:
        return  # EIO: nobody has the other end any more
