"""Finds the lines of a run's journal that have to be parsed."""

from __future__ import annotations

from typing import BinaryIO

from loadstone.engine.native import native


def other_lines(
    journal: BinaryIO, from_byte: int, until: int, most: int
) -> tuple[list[tuple[int, bytes]], int]:
    """The lines of a journal without those that have the figures of a second: most of it.

    Returned are those that begin from `from_byte` on, where one begins, and before `until`, with
    the byte where each begins; then, where to read on: behind `most` bytes of lines, or at a line
    that lacks its end, that is before `until`.

    Raises:
        EngineError: the engine is missing.
        OSError: the file cannot be read.
    """
    # The file that is open, whatever has the place of it by now.
    path = f"/proc/self/fd/{journal.fileno()}"
    return native().other_lines(path, from_byte, until, most)
