"""One step second by second: panels of load, server and host on one time axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.report.figures.figure import Figure, Option
from loadstone.report.figures.palette import MARK, QUIET
from loadstone.report.figures.thinning import Thinned, thin
from loadstone.report.figures.zoom import zooms
from loadstone.report.step_panels import Panel

if TYPE_CHECKING:
    from loadstone.report.step_panels import Array

_TOP, _PANEL, _GAP, _BOTTOM = 26, 92, 44, 74
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
            {"left": 84, "right": 28, "top": _top(at), "height": _PANEL}
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
    ), longest


def _by_place(panel: Panel) -> dict[str, Array]:
    """The lines by position: a line may have any name, even that of the column of times."""
    return {f"v{at}": line for at, line in enumerate(panel.lines.values())}


def _top(at: int) -> int:
    return _TOP + at * (_PANEL + _GAP) + 16


def _title(said: str, at: int) -> Option:
    style = {"fontSize": 12, "fontWeight": 600}
    return {"text": said, "left": 84, "top": _top(at) - 24, "padding": 0, "textStyle": style}


def _legend(panel: Panel, at: int) -> Option:
    return {
        "data": list(panel.lines),
        "top": _top(at) - 27,
        "right": 28,
        "padding": 0,
        "itemHeight": 8,
        "itemGap": 14,
        "textStyle": {"fontSize": 12},
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
    label = {"position": "insideTop", "fontSize": 11, "color": QUIET}
    return {"silent": True, "label": label, "data": areas}


def _area(begin: float, end: float, name: str, style: Option) -> list[Option]:
    return [{"name": name, "xAxis": begin, "itemStyle": style}, {"xAxis": end}]
