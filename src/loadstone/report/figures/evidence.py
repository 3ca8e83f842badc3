"""A finding's small chart: its main evidence over the ladder, with the threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadstone.model.finding import Evidence, Finding
from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.report.figures.figure import Figure, Option, axis, short, users_axis
from loadstone.report.figures.palette import MARK
from loadstone.report.names import counter_name

_SAME = 0.05
"""A counter found by name is the right one if it is within this share of the finding's value."""


def evidence_figure(finding: Finding, ladder: Sequence[StepResult], words: Language) -> Figure:
    """The first evidence that is known at all levels; without any, the rate itself."""
    for evidence in finding.evidence:
        points = _over_ladder(evidence, ladder)
        if points:
            name = _title(evidence, words)
            return _figure(finding, ladder, (name, points, evidence.threshold), words)
    points = [(step.concurrency, step.tps) for step in ladder if step.tps is not None]
    return _figure(finding, ladder, (words(say("events/s")), points, None), words)


def _title(evidence: Evidence, words: Language) -> str:
    counter, unit = words(counter_name(evidence.counter)), words(evidence.unit)
    # Some languages already have brackets around a share's unit.
    return f"{counter} ({unit.strip(' （）')})" if unit else counter


def _figure(
    finding: Finding,
    ladder: Sequence[StepResult],
    drawn: tuple[str, Sequence[tuple[int, float]], float | None],
    words: Language,
) -> Figure:
    name, points, threshold = drawn
    shows = {step.concurrency for step in ladder if step.step in finding.steps}
    line: Option = {
        "name": name,
        "type": "line" if len(points) > 1 else "scatter",
        "symbolSize": 5,
        "data": [_point(users, value, shows=users in shows) for users, value in points],
    }
    if threshold is not None:
        line["markLine"] = {
            "silent": True,
            "symbol": "none",
            "lineStyle": {"color": MARK, "type": "dashed"},
            "label": {
                "formatter": words(say("threshold")),
                # On the side of the line where the point is not.
                "position": "insideStartBottom"
                if _is_above(threshold, points)
                else "insideStartTop",
                "fontSize": 10,
                "textBorderWidth": 0,
            },
            "data": [{"yAxis": short(threshold)}],
        }
    option: Option = {
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 52, "right": 16, "top": 14, "bottom": 40},
        "xAxis": users_axis(words(say("users")), nameGap=22),
        "yAxis": axis("value", "", splitNumber=3, **_room_for(threshold, points)),
        "series": [line],
    }
    return Figure(
        name,
        option,
        words(
            say(
                "The figure that the finding {cause} rests on, over virtual users; "
                "diamonds are the steps that show it.",
                cause=finding.cause,
            )
        ),
        height_px=170,
        # Long names of counters in a chart of this width would be cut.
        captioned=True,
    )


def _is_above(threshold: float, points: Sequence[tuple[int, float]]) -> bool:
    """Whether the line begins above the threshold, whose label is at its left end."""
    return bool(points) and points[0][1] >= threshold


def _room_for(threshold: float | None, points: Sequence[tuple[int, float]]) -> Option:
    """Options that extend the axis to the threshold, which would be hidden above the data."""
    highest = max((value for _, value in points), default=0.0)
    if threshold is None or threshold <= highest:
        return {"min": 0} if highest >= 0 else {}
    return {"min": 0, "max": short(1.1 * threshold)}


def _point(users: int, value: float, *, shows: bool) -> Option | list[float | None]:
    place = [float(users), short(value)]
    if not shows:
        return place
    return {"value": place, "symbolSize": 10, "symbol": "diamond", "itemStyle": {"color": MARK}}


def _over_ladder(evidence: Evidence, ladder: Sequence[StepResult]) -> list[tuple[int, float]]:
    """The counter at each level, if the value found by name matches the finding's."""
    for look in _LOOKS:
        found = [(step.concurrency, look(step, evidence.counter)) for step in ladder]
        points = [(users, value) for users, value in found if value is not None]
        at = dict(points).get(evidence.users)
        if at is not None and abs(at - evidence.value) <= _SAME * abs(evidence.value):
            return points
    return []


def _named(step: StepResult, counter: str) -> float | None:
    """A figure of result.json, by the name that findings use for it."""
    server, host = step.server, step.host
    known: dict[str, float | None] = {
        "latency.service.mean": step.latency.service.mean,
        "generator.cpu_share": step.generator.cpu_share,
        "generator.run_delay_share": step.generator.run_delay_share,
        "reconnects": float(step.reconnects),
    }
    if server:
        known |= {
            "commits": server.commits_per_s,
            "transactions per sync": server.transactions_per_sync,
        }
    if host:
        idle, waiting = host.cpu_idle, host.cpu_iowait or 0.0
        known |= {
            "CPU busy": None if idle is None else 1 - idle - waiting,
            "busiest core": host.busiest_core,
            "disk_queue": host.disk_queue,
            "disk_busy": host.disk_busy,
        }
    return known.get(counter)


_LOOKS: tuple[Callable[[StepResult, str], float | None], ...] = (
    _named,
    lambda step, counter: step.server.rates.get(counter) if step.server else None,
    lambda step, counter: step.server.means.get(counter) if step.server else None,
    lambda step, counter: step.host.rates.get(counter) if step.host else None,
    lambda step, counter: step.host.means.get(counter) if step.host else None,
)
