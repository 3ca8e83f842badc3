"""How many events of each second took how long: the columns of the live heat map.

Read from the run's latency log as it grows. The engine's histograms are counted into rows of a
fixed logarithmic scale, so that a column never changes after it was sent.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import add
from pathlib import Path
from typing import Any

from loadstone import engine
from loadstone.runs import safe_open
from loadstone.runs.errors import StoreError
from loadstone.runs.hlog import LONGEST_LINE, interval_of, tag_of

KEPT_S = 240
"""Seconds that viewers get; the report has the whole of each step."""

MOST_BYTES = 8 * 1024 * 1024
"""Read at once."""

_FIRST_BYTES = 512 * 1024
"""Of a longer log the first look reads the end: so much, and twice that until it has `KEPT_S`."""

ROWS_A_DECADE = 6
_LOWEST_NS = 1e4
_DECADES = 7
ROWS = ROWS_A_DECADE * _DECADES

Column = dict[str, Any]
"""`at`: the second since the run's start; `rows`: pairs of a row and the number of its events."""


_EDGES_NS = tuple(round(_LOWEST_NS * 10 ** (row / ROWS_A_DECADE)) for row in range(ROWS))
"""The lower end of each row; latencies beyond the scale are in the first and the last row."""


def row_labels() -> list[str]:
    """The lower end of each row in milliseconds."""
    edges_ms = (edge / 1e6 for edge in _EDGES_NS)
    return [f"{edge:.2g}" if edge < 100 else f"{edge:.0f}" for edge in edges_ms]


@dataclass
class LatencyColumns:
    """Follows one run's latency log."""

    log: Path
    kept: deque[Column] = field(default_factory=lambda: deque(maxlen=KEPT_S))
    _at_byte: int | None = None

    def read_on(self) -> list[Column]:
        """The columns of the lines added since the last call.

        A log that cannot be read has no more of them: the report says what is wrong with it.
        """
        try:
            found = self._counted(self._new_lines())
        except (OSError, StoreError, engine.LogError, UnicodeDecodeError):
            return []
        self.kept.extend(found)
        return found

    def _new_lines(self) -> Sequence[str]:
        """The new lines of response times; at the first look, the last of the log."""
        size = self.log.lstat().st_size
        if size == self._at_byte:
            return []
        if self._at_byte is not None:
            return self._lines_from(self._at_byte, is_line=True)
        most = 0
        lines: list[str] = []
        while len(lines) < KEPT_S and most < min(size, MOST_BYTES):
            most = max(2 * most, _FIRST_BYTES)
            lines = self._lines_from(max(size - most, 0), is_line=most >= size)
        return lines

    def _lines_from(self, byte: int, *, is_line: bool) -> list[str]:
        """`is_line`: whether a line begins at the byte; else its rest is passed over."""
        with safe_open.opened(self.log) as file:
            file.seek(byte)
            if not is_line:
                file.readline(LONGEST_LINE)
            start = file.tell()
            content = file.read(MOST_BYTES)
        whole = content[: content.rfind(b"\n") + 1]
        self._at_byte = start + len(whole)
        return list(filter(_is_of_responses, whole.decode("ascii").splitlines()))

    def _counted(self, lines: Sequence[str]) -> list[Column]:
        # Of a long run, only the seconds that are kept are decoded.
        wanted = lines[-KEPT_S:]
        found: dict[int, list[int]] = {}
        for line, rows in zip(wanted, engine.hlog_rows(wanted, _EDGES_NS), strict=True):
            begin, end = interval_of(line)
            sums = found.setdefault(math.ceil((begin + end) / 2), [0] * ROWS)
            sums[:] = map(add, sums, rows)
        return [
            {"at": at, "rows": [[row, times] for row, times in enumerate(rows) if times]}
            for at, rows in sorted(found.items())
            if any(rows)
        ]


def _is_of_responses(line: str) -> bool:
    return line.startswith("Tag=step-") and tag_of(line).endswith("/response")
