"""The history of runs of one name: the series of each figure over time, and its changes of level.

Runs with the same name form one history. A run without a quotable step at a level has no value
there, and is counted in `left_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

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
from loadstone.analyse.metrics import TPS, Metric
from loadstone.analyse.paired_sides import Part, Run, parts_of
from loadstone.model.message import Message, counted, say, say_in
from loadstone.model.plan import WATCHED
from loadstone.runs.selection import targets_of

FEWEST_RUNS = 8
"""The fewest runs to judge: with fewer, only a very large change would stand out from noise."""


@dataclass(frozen=True)
class Point:
    """The value of one run."""

    run: str
    started_at: str | None
    value: float


@dataclass(frozen=True)
class Turn:
    """A change of level, and what else changed between the runs before and after it."""

    point: ChangePoint
    differs: tuple[Message, ...]
    """Labels of the differences between the last run before it and the first one after."""


@dataclass(frozen=True)
class Series:
    """One figure at one level of one history."""

    name: str
    """Name of the runs, or their target."""
    where: Message
    metric: Metric
    points: tuple[Point, ...]
    turns: tuple[Turn, ...]
    left_out: int
    """The number of runs that had this level but no quotable step at it."""
    unseen: tuple[State, Message] | None = None
    """The state of a gate, and the reason, if the newest run of that name has no value here."""
    says_nothing: bool = False
    """Whether no run could have a value here: they only watched, or were stopped on request."""
    workload: str = ""
    variant: str = ""

    @property
    def values(self) -> list[float]:
        """The values in the order of time."""
        return [point.value for point in self.points]

    def levels(self) -> list[list[float]]:
        """The values, split at the turns."""
        ends = [0, *(turn.point.at for turn in self.turns), len(self.points)]
        return [self.values[begin:end] for begin, end in pairwise(ends)]


By = Literal["name", "target"]
"""Whether runs of one name form a history, or runs of one target."""

THROWAWAY = "throwaway"
"""The target of runs on throwaway servers, each of which has an address of its own."""


def histories(runs: Sequence[Run], metrics: Sequence[Metric], by: By = "name") -> list[Series]:
    """All series, by name or target, level and metric."""
    found: dict[_Key, list[Part]] = {}
    named: dict[str, list[Run]] = {}
    for run in _in_time(runs):
        name = _history_of(run, by)
        named.setdefault(name, []).append(run)
        for part in parts_of(run):
            for cell in part.cells:
                key = (name, part.variant, cell)
                found.setdefault(key, []).append(part)
    return [
        _series(key, parts, metric, named[key[0]])
        for key, parts in sorted(found.items(), key=lambda item: _place(item[0]))
        for metric in metrics
    ]


def _history_of(run: Run, by: By) -> str:
    if by == "name":
        return run.result.run.name
    if run.environment.get("sandbox"):
        return THROWAWAY
    return ", ".join(targets_of(run.result.run.plan or {})) or run.result.run.name


def _in_time(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda each: (each.result.run.started_at or "", each.label))


_Key = tuple[str, str, Cell]
"""The name of the runs, the variant, and the cell."""


def _place(key: _Key) -> tuple[str, str, str, int, float]:
    name, variant, (workload, users, rate) = key
    return name, workload, variant, users, rate.highest if rate else 0.0


def peaks(runs: Sequence[Run], by: By = "name") -> list[Series]:
    """The highest rate of each run, at any level: by name or target, variant and workload.

    No gate is judged on them: the level of the peak may differ from run to run.
    """
    found: dict[tuple[str, str, str], list[Part]] = {}
    for run in _in_time(runs):
        for part in parts_of(run):
            for workload in dict.fromkeys(cell[0] for cell in part.cells):
                key = (_history_of(run, by), part.variant, workload)
                found.setdefault(key, []).append(part)
    made = (_peaks(*key, parts) for key, parts in sorted(found.items()))
    return [series for series in made if series.points]


def _peaks(name: str, variant: str, workload: str, parts: Sequence[Part]) -> Series:
    def peak(part: Part) -> float | None:
        cells = (cell for cell in part.cells if cell[0] == workload)
        rates = (_value(TPS, part, cell) for cell in cells)
        return max((rate for rate in rates if rate is not None), default=None)

    where = say("peak of {workload}", workload=workload)
    if variant not in ("", "default"):
        where = say("{place}, {context}", place=where, context=variant)
    points, _, turns = _followed(parts, peak)
    left_out = len(parts) - len(points)
    return Series(name, where, TPS, points, turns, left_out, workload=workload, variant=variant)


def _series(key: _Key, parts: Sequence[Part], metric: Metric, runs: Sequence[Run]) -> Series:
    name, variant, cell = key
    points, kept, turns = _followed(parts, lambda part: _value(metric, part, cell))
    where = place_of(cell[0], cell[1], cell[2], variant)
    says_nothing = not kept and (cell[0] == WATCHED or all(was_stopped(part.run) for part in parts))
    return Series(
        name, where, metric, points, turns, len(parts) - len(points),
        _unseen(runs, parts, kept, cell, metric), says_nothing, cell[0], variant,
    )  # fmt: skip


def _value(metric: Metric, part: Part, cell: Cell) -> float | None:
    return quoted(metric, [step for step, _ in part.seen(cell) if unfit(step) is None])


def _followed(
    parts: Sequence[Part], value_of: Callable[[Part], float | None]
) -> tuple[tuple[Point, ...], list[Part], tuple[Turn, ...]]:
    """The points of a series, the parts that have one, and where the level turns."""
    points: list[Point] = []
    kept: list[Part] = []
    for part in parts:
        value = value_of(part)
        if value is not None:
            points.append(Point(part.run.label, part.run.result.run.started_at, value))
            kept.append(part)
    turns = tuple(
        Turn(point, _differs(kept[point.at - 1], kept[point.at]))
        for point in change_points([point.value for point in points])
    )
    return tuple(points), kept, turns


def was_stopped(run: Run) -> bool:
    """Whether somebody ended the run, or it goes on: levels that it lacks say nothing."""
    info = run.result.run
    return info.state in ("stopped", "running") and info.aborted is None


def _unseen(
    runs: Sequence[Run], parts: Sequence[Part], kept: Sequence[Part], cell: Cell, metric: Metric
) -> tuple[State, Message] | None:
    """Why the newest run that should have a value here has none."""
    having = kept[-1].run if kept else None
    newest = next(
        (run for run in reversed(runs) if run is having or not was_stopped(run)), runs[-1]
    )
    if newest is having:
        return None
    its = next((part for part in reversed(parts) if part.run is newest), None)
    if its is not None:
        faults = filter(None, (unfit(step) for step, _ in its.seen(cell)))
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
    """Check each gate at the last turn of each series: the newest level against the one before.

    `gates` are by the name of their metric. A series without a turn has not changed and passes. One
    that is too short is not decided, since every history starts short. A missing series fails, and
    so does one where the newest run should have a value but has none. Histories without the figure
    are left out if others have it.
    """
    found = judged(found)
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


def judged(found: Sequence[Series]) -> list[Series]:
    """The series that a gate is asked of: all but those that never had the figure, if others have.

    That are watched servers, runs that were stopped first, and whole histories without the figure.
    Without any other series a gate would see nothing, and none is left out.
    """
    having = {(series.name, series.metric.name) for series in found if series.points}
    metrics = {metric for _, metric in having}
    return [
        series
        for series in found
        if series.points
        or series.metric.name not in metrics
        or not (series.says_nothing or (series.name, series.metric.name) not in having)
    ]


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
        why = counted(
            "1 run: a change shows from {fewest} on",
            "{number} runs: a change shows from {fewest} on",
            len(series.points),
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
