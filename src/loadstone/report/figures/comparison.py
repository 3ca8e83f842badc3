"""The rates of all sides over users, with the interval of each mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadstone.analyse.matrix import MatrixCell, SideResult
from loadstone.analyse.metrics import METRICS
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.report.figures.palette import DASHES, LINES, MEASURED

Option = dict[str, Any]

_COLOURS = (MEASURED, *LINES)


def comparison_figure(
    cells: Sequence[MatrixCell], sides: Sequence[str], words: Language = ENGLISH
) -> Option:
    """One line for each side, over evenly spaced levels, since ladders are not a linear scale."""
    levels = [_level(cell) for cell in cells]
    series: list[Option] = []
    for number, side in enumerate(sides):
        style = {
            "color": _COLOURS[number % len(_COLOURS)],
            "type": ("solid", *DASHES)[number % (len(DASHES) + 1)],
            "width": 2,
        }
        side_results = [cell.of(side) for cell in cells]
        series.append(
            {
                "name": side,
                "type": "line",
                "data": [_rate(side_result) for side_result in side_results],
                "lineStyle": style,
                "itemStyle": {"color": style["color"]},
                "symbol": "circle",
                "symbolSize": 7,
                "connectNulls": False,
            }
        )
        interval = words(say("{side}, 95 %", side=side))
        series.append(_whiskers(interval, side_results, style["color"]))
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "data": list(sides)},
        "grid": {"left": 80, "right": 24, "top": 48, "bottom": 48},
        "xAxis": {
            "type": "category",
            "data": levels,
            "name": words(say("users")),
            "nameLocation": "middle",
            "nameGap": 28,
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "name": words(say("events/s")),
            "nameLocation": "middle",
            "nameGap": 56,
        },
        "series": series,
    }


def _level(cell: MatrixCell) -> str:
    _, users, rate = cell.place.cell
    return f"{users}, {rate}/s" if rate else str(users)


def _rate(side_result: SideResult | None) -> float | None:
    if side_result is None:
        return None
    value = side_result.tps.value if side_result.tps else side_result.figure(METRICS["tps"])
    return None if value is None else float(f"{value:.5g}")


def _whiskers(name: str, side_results: Sequence[SideResult | None], colour: object) -> Option:
    """The ends of the intervals, as candles without a body: ECharts has no error bars."""
    ends: list[list[float] | str] = []
    for side_result in side_results:
        interval = side_result.tps.of_a_rate if side_result and side_result.tps else None
        if interval is None:
            ends.append("-")
        else:
            low, high = (float(f"{end:.5g}") for end in (interval.low, interval.high))
            ends.append([low, high, low, high])
    return {
        "name": name,
        "type": "candlestick",
        "data": ends,
        "barWidth": 1,
        "itemStyle": {
            "color": colour,
            "color0": colour,
            "borderColor": colour,
            "borderColor0": colour,
        },
        "tooltip": {"show": False},
    }
