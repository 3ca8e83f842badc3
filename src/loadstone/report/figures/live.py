"""Live figures: an option object once, then points for its series.

Each series has an `id`, by which points are added to it; times are seconds since the run's start.
Texts are in English. The page has the translations, and can switch the language while it is open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.analyse.ladder import levels
from loadstone.model.language import ENGLISH
from loadstone.model.message import Message, say
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.report.figures.figure import Option, axis, short, users_axis
from loadstone.report.figures.latency import category, shades

Point = tuple[float, float | None]

DASHES: tuple[str | list[int], ...] = ("solid", "dashed", "dotted", [8, 3, 2, 3])


@dataclass(frozen=True)
class Line:
    """One series."""

    id: str
    name: Message
    axis: int = 0
    """The index of its vertical axis."""


@dataclass(frozen=True)
class Timeline:
    """A figure over the run's seconds."""

    title: Message
    about: Message
    """What it shows; also the text for screen readers."""
    axes: tuple[Message, ...]
    """Names with units, left and right."""
    lines: tuple[Line, ...]
    stacked: bool = False
    highest: float | None = None
    """The end of the left axis, where that is known."""
    whole: bool = False
    """Whether only whole numbers make sense."""


TIMELINES: dict[str, Timeline] = {
    "rates": Timeline(
        say("Rates"),
        say("Events and statements that were answered each second."),
        (say("events/s"), say("statements/s")),
        (Line("tps", say("events/s (TPS)")), Line("qps", say("statements/s (QPS)"), axis=1)),
    ),
    "latency": Timeline(
        say("Response time"),
        say("What users waited: percentiles of each second's events."),
        (say("ms"),),
        (Line("p50", say("p50")), Line("p95", say("p95")), Line("p99", say("p99"))),
    ),
    "connections": Timeline(
        say("Connections"),
        say("Active and all connections, as the generator and the server count them."),
        (say("connections"),),
        (
            Line("users", say("all (generator)")),
            Line("in_flight", say("active (generator)")),
            Line("threads_connected", say("all (server)")),
            Line("threads_running", say("active (server)")),
        ),
        whole=True,
    ),
    "cpu": Timeline(
        say("CPU of the server's host"),
        say("Shares of all cores."),
        (say("%"),),
        (
            Line("cpu_user", say("user")),
            Line("cpu_sys", say("system")),
            Line("cpu_iowait", say("waiting for disk")),
            Line("cpu_steal", say("taken by the hypervisor")),
        ),
        stacked=True,
        highest=100.0,
    ),
    "disk": Timeline(
        say("Disk"),
        say("Operations on the disk that holds the server's data."),
        (say("operations/s"), say("MB/s")),
        (
            Line("disk_reads", say("reads/s")),
            Line("disk_writes", say("writes/s")),
            Line("disk_flushes", say("flushes/s")),
            Line("disk_written", say("MB/s written"), axis=1),
        ),
    ),
    "network": Timeline(
        say("Network"),
        say("What the interface carries that has the target's traffic."),
        (say("Mbit/s"),),
        (Line("net_in", say("received")), Line("net_out", say("sent"))),
    ),
}
"""The figures, by the name that points refer to."""


def timeline(name: str, points: Mapping[str, Sequence[Point]]) -> Option:
    """The option of the named figure; `points` are those so far, by the series' id."""
    made = TIMELINES[name]
    common = frame()
    # Four names at most: they fit in two lines, and no reader has to turn a page.
    common["legend"] |= {"type": "plain"}
    common["grid"] |= {"top": 50, "right": 72 if len(made.axes) > 1 else 28}
    return {
        **common,
        "xAxis": _seconds(),
        "yAxis": [
            _height(name, at, made.highest) | ({"minInterval": 1} if made.whole else {})
            for at, name in enumerate(made.axes)
        ],
        "series": [
            _line(line, number, points.get(line.id, ()), stacked=made.stacked)
            for number, line in enumerate(made.lines)
        ],
    }


HEAT_TITLE = say("Response times of all events")
HEAT_ABOUT = say(
    "How many events took how long, by second; yellow is many, dark blue is few (logarithmic)."
)
HEAT_AXES = (say("s"), say("latency, ms"))
HEAT_TEXTS = (say("many"), say("few"), say("log10 of events"), say("events"))


def heat(rows: Sequence[str]) -> Option:
    """The heat map without its columns, which the page adds; `rows`: labels of the latencies."""
    across, up = HEAT_AXES
    return {
        "animation": False,
        "tooltip": {"trigger": "item", "renderMode": "richText", "confine": True},
        "grid": {"left": 72, "right": 28, "top": 12, "bottom": 76},
        "xAxis": category([], across, 24),
        "yAxis": [category(list(rows), up, 52)],
        "visualMap": shades(0, ENGLISH),
        "series": [
            {
                "id": "heat",
                "type": "heatmap",
                "name": HEAT_TEXTS[3],
                "dimensions": [across, up, *HEAT_TEXTS[2:]],
                "encode": {"x": 0, "y": 1, "value": 2, "tooltip": [0, 1, 3]},
                "progressive": 0,
                "data": [],
            }
        ],
    }


def ladder(steps: Sequence[StepResult], *, by_rate: bool) -> Option:
    """Rate against users, a series for each variant and workload, or against the rate asked for."""
    return _drawn({"": steps}, by_rate=by_rate)


def ladders(runs: Mapping[str, Sequence[StepResult]]) -> Option:
    """The ladders of several runs in one figure; the keys of `runs` are their names in it."""
    steps = [step for each in runs.values() for step in each]
    rates = [step.rate for step in steps if step.rate]
    all_open = len(rates) == len(steps)
    by_rate = all_open and goes_by_rate({step.concurrency for step in steps}, set(rates))
    return _drawn(runs, by_rate=by_rate)


def goes_by_rate(users: Collection[int], rates: Collection[Rate]) -> bool:
    """Whether levels differ in the requested rate rather than in their users."""
    return len(rates) > 1 or (len(rates) == 1 and len(users) == 1)


def _drawn(runs: Mapping[str, Sequence[StepResult]], *, by_rate: bool) -> Option:
    lines = [
        (", ".join(filter(None, (run, name))), points)
        for run, steps in runs.items()
        for name, points in _ladders(steps, by_rate=by_rate)
    ]
    series = [
        {
            "id": f"ladder-{number}",
            "name": name,
            "type": "line",
            "data": [[x, y] for x, y in points],
            "symbolSize": 8,
            "lineStyle": {"width": 2, "type": DASHES[number % len(DASHES)]},
        }
        for number, (name, points) in enumerate(lines)
    ]
    return {
        **frame(),
        "xAxis": axis("value", say("events/s asked for")) if by_rate else users_axis(say("users")),
        "yAxis": [_height(say("events/s"), 0)],
        "series": series,
    }


def _ladders(
    steps: Iterable[StepResult], *, by_rate: bool
) -> list[tuple[str, list[tuple[float, float]]]]:
    """The means of levels whose rate may be quoted, for each series."""
    found: dict[str, list[tuple[float, float]]] = {}
    for level in levels(steps):
        variant = "" if level.variant == "default" else f"{level.variant}, "
        points = found.setdefault(f"{variant}{level.workload}", [])
        if level.tps:
            at = level.rate.highest if by_rate and level.rate else level.concurrency
            points.append((float(at), short(level.tps.mean) or 0.0))
    return [(name, sorted(points)) for name, points in found.items()]


def frame() -> Option:
    """What all figures of the page have in common: room, legend, tooltip."""
    return {
        "animation": False,
        "aria": {"enabled": True},
        # Drawn rather than made of HTML elements, so that text is never parsed as markup.
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "legend": {
            "top": 0,
            "type": "scroll",
            "itemWidth": 20,
            "itemGap": 8,
            "textStyle": {"fontSize": 11},
        },
        "grid": {"left": 72, "right": 28, "top": 40, "bottom": 48},
    }


def _seconds() -> Option:
    found = axis("value", say("s"), min="dataMin", max="dataMax", nameGap=22)
    # The ends move every second, so numbers there would only flicker.
    found["axisLabel"] |= {"showMinLabel": False, "showMaxLabel": False}
    return found


def _height(name: str, at: int, highest: float | None = None) -> Option:
    """A vertical axis, the second one on the right; only the first one's lines are drawn."""
    found = axis("value", name, min=0, nameGap=52, splitLine={"show": not at})
    if at:  # Two figures in a fixed ratio, such as TPS and QPS, would cover each other.
        found["boundaryGap"] = [0, "40%"]
    return found | ({"max": highest} if highest and not at else {})


def _line(line: Line, number: int, points: Sequence[Point], *, stacked: bool) -> Option:
    return {
        "id": line.id,
        "name": line.name,
        "type": "line",
        "yAxisIndex": line.axis,
        "showSymbol": False,
        "lineStyle": {"width": 1.5, "type": DASHES[number % len(DASHES)]},
        "data": [list(point) for point in points],
        **({"stack": "all", "areaStyle": {"opacity": 0.35}} if stacked else {}),
    }
