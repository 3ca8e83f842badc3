"""What a command does before its run has a folder: it starts a server, or loads tables.

One file per process in the folder of runs, locked as long as the process lives: pages that show
these runs read it. Nothing depends on it, so a folder that cannot be written costs nothing.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from loadstone.model.message import Message, plain
from loadstone.model.with_messages import WithMessages
from loadstone.runs import safe_open

_NAMES = ".preparing-*.json"
_LARGEST = 10_000
"""Bytes; a line of progress has about a hundred."""


class Preparing(WithMessages):
    """The latest line of progress."""

    text: Message


class Preparation:
    """Keeps the file of this process, from the first line of progress on."""

    def __init__(self, runs: Path) -> None:
        self._path = runs / f".preparing-{os.getpid()}.json"
        self._file: BinaryIO | None = None
        self._is_over = False

    def tell(self, line: str) -> None:
        """Show a line of progress in place of the one before it."""
        if self._is_over:
            return
        text = line if isinstance(line, Message) else plain(line)
        with suppress(OSError):
            file = self._opened()
            file.seek(0)
            file.truncate()
            file.write(Preparing(text=text).model_dump_json().encode())
            file.flush()

    def done(self) -> None:
        """Remove the file: there is a run now, or there will be none."""
        self._is_over = True
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            self._file.close()
            self._file = None

    def _opened(self) -> BinaryIO:
        if self._file is None:
            _clear_left(self._path.parent)
            flags = os.O_RDWR | os.O_CREAT
            self._file = safe_open.opened(self._path, flags=flags)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self._file


def preparing_in(runs: Path) -> list[Message]:
    """What the living processes of this folder prepare; files of killed ones are ignored."""
    found = []
    for path in sorted(runs.glob(_NAMES)):
        with suppress(OSError, ValidationError):
            if _is_locked(path):
                document = safe_open.contents(path, _LARGEST)
                found.append(Preparing.model_validate_json(document).text)
    return found


def _clear_left(runs: Path) -> None:
    """Remove the files of processes that were killed."""
    for path in runs.glob(_NAMES):
        with suppress(OSError):
            if not _is_locked(path):
                path.unlink()


def _is_locked(path: Path) -> bool:
    with safe_open.opened(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
