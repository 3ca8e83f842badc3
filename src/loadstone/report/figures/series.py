"""One step second by second: panels of load, server and host on one time axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.report.figures.figure import Figure, Narrow, Option
from loadstone.report.figures.palette import MARK, QUIET
from loadstone.report.figures.thinning import Thinned, thin
from loadstone.report.figures.zoom import zooms
from loadstone.report.step_panels import Panel

if TYPE_CHECKING:
    from loadstone.report.step_panels import Array

_TOP, _PANEL, _GAP, _BOTTOM = 26, 92, 44, 74
_LEFT, _RIGHT = 84, 28
_FONT_PX, _ROW_PX, _GAP_PX = 12, 22, 8
_MARK_PX = 44
"""A line's sign in the legend, with the gaps around it."""

_NARROW_LEFT = 60
_PHONE_PX = 290
"""The width of a legend on the narrowest screen of today's telephones."""

_SHADE = {"opacity": 0.16}


def series_figure(
    panels: Sequence[Panel], step: StepResult, words: Language, columns: int, group: str
) -> tuple[Figure, Thinned]:
    """The picture, and how the longest of its lines was thinned.

    `columns`: how many pairs of points a line has at most.
    """
    thinned = [thin(panel.times, _by_place(panel), columns) for panel in panels]
    end = max(float(panel.times[-1]) for panel in panels)
    option: Option = {
        "title": [_title(panel.title, at) for at, panel in enumerate(panels)],
        "legend": [_legend(panel, at) for at, panel in enumerate(panels)],
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "line"}},
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "grid": [
            {"left": _LEFT, "right": _RIGHT, "top": _top(at), "height": _PANEL}
            for at in range(len(panels))
        ],
        "xAxis": [_time(at, len(panels), end, words) for at in range(len(panels))],
        "yAxis": [
            {"type": "value", "gridIndex": at, "splitNumber": 3, "min": 0}
            | {"axisLabel": {"formatter": "number"}}
            for at in range(len(panels))
        ],
        "dataZoom": zooms(len(panels)),
        "dataset": [{"source": each.columns} for each in thinned],
        "series": list(_series(panels, step, words)),
    }
    height = _top(len(panels)) - _GAP + _BOTTOM
    longest = max(thinned, key=lambda each: each.seconds)
    return Figure(
        words(say("Second by second")),
        option,
        words(
            say(
                "Load, server and host of the step on one time axis; warm-up is grey, "
                "outages are coloured."
            )
        ),
        height,
        group=group,
        narrow=_narrow(panels),
    ), longest


def _by_place(panel: Panel) -> dict[str, Array]:
    """The lines by position: a line may have any name, even that of the column of times."""
    return {f"v{at}": line for at, line in enumerate(panel.lines.values())}


def _top(at: int) -> int:
    return _TOP + at * (_PANEL + _GAP) + 16


def _title(said: str, at: int) -> Option:
    style = {"fontSize": 12, "fontWeight": 600}
    return {"text": said, "left": _LEFT, "top": _top(at) - 24, "padding": 0, "textStyle": style}


def _narrow(panels: Sequence[Panel]) -> Narrow:
    """Legends below their titles, for a screen where they would cover them."""
    beside = max(_text_px(panel.title) + _legend_px(panel) for panel in panels)
    tops, top = [], 0
    for panel in panels:
        above = top + _GAP // 2
        top = above + (1 + -(-_legend_px(panel) // _PHONE_PX)) * _ROW_PX
        tops.append((top, above))
        top += _PANEL
    option: Option = {
        "title": [{"left": 0, "top": above} for _, above in tops],
        "legend": [
            {"left": 0, "right": "auto", "top": above + _ROW_PX - 4, "itemGap": _GAP_PX}
            for _, above in tops
        ],
        "grid": [
            {"left": _NARROW_LEFT, "right": 16, "top": below, "height": _PANEL} for below, _ in tops
        ],
    }
    return Narrow(beside + _LEFT + _RIGHT, top + _BOTTOM, option)


def _text_px(said: str) -> int:
    """About the width of a text, at most: Chinese is as wide as high."""
    return sum(_FONT_PX if east_asian_width(mark) in "FW" else 8 for mark in said)


def _legend_px(panel: Panel) -> int:
    return sum(_MARK_PX + _text_px(line) for line in panel.lines)


def _legend(panel: Panel, at: int) -> Option:
    return {
        "data": list(panel.lines),
        "top": _top(at) - 27,
        "left": "auto",
        "right": _RIGHT,
        "padding": 0,
        "itemHeight": 8,
        "itemGap": 14,
        "textStyle": {"fontSize": _FONT_PX},
    }


def _time(at: int, panels: int, end: float, words: Language) -> Option:
    is_last = at == panels - 1
    found: Option = {
        "type": "value",
        "gridIndex": at,
        "min": 0,
        "max": end,
        "splitLine": {"show": False},
        "axisLabel": {"show": is_last, "formatter": "clock", "showMaxLabel": False},
        "axisTick": {"show": is_last},
        "axisPointer": {"label": {"show": is_last, "formatter": "clock"}},
    }
    if is_last:
        found |= {
            "name": words(say("seconds since the load began")),
            "nameLocation": "middle",
            "nameGap": 24,
        }
    return found


def _series(panels: Sequence[Panel], step: StepResult, words: Language) -> Iterator[Option]:
    for at, panel in enumerate(panels):
        for number, name in enumerate(panel.lines):
            look = _bar(number) if panel.bars else _line(number)
            found: Option = {
                **look,
                "name": name,
                "xAxisIndex": at,
                "yAxisIndex": at,
                "datasetIndex": at,
                "encode": {"x": "s", "y": f"v{number}"},
            }
            if number == 0:
                found["markArea"] = _marked(step, words, named=at == 0)
            yield found


def _line(number: int) -> Option:
    dashes = ("solid", "dashed", "dotted")[number % 3]
    return {"type": "line", "showSymbol": False, "lineStyle": {"width": 1.4, "type": dashes}}


def _bar(number: int) -> Option:
    """The bar with this number; errors are first, in the colour that marks errors."""
    found: Option = {"type": "bar", "barMinWidth": 2, "barMaxWidth": 12, "stack": "errors"}
    return found | {"itemStyle": {"color": MARK}} if number == 0 else found


def _marked(step: StepResult, words: Language, *, named: bool) -> Option:
    """What does not count (warm-up) in grey, what went wrong (outages) in colour."""
    areas: list[list[Option]] = []
    if step.window and step.window.from_s > 0:
        grey = {"color": QUIET, **_SHADE}
        name = words(say("warm-up")) if named else ""
        areas.append(_area(0.0, step.window.from_s, name, grey))
    for outage in step.outages:
        end = outage.to_s if outage.to_s is not None else step.window.to_s if step.window else None
        if end is not None:
            name = words(say("outage")) if named else ""
            areas.append(_area(outage.from_s, end, name, {"color": MARK, "opacity": 0.3}))
    # From the left edge on: centred in a short area at the axis it would cover the axis' numbers.
    label = {"position": "insideTopLeft", "fontSize": 11}
    return {"silent": True, "label": label, "data": areas}


def _area(begin: float, end: float, name: str, style: Option) -> list[Option]:
    return [{"name": name, "xAxis": begin, "itemStyle": style}, {"xAxis": end}]
