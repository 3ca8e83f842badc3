"""A figure: an ECharts option object and what must be known to show it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Option = dict[str, Any]

Renderer = Literal["svg", "canvas"]

_TICKS = 6
"""At most so many of them on an axis whose end is set here."""


@dataclass(frozen=True)
class Narrow:
    """What changes in a figure where it has less room than its titles and legends need."""

    below_px: int
    height_px: int
    option: Option
    """Changes of the figure's option: the places of its components, in their order."""


@dataclass(frozen=True)
class Figure:
    """One picture. Its option is plain data, without functions or colours that a theme sets.

    A formatter of an axis stands for a function of the page's script: `clock` (seconds as
    `1:05:00`), `number` (three digits that matter), `percentile` (`99.9 %` for 1 / (1 - q) = 1,000)
    and `share` (a percentage).
    """

    title: str
    option: Option
    about: str
    """What it shows; also the text for screen readers."""
    height_px: int = 320
    group: str | None = None
    """Figures of a group zoom together."""
    renderer: Renderer = "svg"
    """`canvas` for many thousand rectangles, `svg` for everything else."""
    captioned: bool = False
    """Whether its title is shown above it, as text of the page that wraps."""
    narrow: Narrow | None = None

    def _repr_html_(self) -> str:
        """A notebook shows the figure itself; it needs no network."""
        from loadstone.report.page import embedded

        return embedded(self)


def axis(kind: Literal["value", "log"], name: str, **changes: Any) -> Option:
    """An axis with its name along it."""
    return {
        "type": kind,
        "name": name,
        "nameLocation": "middle",
        "nameGap": 28,
        "axisLabel": {"formatter": "number", "hideOverlap": True},
        "minorSplitLine": {"show": False},
        **changes,
    }


def users_axis(name: str, **changes: Any) -> Option:
    """The axis of virtual users, logarithmic since ladders double."""
    return axis("log", name, logBase=2, **changes)


def whiskers(ends: Iterator[tuple[float, float, float]]) -> Option:
    """Intervals as bars with caps; each of `ends` is an `x` with its low and high end."""
    bars = [[{"coord": [x, low]}, {"coord": [x, high]}] for x, low, high in ends]
    return {
        "symbol": ["rect", "rect"],
        "symbolSize": [9, 1.5],
        "silent": True,
        "animation": False,
        "label": {"show": False},
        "lineStyle": {"type": "solid", "width": 1.5},
        "data": bars,
    }


def room_for_whiskers(series: Sequence[Option]) -> Option:
    """The end of a linear axis, from 0, at which the whiskers of `series` are all inside.

    ECharts fits an axis to the points alone, and leaves out a bar that ends beyond it.
    """
    bars = (one.get("markLine", {}).get("data", ()) for one in series)
    highest = max((high["coord"][1] for one in bars for _, high in one), default=0.0)
    points = (y for one in series for _, y in one["data"] if y is not None)
    if highest <= max(points, default=0.0):
        return {}
    magnitude = 10.0 ** math.floor(math.log10(highest / _TICKS))
    tick = next(one for one in (1, 2, 5, 10) if one * magnitude * _TICKS >= highest) * magnitude
    return {"max": math.ceil(highest / tick) * tick}


def short(value: float | None) -> float | None:
    """The value to four digits: more than can be seen, and it keeps pages small."""
    return None if value is None else float(f"{value:.4g}")
