"""The figures of a level over many runs: rates, and response times, with the changes of level.

Texts are in English; the page has their translations. The horizontal axis has the times at which
the runs started, as the series' points have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.analyse.history import Series
from loadstone.model.message import Message, say
from loadstone.report.figures.figure import Option, axis, short
from loadstone.report.figures.live import DASHES, frame
from loadstone.report.figures.palette import MARK

RATES = say("events/s")
RESPONSE = say("ms")
AT_PEAK = say("peak, at any level")
AT_LEVEL = say("at this level")
ABOUT_RATES = say("Events a second of each run; a vertical line marks a change of level.")
ABOUT_RESPONSE = say(
    "Response times of each run at this level; a vertical line marks a change of level."
)

Named = tuple[Message, Series]
"""A series with its name in the figure."""


def trend_figure(lines: Sequence[Named], unit: Message) -> Option:
    """A line for each series, over all runs that any of them has a value of."""
    started = {
        point.run: point.started_at or point.run for _, series in lines for point in series.points
    }
    runs = sorted(started, key=lambda run: (started[run], run))
    return {
        **frame(),
        "xAxis": {
            "type": "category",
            "data": [started[run] for run in runs],
            "name": "",
            "axisLabel": {"hideOverlap": True},
        },
        "yAxis": [axis("value", unit, min=0, nameGap=52)],
        "series": [
            _line(name, series, number, runs) for number, (name, series) in enumerate(lines)
        ],
    }


def _line(name: Message, series: Series, number: int, runs: Sequence[str]) -> Option:
    values = {point.run: point.value for point in series.points}
    return {
        "id": f"trend-{number}",
        "name": name,
        "type": "line",
        "symbolSize": 7,
        "connectNulls": True,
        "lineStyle": {"width": 2, "type": DASHES[number % len(DASHES)]},
        "data": [short(values.get(run)) for run in runs],
        "markLine": {
            "symbol": "none",
            "silent": True,
            "animation": False,
            "lineStyle": {"color": MARK, "type": "solid", "width": 1.5},
            "label": {"show": False},
            "data": [
                {"xAxis": runs.index(series.points[turn.point.at].run)} for turn in series.turns
            ],
        },
    }
