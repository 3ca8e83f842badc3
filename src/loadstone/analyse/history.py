"""Many runs of one name, in the order of time: each figure's series, and where its level changed.

What runs are called is what makes them one history. A run without a step that may be quoted at a
level has no value there, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadstone.analyse.change_points import ChangePoint, change_points
from loadstone.analyse.differences import differences
from loadstone.analyse.effects import unpaired
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.experimental_units import Cell
from loadstone.analyse.gates import (
    Change,
    Check,
    Gate,
    State,
    judge_changes,
    place_of,
    quoted,
    unfit,
)
from loadstone.analyse.metrics import Metric
from loadstone.analyse.paired_sides import Part, Run, parts_of
from loadstone.model.message import Message, say, say_in

FEWEST_RUNS = 8
"""In a shorter history a change would have to be very great to be told from noise."""


@dataclass(frozen=True)
class Point:
    """One run's value."""

    run: str
    started_at: str | None
    value: float


@dataclass(frozen=True)
class Turn:
    """A change of level, and what else changed between the two runs beside it."""

    point: ChangePoint
    differs: tuple[Message, ...]
    """Names of what differs between the last run before and the first one after."""


@dataclass(frozen=True)
class Series:
    """One figure at one level of one history."""

    name: str
    """Name of the runs."""
    where: Message
    metric: Metric
    points: tuple[Point, ...]
    turns: tuple[Turn, ...]
    left_out: int
    """Runs that had the level, and no step of it that may be quoted."""
    unseen: tuple[State, Message] | None = None
    """What a gate says where the newest run of that name has no value here, and why."""

    @property
    def values(self) -> list[float]:
        """In the order of time."""
        return [point.value for point in self.points]

    def levels(self) -> list[list[float]]:
        """The values between the turns."""
        ends = [0, *(turn.point.at for turn in self.turns), len(self.points)]
        return [self.values[begin:end] for begin, end in pairwise(ends)]


def histories(runs: Sequence[Run], metrics: Sequence[Metric]) -> list[Series]:
    """All series, by name, level and metric."""
    found: dict[_Key, list[Part]] = {}
    newest: dict[str, Run] = {}
    for run in sorted(runs, key=lambda each: (each.result.run.started_at or "", each.label)):
        newest[run.result.run.name] = run
        for part in parts_of(run):
            for cell in part.cells:
                key = (run.result.run.name, part.variant, cell)
                found.setdefault(key, []).append(part)
    return [
        _series(key, parts, metric, newest[key[0]])
        for key, parts in sorted(found.items(), key=lambda item: _place(item[0]))
        for metric in metrics
    ]


_Key = tuple[str, str, Cell]
"""The name of the runs, the variant, and the cell."""


def _place(key: _Key) -> tuple[str, str, str, int, float]:
    name, variant, (workload, users, rate) = key
    return name, workload, variant, users, rate.highest if rate else 0.0


def _series(key: _Key, parts: Sequence[Part], metric: Metric, newest: Run) -> Series:
    name, variant, cell = key
    points: list[Point] = []
    kept: list[Part] = []
    for part in parts:
        steps = [step for step, _ in part.seen(cell) if unfit(step) is None]
        value = quoted(metric, steps)
        if value is not None:
            points.append(Point(part.run.label, part.run.result.run.started_at, value))
            kept.append(part)
    turns = tuple(
        Turn(point, _differs(kept[point.at - 1], kept[point.at]))
        for point in change_points([point.value for point in points])
    )
    where = place_of(cell[0], cell[1], cell[2], variant)
    is_seen = bool(kept) and kept[-1].run is newest
    unseen = None if is_seen else _unseen(newest, parts[-1], cell, metric)
    return Series(name, where, metric, tuple(points), turns, len(parts) - len(points), unseen)


def _unseen(newest: Run, last: Part, cell: Cell, metric: Metric) -> tuple[State, Message]:
    """Why the newest run says nothing: `last` is the newest part that has the level at all."""
    if last.run is newest:
        faults = filter(None, (unfit(step) for step, _ in last.seen(cell)))
        why = next(faults, say("it has no {metric}", metric=metric.name))
        return "no evidence", say("{run}: {why}", run=newest.label, why=why)
    if newest.result.run.state != "finished":
        return "no evidence", say("{run} ended before this level", run=newest.label)
    return "not decided", say("{run} has no such level", run=newest.label)


def _differs(before: Part, after: Part) -> tuple[Message, ...]:
    found = differences({"before": [surroundings_of(before)], "after": [surroundings_of(after)]})
    return tuple(row.label for row in found.rows)


def judge_history(
    found: Sequence[Series], gates: Mapping[str, Sequence[Gate]], level: float = 0.05
) -> list[Check]:
    """Each gate at the last turn of each series of its metric: the newest level by the one before.

    `gates` by the name of their metric. A series that never turned has not changed; one that is
    too short to tell is left open, since every history begins; one that is not there fails, and one
    in which the newest run should have a value and has none.
    """
    asked = sum(len(gates.get(series.metric.name, ())) for series in found)
    confidence = 1 - level / max(asked, 1)
    checks: list[Check] = []
    for name, mine in gates.items():
        series = [each for each in found if each.metric.name == name]
        for gate in mine:
            if not series:
                why = say("no run has a step")
                where = say("all runs")
                checks.append(Check(gate.text, gate.metric, where, "no evidence", why=why))
            checks += [check for each in series for check in _judge(gate, each, confidence)]
    return checks


def _judge(gate: Gate, series: Series, confidence: float) -> Iterator[Check]:
    where = say_in("joined", "{first}: {second}", first=series.name, second=series.where)
    if not series.points:
        why = say("no run has {metric} here", metric=series.metric.name)
        yield Check(gate.text, gate.metric, where, "no evidence", why=why)
        return
    if series.unseen:
        state, why = series.unseen
        yield Check(gate.text, gate.metric, where, state, why=why)
        return
    if len(series.points) < FEWEST_RUNS:
        why = say(
            "{runs} runs: a change shows from {fewest} on",
            runs=len(series.points),
            fewest=FEWEST_RUNS,
        )
        yield Check(gate.text, gate.metric, where, "not decided", why=why)
        return
    if not series.turns:
        why = say("no change in {runs} runs", runs=len(series.points))
        yield Check(gate.text, gate.metric, where, "held", why=why)
        return
    before, after = series.levels()[-2:]
    since = say("since {run}", run=series.points[series.turns[-1].point.at].run)
    if min(*before, *after) <= 0:
        change = Change(where, series.turns[-1].point.relative, None, since)
    else:
        effect = unpaired(before, after, confidence)
        change = Change(where, effect.relative, effect.interval, since)
    yield from judge_changes(gate, [change])
