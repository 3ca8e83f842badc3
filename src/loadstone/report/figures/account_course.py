"""Where the users' time goes over the seconds of a step: areas by place, one on another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from loadstone.model.account import PLACE_NAMES, Course
from loadstone.model.language import Language
from loadstone.model.message import Message, say
from loadstone.model.result import StepResult
from loadstone.report.account import PERCENT_OF_TIME, REST, SMALLEST, UNNAMED
from loadstone.report.figures.account import COLOURS
from loadstone.report.figures.figure import Figure, Narrow, Option, axis
from loadstone.report.figures.palette import QUIET
from loadstone.report.figures.zoom import zooms

_APART_S = 0.001
"""A stretch ends so much before the next one begins: areas need a value for each time."""

_FRAME = "#4D4D4D"
"""Seen on the colours of all places."""


class _Area(NamedTuple):
    name: Message
    colour: str
    shares: Sequence[float]


def course_figure(step: StepResult, words: Language, group: str) -> Figure | None:
    """The account of each stretch of seconds; `None` if the step has no such account.

    `group`: the figures that zoom together.
    """
    course = step.account.course if step.account else None
    if course is None:
        return None
    areas = _areas(course)
    source = {"s": _times(course)} | {
        f"v{at}": [round(100 * share, 1) for share in area.shares for _ in range(2)]
        for at, area in enumerate(areas)
    }
    end = step.window.to_s if step.window else course.stretches[-1].to_s
    option: Option = {
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "type": "plain", "icon": "roundRect"},
        "grid": {"left": 84, "right": 28, "top": 96, "bottom": 80},
        "xAxis": axis(
            "value",
            words(say("seconds since the load began")),
            min=0,
            max=end,
            nameGap=24,
            axisLabel={"formatter": "clock", "showMaxLabel": False},
        ),
        "yAxis": axis("value", words(PERCENT_OF_TIME), max=100, nameGap=44),
        "dataZoom": zooms(1),
        "dataset": [{"source": source}],
        "series": [_series(at, area, words) for at, area in enumerate(areas)],
    }
    option["series"][0]["markArea"] = _slow(course, words)
    return Figure(
        words(say("Where the users' time goes, over the seconds")),
        option,
        words(
            say(
                "The users' time by place; neighbouring seconds are one where they had few looks. "
                "Slow seconds are framed."
            )
        ),
        height_px=400,
        group=group,
        narrow=Narrow(560, 520, {"grid": {"top": 220, "left": 56, "right": 12}}),
    )


def _areas(course: Course) -> list[_Area]:
    """The places in their order, small ones summed, and at last what no place holds."""
    found: list[_Area] = []
    small = [0.0] * len(course.stretches)
    for at, place in enumerate(course.places):
        shares = [one.shares[at] for one in course.stretches]
        if max(shares) >= SMALLEST:
            found.append(_Area(PLACE_NAMES[place], COLOURS[place], shares))
        else:
            small = [so_far + share for so_far, share in zip(small, shares, strict=True)]
    if max(small) >= SMALLEST / 2:
        found.append(_Area(REST, COLOURS["other"], small))
    unnamed = [max(1.0 - sum(one.shares), 0.0) for one in course.stretches]
    found.append(_Area(UNNAMED, QUIET, unnamed))
    return found


def _times(course: Course) -> list[float]:
    return [
        round(time, 3)
        for one in course.stretches
        for time in (one.from_s, max(one.to_s - _APART_S, one.from_s))
    ]


def _series(at: int, area: _Area, words: Language) -> Option:
    faint = area.name == UNNAMED
    return {
        "name": words(area.name),
        "type": "line",
        "stack": "account",
        "showSymbol": False,
        "lineStyle": {"width": 0},
        "itemStyle": {"color": area.colour},
        "areaStyle": {"color": area.colour, "opacity": 0.35 if faint else 1},
        "encode": {"x": "s", "y": f"v{at}"},
    }


def _slow(course: Course, words: Language) -> Option:
    """Frames around slow seconds: a shade would change the colours of the places."""
    frame = {
        "color": "transparent",
        "borderColor": _FRAME,
        "borderWidth": 2,
        "borderType": "dashed",
    }
    spans: list[tuple[float, float]] = []
    for one in course.stretches:
        if one.slow and spans and spans[-1][1] == one.from_s:
            spans[-1] = spans[-1][0], one.to_s
        elif one.slow:
            spans.append((one.from_s, one.to_s))
    return {
        "silent": True,
        "z": 10,
        "label": {"position": "top", "fontSize": 11},
        "data": [
            [
                {"name": words(say("slow seconds")), "xAxis": begin, "itemStyle": frame},
                {"xAxis": end},
            ]
            for begin, end in spans
        ],
    }
