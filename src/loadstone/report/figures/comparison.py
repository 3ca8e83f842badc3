"""The rates of all sides over users, with the interval of each mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadstone.analyse.matrix import MatrixCell, Standing
from loadstone.analyse.metrics import METRICS
from loadstone.report.figures.palette import DASHES, LINES, MEASURED

Option = dict[str, Any]

_COLOURS = (MEASURED, *LINES)


def comparison_figure(cells: Sequence[MatrixCell], sides: Sequence[str]) -> Option:
    """One line a side; levels stand side by side, as ladders are no even scale."""
    levels = [_level(cell) for cell in cells]
    series: list[Option] = []
    for number, side in enumerate(sides):
        style = {
            "color": _COLOURS[number % len(_COLOURS)],
            "type": ("solid", *DASHES)[number % (len(DASHES) + 1)],
            "width": 2,
        }
        standings = [cell.of(side) for cell in cells]
        series.append(
            {
                "name": side,
                "type": "line",
                "data": [_rate(standing) for standing in standings],
                "lineStyle": style,
                "itemStyle": {"color": style["color"]},
                "symbol": "circle",
                "symbolSize": 7,
                "connectNulls": False,
            }
        )
        series.append(_whiskers(side, standings, style["color"]))
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "data": list(sides)},
        "grid": {"left": 80, "right": 24, "top": 48, "bottom": 48},
        "xAxis": {
            "type": "category",
            "data": levels,
            "name": "users",
            "nameLocation": "middle",
            "nameGap": 28,
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "name": "events/s",
            "nameLocation": "middle",
            "nameGap": 56,
        },
        "series": series,
    }


def _level(cell: MatrixCell) -> str:
    _, users, rate = cell.place.cell
    return f"{users}, {rate}/s" if rate else str(users)


def _rate(standing: Standing | None) -> float | None:
    if standing is None:
        return None
    value = standing.tps.value if standing.tps else standing.figure(METRICS["tps"])
    return None if value is None else float(f"{value:.5g}")


def _whiskers(side: str, standings: Sequence[Standing | None], colour: object) -> Option:
    """The ends of the intervals, as candles without a body: ECharts has no error bars."""
    ends: list[list[float] | str] = []
    for standing in standings:
        interval = standing.tps.interval if standing and standing.tps else None
        if interval is None:
            ends.append("-")
        else:
            low, high = (float(f"{end:.5g}") for end in (interval.low, interval.high))
            ends.append([low, high, low, high])
    return {
        "name": f"{side}, 95 %",
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
