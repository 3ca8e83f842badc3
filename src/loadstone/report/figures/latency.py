"""Latencies of one step: a heat map over time, and HdrHistogram's percentile curve."""

from __future__ import annotations

import math
from collections import Counter

from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.report.figures.figure import Figure, Option, axis, short
from loadstone.report.figures.palette import CIVIDIS
from loadstone.report.figures.zoom import zooms
from loadstone.report.latencies import StepLatencies, share_at_most

ROWS = 36
"""The most rows of a heat map."""


def heat_figure(found: StepLatencies, words: Language, group: str) -> Figure | None:
    """How many events took how long, by time; `None` where none was recorded."""
    edges = _edges(found)
    if not edges:
        return None
    cells = [
        [column, row, round(math.log10(times), 2), times]
        for column, counts in enumerate(found.by_time)
        for row, times in sorted(_by_row(counts, edges).items())
    ]
    most = max(cell[2] for cell in cells)
    seconds = [f"{column * found.column_s:.0f}" for column in range(len(found.by_time))]
    option: Option = {
        "tooltip": {"trigger": "item"},
        "grid": {"left": 84, "right": 28, "top": 16, "bottom": 84},
        "xAxis": category(seconds, words(say("seconds since the load began")), 26),
        "yAxis": category([_edge(edge) for edge in edges[:-1]], words(say("latency, ms")), 60),
        "visualMap": shades(most, words),
        "dataZoom": zooms(1, slider=False),
        "dataset": {
            "dimensions": [
                words(say("seconds since the load began")),
                words(say("latency, ms")),
                words(say("log10 of events")),
                words(say("events")),
            ],
            "source": cells,
        },
        "series": [
            {
                "type": "heatmap",
                "name": words(say("events")),
                "encode": {"x": 0, "y": 1, "value": 2, "tooltip": [0, 1, 3]},
                "progressive": 0,
            }
        ],
    }
    return Figure(
        words(say("Latency over time")),
        option,
        words(
            say(
                "How many events took how long, by time; yellow is many, dark blue is "
                "few (logarithmic)."
            )
        ),
        300,
        group=group,
        renderer="canvas",
    )


def shades(most: float, words: Language) -> Option:
    """The colours of a heat map, from few events to many; `most`: the highest log10 of a count."""
    return {
        "min": 0,
        "max": max(most, 0.3),
        "dimension": 2,
        "text": [words(say("many")), words(say("few"))],
        "orient": "horizontal",
        "right": 28,
        "bottom": 0,
        "itemHeight": 90,
        "itemWidth": 10,
        "inRange": {"color": list(CIVIDIS)},
    }


def percentile_figure(found: StepLatencies, words: Language) -> Figure | None:
    """Response and service time against 1 / (1 - q); `None` where the window has no event."""
    curves = {
        name: share_at_most(found.window[kind])
        for kind, name in (
            ("response", words(say("response time"))),
            ("service", words(say("service time"))),
        )
        if found.window.get(kind)
    }
    if not curves:
        return None
    option: Option = {
        "legend": {"top": 0},
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 84, "right": 28, "top": 40, "bottom": 52},
        "xAxis": axis(
            "log",
            words(say("share of events that took no longer")),
            axisLabel={"formatter": "percentile", "hideOverlap": True},
            axisPointer={"label": {"formatter": "percentile"}},
        ),
        "yAxis": axis("value", words(say("latency, ms")), nameGap=60),
        "series": [
            {
                "name": name,
                "type": "line",
                "showSymbol": False,
                "lineStyle": {"type": dash, "width": 2},
                "data": [[short(at), short(ms)] for at, ms in points],
            }
            for (name, points), dash in zip(curves.items(), ("solid", "dashed"), strict=False)
        ],
    }
    return Figure(
        words(say("Percentiles")),
        option,
        words(
            say(
                "How long the slowest share of events takes at least: each further nine "
                "has the same room (HdrHistogram)."
            )
        ),
        300,
    )


def _edges(found: StepLatencies) -> list[float]:
    """Equal steps of the logarithm from the least to the greatest, in nanoseconds."""
    values = [value for counts in found.by_time for value in counts if value > 0]
    if not values:
        return []
    low, high = math.log10(min(values)), math.log10(max(values) * 1.001)
    rows = min(max(round((high - low) * 12), 4), ROWS)
    return [10 ** (low + (high - low) * row / rows) for row in range(rows + 1)]


def _by_row(counts: Counter[int], edges: list[float]) -> Counter[int]:
    low, width = math.log10(edges[0]), math.log10(edges[-1] / edges[0]) / (len(edges) - 1)
    found: Counter[int] = Counter()
    for value, times in counts.items():
        row = int((math.log10(value) - low) / width) if value > 0 else 0
        found[min(max(row, 0), len(edges) - 2)] += times
    return found


def _edge(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.2g}" if nanoseconds < 1e8 else f"{nanoseconds / 1e6:.0f}"


def category(labels: list[str], name: str, gap: int) -> Option:
    """An axis of a heat map: a label for each column or row."""
    return {
        "type": "category",
        "data": labels,
        "name": name,
        "nameLocation": "middle",
        "nameGap": gap,
        "splitArea": {"show": False},
        "axisLabel": {"hideOverlap": True},
    }
