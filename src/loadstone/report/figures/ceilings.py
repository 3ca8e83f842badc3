"""The ceilings over the ladder with the measured curve under them, like a roofline.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model",
Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loadstone.model.ceilings import Resource, StepCeilings
from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.report.figures.figure import Figure, Option, axis, short, users_axis
from loadstone.report.figures.palette import line_style
from loadstone.report.names import resource_name

FAR = 30.0
"""A ceiling is left out of the picture if it is always above this many times the highest rate."""


def ceilings_figure(found: Sequence[StepCeilings], words: Language) -> Figure:
    """One line a resource, of the first ladder; both axes are logarithmic, as ladders double."""
    steps = _middle(found)
    highest = max((step.tps for step in steps), default=1.0)
    measured = _series(words(say("measured")), [(step.concurrency, step.tps) for step in steps])
    measured |= {"lineStyle": {"width": 3}, "symbolSize": 8, "z": 5}
    lines = [
        _series(words(resource_name(name)), points) | {"lineStyle": line_style(number)}
        for number, (name, points) in enumerate(_near(steps, highest))
    ]
    option = {
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "line"}},
        "legend": {"top": 0, "type": "plain"},
        "grid": {"left": 84, "right": 28, "top": 72, "bottom": 52},
        "xAxis": users_axis(words(say("users"))),
        "yAxis": axis("log", words(say("events/s")), nameGap=60),
        "series": [measured, *lines],
    }
    return Figure(
        words(say("The ceilings")),
        option,
        words(
            say(
                "Events a second that each resource would allow at the step's own cost "
                "per event. The measured rate lies under the ceilings; the lowest of "
                "them holds it back."
            )
        ),
        height_px=430,
    )


def _middle(found: Sequence[StepCeilings]) -> list[StepCeilings]:
    """The middle repeat of each level of the first ladder; of an even number the slower one."""
    if not found:
        return []
    place = (found[0].variant, found[0].workload)
    levels: dict[tuple[int, float], list[StepCeilings]] = {}
    for step in found:
        if (step.variant, step.workload) == place:
            due = step.rate.highest if step.rate else 0.0
            levels.setdefault((step.concurrency, due), []).append(step)
    repeats = [sorted(level, key=lambda step: -step.tps) for _, level in sorted(levels.items())]
    return [level[len(level) // 2] for level in repeats]


def _near(
    steps: Sequence[StepCeilings], highest: float
) -> Iterable[tuple[Resource, list[tuple[int, float]]]]:
    """The ceilings that come near the measured rate at some level, the lowest first."""
    points: dict[Resource, list[tuple[int, float]]] = {}
    for step in steps:
        for one in step.ceilings:
            if one.events_per_s is not None:
                points.setdefault(one.resource, []).append((step.concurrency, one.events_per_s))
    near = [
        (name, line)
        for name, line in points.items()
        if min(rate for _, rate in line) <= FAR * highest
    ]
    return sorted(near, key=lambda item: min(rate for _, rate in item[1]))


def _series(name: str, points: Sequence[tuple[int, float]]) -> Option:
    return {
        "name": name,
        "type": "line",
        "data": [[users, short(rate)] for users, rate in points],
        "symbolSize": 5,
    }
