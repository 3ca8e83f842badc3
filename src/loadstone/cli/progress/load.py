"""The progress of a bulk load on stderr.

Most of the cost of a short load is importing, so neither terminal tables nor run folders are
imported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress

from loadstone.cli.language import current, in_words
from loadstone.model.figure import Count, Rate, Seconds
from loadstone.model.message import Message, say
from loadstone.model.records import LoadProgress, LoadStalled
from loadstone.report.stalls import stalled_line

LINE_EVERY_S = 10.0
"""How often a plain line is printed."""

FIRST_LINE_AFTER_S = 1.0


def announce(line: str) -> None:
    """Print a line between those of the progress, which is overwritten in a terminal."""
    if sys.stderr.isatty():
        _put("\r\x1b[K")
    _put(f"{in_words(line)}\n")


class LoadLines:
    """The progress of a bulk load: one line that is overwritten in a terminal, else a few lines."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        more: Callable[[str], None] | None = None,
        inserts: bool = False,
    ) -> None:
        """`more` gets a line each second, whatever the terminal shows.

        `inserts`: the user wants INSERT statements, which then need no explanation.
        """
        self._quiet = quiet
        self._inserts = inserts
        self._more = more
        self._more_next_at = 0.0
        self._is_terminal = sys.stderr.isatty()
        # Plain lines are for loads that take a while; the end has its own line.
        self._next_at = 0.0 if self._is_terminal else time.monotonic() + FIRST_LINE_AFTER_S
        self._first: LoadProgress | None = None

    def on_progress(self, progress: LoadProgress) -> None:
        """Show rows, rows per second, and the time left."""
        now = time.monotonic()
        if self._first is None and progress.phase == "rows":
            self._first = progress
            if progress.method == "insert" and not (self._inserts or self._quiet):
                announce(_INSERTS if progress.takes_files else _NO_FILES)
        if self._more and now >= self._more_next_at:
            self._more_next_at = now + 1.0
            self._more(progress_line(progress, self._first))
        if self._quiet or now < self._next_at:
            return
        if self._is_terminal:
            self._next_at = now + 0.2
            _put(f"\r\x1b[K{in_words(progress_line(progress, self._first))}")
        else:
            self._next_at = now + LINE_EVERY_S
            _put(f"{in_words(progress_line(progress, self._first))}\n")

    def on_stalled(self, stalled: LoadStalled) -> None:
        """Show the cause of a stall: a warning, which is shown even if progress is not."""
        announce(stalled_line(stalled, current()))

    def close(self) -> None:
        """Clear the terminal's line."""
        if self._is_terminal and not self._quiet:
            _put("\r\x1b[K")


def _put(text: str) -> None:
    with suppress(OSError):  # a full or broken stderr ends no load, nor does a closed terminal
        print(text, end="", file=sys.stderr, flush=True)


def progress_line(progress: LoadProgress, first: LoadProgress | None = None) -> Message:
    """The progress as `loading: 120,000 of 1,000,000 rows, 118,000 rows/s, 7 s left`.

    The speed counts from the record `first`, as a resumed load already had rows.
    """
    if progress.phase != "rows" or not progress.rows_total:
        return _PHASES.get(progress.phase, _PHASES["rows"])
    rows = progress.rows - (first.rows if first else 0)
    seconds = progress.seconds - (first.seconds if first else 0.0)
    speed = rows / seconds if seconds > 0 else 0.0
    said = say(
        "loading: {rows} of {total} rows, {rate} rows/s",
        rows=Count(progress.rows),
        total=Count(progress.rows_total),
        rate=Rate(speed),
    )
    if speed <= 0:
        return said
    left_s = (progress.rows_total - progress.rows) / speed
    return say("{progress}, {time} left", progress=said, time=Seconds(float(f"{left_s:.2g}")))


_INSERTS = say(
    "note: the rows go by INSERT, which takes up to twice as long: the server takes no LOAD DATA "
    "LOCAL; if it may, SET GLOBAL local_infile=ON there (or in its parameter group) for the load"
)

_NO_FILES = say(
    "note: the rows go by INSERT, which takes up to twice as long: what answers there has no LOAD "
    "DATA LOCAL"
)

_PHASES = {
    "tables": say("loading: creating tables"),
    "rows": say("loading: rows"),
    "indexes": say("loading: creating indexes"),
    "keys": say("loading: adding foreign keys"),
    "verify": say("loading: counting rows"),
}
