"""A history as text: a line a series, its picture where it changed, and each change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from loadstone.analyse.gates import Check
from loadstone.analyse.history import Series, Turn
from loadstone.model.numbers import count, number_of, signed
from loadstone.report.comparison_document import change_document, check_document
from loadstone.report.gates import value_of
from loadstone.report.table import table_of
from loadstone.report.table_section import Section

_WIDTH = 72
_HEIGHT = 8
_NAMED = 6
"""So many of the things that differ at a change are named, and the rest counted."""


def sections(found: Sequence[Series]) -> list[Section]:
    """The table, then the series that changed."""
    heads = ("runs of", "level", "figure", "runs", "first", "now", "changes")
    rows = tuple(
        (
            series.name,
            series.where,
            series.metric.name,
            count(len(series.points)),
            value_of(series.metric, series.points[0].value),
            value_of(series.metric, fmean(series.levels()[-1])),
            count(len(series.turns)),
        )
        for series in found
        if len(series.points) > 1
    )
    made = [Section("", (), table_of(heads, rows, text=3))]
    made += [_changed(series) for series in found if series.turns]
    return [*made, Section("", tuple(f"note  {line}" for line in notes(found)), apart=True)]


def _changed(series: Series) -> Section:
    title = f"{series.metric.name} of {series.name}: {series.where}"
    lines = tuple(line for turn in series.turns for line in _turn(series, turn))
    picture = tuple(figure(series.values, [turn.point.at for turn in series.turns]))
    return Section(title, lines, in_text=picture)


def _turn(series: Series, turn: Turn) -> Iterator[str]:
    point = turn.point
    before, after = (value_of(series.metric, value) for value in (point.before, point.after))
    worse = (point.relative < 0) == series.metric.higher_is_better
    first = series.points[point.at]
    yield (
        f"{signed(point.relative)} ({'worse' if worse else 'better'}) from {first.run} on: "
        f"{before} before, {after} after, p {point.p_value:.1g}"
    )
    if turn.differs:
        named = ", ".join(turn.differs[:_NAMED])
        more = len(turn.differs) - _NAMED
        yield f"  differs there: {named}{f' and {count(more)} more' if more > 0 else ''}"


def figure(values: Sequence[float], turns: Sequence[int]) -> Iterator[str]:
    """Dots over time from the lowest to the highest value, a bar at each change of level.

    Where there are more values than columns, a dot is the mean of neighbours.
    """
    columns = min(len(values), _WIDTH)
    edges = [round(at * len(values) / columns) for at in range(columns + 1)]
    means = [fmean(values[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]
    low, high = min(means), max(means)
    step = (high - low) / (_HEIGHT - 1) or 1.0
    marks = {max(at for at in range(columns) if edges[at] <= turn) for turn in turns}
    for row in reversed(range(_HEIGHT)):
        line = "".join(
            "•" if round((mean - low) / step) == row else "│" if at in marks else " "
            for at, mean in enumerate(means)
        )
        label = {0: f"{low:.4g}", _HEIGHT - 1: f"{high:.4g}"}.get(row, "")
        yield f"{label:>10} {line}".rstrip()


def notes(found: Sequence[Series]) -> Iterator[str]:
    """How it was found, and what was not looked at."""
    yield (
        "changes of level by E-divisive means with Student's t test at 0.001, as Apache Otava "
        "finds them: docs/comparing.md"
    )
    single = sum(len(series.points) == 1 for series in found)
    if single:
        yield f"{number_of(single, 'series', 'series')} of a single run not shown"
    left_out = max((series.left_out for series in found), default=0)
    if left_out:
        yield f"up to {number_of(left_out, 'run')} left out: no step that may be quoted"


def trend_document(found: Sequence[Series], checks: Sequence[Check]) -> dict[str, Any]:
    """A history as data: docs/comparing.md names the fields."""
    return {
        "version": 1,
        "series": [_document(series) for series in found],
        "gates": [check_document(check) for check in checks],
    }


def _document(series: Series) -> dict[str, Any]:
    runs = [point.run for point in series.points]
    return {
        "name": series.name,
        "level": series.where,
        "metric": series.metric.name,
        "left_out": series.left_out,
        "points": [
            {"run": point.run, "started_at": point.started_at, "value": point.value}
            for point in series.points
        ],
        "changes": [
            {**change_document(turn.point, runs), "differs": list(turn.differs)}
            for turn in series.turns
        ],
    }
