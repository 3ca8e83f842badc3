"""Latencies of a run's steps, from its interval log: by time for a heat map, merged for a curve.

Histograms are merged, never averaged. A step that lasts a day is read in pieces.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loadstone import engine
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.runs.errors import StoreError
from loadstone.runs.hlog import middle_of, tag_of, text_lines
from loadstone.runs.safe_open import is_there

if TYPE_CHECKING:
    import polars

COLUMNS = 90
"""The most columns of a heat map."""

_KINDS = ("response", "service")
_NUMBER = re.compile(r"[0-9]{1,15}")
_PIECE = 500
"""The number of lines merged at once: a few hundred kilobytes."""


class Span(NamedTuple):
    """The times needed of one step, in seconds since its load started."""

    began_s: float
    """When the load started, in seconds since the run's start."""
    length_s: float
    window_from_s: float
    window_to_s: float


@dataclass
class StepLatencies:
    """Histograms that count events by nanoseconds."""

    column_s: float
    by_time: list[Counter[int]]
    """Response times, a counter for each `column_s` seconds."""
    window: dict[str, Counter[int]] = field(default_factory=dict)
    """`response` and `service`, of the window alone."""


def spans_of(load: polars.DataFrame, steps: Iterable[StepResult]) -> dict[int, Span]:
    """Each step's span in the log, by the step's number."""
    found: dict[int, Span] = {}
    for step in steps:
        rows = load.filter(load["step"] == step.step).select("second", "run_s").rows()
        if rows and step.window:
            second, run_s = rows[0]
            length = max(float(row[0]) for row in rows)
            window = step.window
            found[step.step] = Span(run_s - second, length, window.from_s, window.to_s)
    return found


def latencies_of(
    path: Path, spans: Mapping[int, Span], columns: int = COLUMNS
) -> dict[int, StepLatencies]:
    """Latencies by step number, in at most `columns` columns; steps without records are left out.

    Raises:
        StoreError: the log cannot be read.
    """
    found: dict[int, StepLatencies] = {}
    pieces: dict[tuple[int, str], _Piece] = {}
    for number, kind, middle_s, line in _lines(path):
        span = spans.get(number)
        second = middle_s - span.began_s if span else -1.0
        if span is None or not 0 <= second < span.length_s:
            continue  # of a step that was measured again, or that is not shown
        step = found.setdefault(number, _empty(span, columns))
        column = min(int(second / step.column_s), len(step.by_time) - 1)
        place = _Place(kind, column, span.window_from_s <= second < span.window_to_s)
        piece = pieces.get((number, kind))
        if piece is None or piece.place != place or len(piece.lines) >= _PIECE:
            if piece:
                _take(step, piece)
            piece = pieces[number, kind] = _Piece(place, [])
        piece.lines.append(line)
    for (number, _), piece in pieces.items():
        _take(found[number], piece)
    return found


class _Place(NamedTuple):
    """The counter to which the values of a line belong."""

    kind: str
    column: int
    inside: bool


class _Piece(NamedTuple):
    """Neighbouring lines for the same counter."""

    place: _Place
    lines: list[str]


def _empty(span: Span, most: int) -> StepLatencies:
    column_s = max(span.length_s / most, 1.0)
    columns = max(math.ceil(span.length_s / column_s - 1e-9), 1)
    return StepLatencies(column_s, [Counter() for _ in range(columns)])


def _take(step: StepLatencies, piece: _Piece) -> None:
    kind, column, inside = piece.place
    try:
        counted = engine.hlog_counts(piece.lines).values()
    except (engine.LogError, ValueError) as error:
        raise StoreError(say("cannot read latency.hlog: {error}", error=str(error))) from error
    for counts in counted:
        if kind == "response":
            step.by_time[column].update(dict(counts))
        if inside:
            step.window.setdefault(kind, Counter()).update(dict(counts))


def _lines(path: Path) -> Iterator[tuple[int, str, float, str]]:
    """Number of the step, kind, middle of the interval in the run's seconds, and the line."""
    if not is_there(path):
        return
    for line in text_lines(path):
        if not line.startswith("Tag=step-"):
            continue
        step, _, kind = tag_of(line).removeprefix("step-").partition("/")
        if kind in _KINDS and _NUMBER.fullmatch(step):
            yield int(step), kind, middle_of(line), line


def share_at_most(counts: Mapping[int, int]) -> list[tuple[float, float]]:
    """Points of HdrHistogram's percentile curve: 1 / (1 - q) and milliseconds.

    On a logarithmic axis of 1 / (1 - q) each further nine of a percentile takes the same room
    (G. Tene, HdrHistogram's percentile plots). The greatest value stands where one in all events
    is slower.
    """
    total = sum(counts.values())
    points: list[tuple[float, float]] = []
    below = 0
    for value, times in sorted(counts.items()):
        below += times
        at = total / max(total - below, 1)
        # Twenty points a decade are as many as can be seen.
        if not points or at >= points[-1][0] * 1.12 or below == total:
            points.append((at, value / 1e6))
    return points
