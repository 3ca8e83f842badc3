"""How a bulk load goes, on stderr.

Importing is most of what a short load costs, so neither tables for terminals nor run folders come
along.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from loadstone.model.numbers import count, digits, duration
from loadstone.model.records import LoadProgress, LoadStalled
from loadstone.report.stalls import stalled_line

LINE_EVERY_S = 10.0
"""How often a plain line says how it goes."""

FIRST_LINE_AFTER_S = 1.0


def announce(line: str) -> None:
    """A line between those of the progress, which is written over in a terminal."""
    if sys.stderr.isatty():
        line = f"\r\x1b[K{line}"
    _put(f"{line}\n")


class LoadLines:
    """How a bulk load goes: one line that is written over in a terminal, else one now and then."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        # Plain lines are for loads that take their time; the end has a line of its own.
        self._next_at = 0.0 if self._is_terminal else time.monotonic() + FIRST_LINE_AFTER_S
        self._first: LoadProgress | None = None

    def on_progress(self, progress: LoadProgress) -> None:
        """Rows, rows a second, and the time left."""
        now = time.monotonic()
        if self._first is None and progress.phase == "rows":
            self._first = progress
        if self._quiet or now < self._next_at:
            return
        if self._is_terminal:
            self._next_at = now + 0.2
            _put(f"\r\x1b[K{progress_line(progress, self._first)}")
        else:
            self._next_at = now + LINE_EVERY_S
            _put(f"{progress_line(progress, self._first)}\n")

    def on_stalled(self, stalled: LoadStalled) -> None:
        """What it waits for: a warning, which is said where progress is not, too."""
        announce(stalled_line(stalled))

    def close(self) -> None:
        """Leave the terminal's line clean."""
        if self._is_terminal and not self._quiet:
            _put("\r\x1b[K")


def _put(text: str) -> None:
    with suppress(OSError):  # a full or broken stderr ends no load, nor does a closed terminal
        print(text, end="", file=sys.stderr, flush=True)


def progress_line(progress: LoadProgress, first: LoadProgress | None = None) -> str:
    """`loading: 120,000 of 1,000,000 rows, 118,000 rows/s, 7 s left`.

    The speed is that since the record `first`: a load that was taken up has rows of before.
    """
    if progress.phase != "rows" or not progress.rows_total:
        doing = {"tables": "making tables", "indexes": "making indexes", "verify": "counting rows"}
        return f"loading: {doing.get(progress.phase, 'rows')}"
    rows = progress.rows - (first.rows if first else 0)
    seconds = progress.seconds - (first.seconds if first else 0.0)
    speed = rows / seconds if seconds > 0 else 0.0
    said = (
        f"loading: {count(progress.rows)} of {count(progress.rows_total)} rows, "
        f"{digits(speed)} rows/s"
    )
    if speed <= 0:
        return said
    left_s = (progress.rows_total - progress.rows) / speed
    return f"{said}, {duration(float(f'{left_s:.2g}'))} left"
