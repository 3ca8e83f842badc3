"""A matrix of sides: every workload, number of users and rate that any of them has.

A side is a run, a level of a factor, or a target. If the steps of a side differ in more than that
(other factors, other runs), each combination is a separate context.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from loadstone.analyse.comparison import seconds_a_repeat
from loadstone.analyse.effects import Effect, Variation, variation
from loadstone.analyse.experimental_units import Cell
from loadstone.analyse.gates import Change, Check, Gate, judge_changes, place_of, quoted, unfit
from loadstone.analyse.intervals import CONFIDENCE, Estimate, t_mean
from loadstone.analyse.metrics import TPS, Metric
from loadstone.analyse.paired_sides import (
    Contest,
    Part,
    Run,
    are_interleaved,
    contest,
    own_verdicts,
    parts_of,
)
from loadstone.analyse.verdict import REASONS, Verdict, verdicts
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Rules
from loadstone.model.message import Joined, Message, say
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.model.target_url import TargetUrlError, parse_target_url

DIP_SHARE = 0.5
"""A second with less than this share of its step's median rate is a dip."""


class ComparisonError(LoadstoneError):
    """The runs cannot be compared as asked."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its name and, by context, the parts of runs that belong to it."""

    name: str
    parts: Mapping[str, tuple[Part, ...]]

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """The parts of all contexts."""
        return tuple(part for parts in self.parts.values() for part in parts)


@dataclass(frozen=True)
class Swings:
    """How much a side's rate varies from second to second."""

    variation: Variation
    dips: float | None
    """Share of the seconds below half of their step's median rate."""
    lowest: float | None
    """The rate of the slowest second, as a share of its step's median rate."""


@dataclass(frozen=True)
class SideResult:
    """One side at one place."""

    side: str
    steps: tuple[StepResult, ...]
    tps: Estimate | None
    """Mean rate of the units that count; `None` if there is none."""
    swings: Swings

    def figure(self, metric: Metric) -> float | None:
        """The quoted value of a metric: from the steps that settled, if any did."""
        return quoted(metric, [step for step in self.steps if unfit(step) is None] or self.steps)


@dataclass(frozen=True)
class Against:
    """A side against the first one at the same place."""

    side: str
    contest: Contest
    verdict: Verdict

    def effect(self, metric: Metric, confidence: float = CONFIDENCE) -> Effect | None:
        """The effect in any metric; `None` if it is unknown."""
        return self.contest.effect(metric, confidence)


@dataclass(frozen=True)
class Place:
    """A workload, number of users and rate in one context."""

    context: str
    cell: Cell

    @property
    def said(self) -> Message:
        """The place, for a person."""
        workload, users, rate = self.cell
        return place_of(workload, users, rate, self.context)

    def __str__(self) -> str:
        return str(self.said)


@dataclass(frozen=True)
class MatrixCell:
    """All sides at one place."""

    place: Place
    side_results: tuple[SideResult, ...]
    against: tuple[Against, ...]

    def of(self, side: str) -> SideResult | None:
        """The result of the side with that name; `None` if it was not measured here."""
        return next((each for each in self.side_results if each.side == side), None)


@dataclass(frozen=True)
class Matrix:
    """All sides at all places."""

    sides: tuple[Side, ...]
    """The others are compared with the first one."""
    cells: tuple[MatrixCell, ...]
    comparisons: int
    """The number of comparisons the verdicts were corrected for; an experiment corrects its own."""
    interleaved: bool
    """Whether all comparisons are within one experiment, measured side by side."""

    @property
    def single(self) -> bool:
        """Whether a side has too few units for an interval at some place."""
        return any(
            each.verdict.effect is not None and each.verdict.effect.interval is None
            for cell in self.cells
            for each in cell.against
        )


def matrix(runs: Sequence[Run], by: str | None = None) -> Matrix:
    """Compare the runs by `target`, by a factor, or by default run against run.

    A single run with one factor is compared by that factor.

    Raises:
        ComparisonError: there are fewer than two sides, or there is no such factor.
    """
    sides = split(runs, by)
    inside = by is not None or len(runs) == 1
    known = {id(run): own_verdicts(run) for run in runs} if inside else {}
    places = _places(sides)
    found = [
        (
            place,
            side,
            contest(sides[0].parts[place.context], side.parts[place.context], place.cell),
            _known(known, sides[0], side, place),
        )
        for place in places
        for side in sides[1:]
        if _has(sides[0], place) and _has(side, place)
    ]
    fresh = iter(_words([each for each in found if each[3] is None], runs))
    against: dict[Place, list[Against]] = defaultdict(list)
    for place, side, both, said in found:
        against[place].append(Against(side.name, both, said or next(fresh)))
    cells = tuple(
        MatrixCell(place, tuple(_side_results(sides, place)), tuple(against.get(place, ())))
        for place in places
    )
    interleaved = bool(found) and all(each.beside for _, _, each, _ in found)
    return Matrix(tuple(sides), cells, len(found), interleaved)


_Found = tuple[Place, Side, Contest, Verdict | None]


def _words(found: Sequence[_Found], runs: Sequence[Run]) -> Sequence[Verdict]:
    rules = runs[0].rules if runs else Rules()
    repeat_s = sum(seconds_a_repeat(run.result.steps) for run in runs if run.result.steps)
    return [
        replace(verdict, more_s=verdict.more and verdict.more * repeat_s)
        for verdict in verdicts([both.rates(TPS) for _, _, both, _ in found], rules)
    ]


def split(runs: Sequence[Run], by: str | None) -> list[Side]:
    """Split the runs into sides, in the order of runs, levels or targets.

    Raises:
        ComparisonError: there are fewer than two sides, or there is no such factor.
    """
    if by is None and len(runs) == 1:
        by = _only_factor(runs[0])
    found: dict[str, dict[str, list[Part]]] = {}
    for run in runs:
        if run.experiment and run.experiment.search:
            raise ComparisonError(
                say("{run} is a search: each search has levels of its own", run=run.label),
                say("loadstone runs show {run} compares what they found", run=run.label),
            )
        parts = parts_of(run)
        if not parts:
            raise ComparisonError(
                say("{run} has no step to compare", run=run.label),
                say("the run ended before its first step"),
            )
        for part in parts:
            side, context = _side(part, by, alone=len(runs) == 1)
            found.setdefault(side, {}).setdefault(context, []).append(part)
    if len(found) < 2:
        raise _one_side(by, list(found))
    return [
        Side(name, {context: tuple(parts) for context, parts in contexts.items()})
        for name, contexts in found.items()
    ]


def _only_factor(run: Run) -> str:
    factors = run.experiment.factors if run.experiment else ()
    if len(factors) == 1:
        return factors[0].name
    if factors:
        names = ", ".join(factor.name for factor in factors)
        raise ComparisonError(
            say("{run} has several factors", run=run.label),
            say("choose one with --by: {factors}", factors=names),
        )
    raise ComparisonError(
        say("{run} has nothing to compare: it is one run without factors", run=run.label),
        say("name two runs, or one of an experiment"),
    )


def _one_side(by: str | None, names: Sequence[str]) -> ComparisonError:
    match by:
        case None:
            said = say("there is only one run: {name}", name=names[0])
        case "target":
            said = say("there is only one target: {name}", name=names[0])
        case _:
            said = say("there is only one level of {factor}: {name}", factor=by, name=names[0])
    return ComparisonError(said, say("a comparison needs two"))


def _side(part: Part, by: str | None, *, alone: bool) -> tuple[str, str]:
    """The side that a part belongs to, and its context there."""
    run = part.run
    variant = run.variant(part.variant)
    if by is None:
        return run.label, "" if part.variant == "default" else part.variant
    if by == "target":
        others = [pair for pair in variant.levels if not (pair[1].target or pair[1].sandbox)]
        return _targets(part), ",".join(f"{name}={level.name}" for name, level in others)
    levels = dict(variant.levels)
    if by not in levels:
        known = ", ".join(levels)
        raise ComparisonError(
            say("{run} has no factor '{factor}'", run=run.label, factor=by),
            say("its factors: {factors}; also: --by target", factors=known)
            if known
            else say("it has no factors; --by target compares targets"),
        )
    others = [(name, level) for name, level in variant.levels if name != by]
    context = ",".join(f"{name}={level.name}" for name, level in others)
    return levels[by].name, context if alone else ", ".join(filter(None, (run.label, context)))


def _targets(part: Part) -> str:
    """The servers of the part's first step: `db1:3306`, without schema and TLS options."""
    for step in part.run.result.steps:
        if step.variant == part.variant and step.targets:
            return ", ".join(_server(share.target) for share in step.targets)
    return say("unknown target")


def _server(url: str) -> str:
    try:
        return parse_target_url(url)[0].place
    except TargetUrlError:  # written by another version: it still serves as a name
        return url


def _places(sides: Sequence[Side]) -> list[Place]:
    """All places of any side: contexts and workloads in the order found, users ascending."""
    seen: dict[Place, None] = {}
    for side in sides:
        for context, parts in side.parts.items():
            for part in parts:
                seen |= dict.fromkeys(Place(context, cell) for cell in part.cells)
    contexts = list(dict.fromkeys(place.context for place in seen))
    workloads = list(dict.fromkeys(place.cell[0] for place in seen))

    def order(place: Place) -> tuple[int, int, int, float]:
        workload, users, rate = place.cell
        return contexts.index(place.context), workloads.index(workload), users, _highest(rate)

    return sorted(seen, key=order)


def _highest(rate: Rate | None) -> float:
    return rate.highest if rate else 0.0


def _has(side: Side, place: Place) -> bool:
    return any(place.cell in part.cells for part in side.parts.get(place.context, ()))


def _known(
    said: Mapping[int, Mapping[tuple[str, str, Cell], Verdict]], a: Side, b: Side, place: Place
) -> Verdict | None:
    """The experiment's own verdict, if both sides belong to the same experiment."""
    of_a, of_b = a.parts[place.context], b.parts[place.context]
    if not are_interleaved(of_a, of_b):
        return None
    mine = said.get(id(of_a[0].run), {})
    return mine.get((of_a[0].variant, of_b[0].variant, place.cell))


def _side_results(sides: Sequence[Side], place: Place) -> Iterator[SideResult]:
    for side in sides:
        parts = side.parts.get(place.context, ())
        measured = [(part.run, unit) for part in parts for unit in part.units(place.cell)]
        if not measured:
            continue
        units = [unit for _, unit in measured]
        rates = [unit.unit(TPS) for unit in units]
        good = [unit.rate for unit in rates if unit.rate and not unit.spoiled]
        seconds = [
            run.seconds.get(step.step, ())
            for run, unit in measured
            for step in unit.steps
            if unfit(step) is None
        ]
        steps = tuple(step for unit in units for step in unit.steps)
        yield SideResult(side.name, steps, t_mean(good) if good else None, swings(seconds))


def swings(steps: Sequence[Sequence[float]]) -> Swings:
    """The swings of some steps; `steps` has the events of each step's seconds."""
    shares = [
        rate / middle
        for step in steps
        if len(step) > 1 and (middle := median(step)) > 0
        for rate in step
    ]
    dips = fmean(share < DIP_SHARE for share in shares) if shares else None
    return Swings(variation(steps), dips, min(shares, default=None))


def judge(found: Matrix, gates: Iterable[Gate], level: float = 0.05) -> list[Check]:
    """Check gates on changes at each place, each side against the first.

    `level` is the chance that any of the intervals misses; it is divided among places and sides.
    """
    gates = list(gates)
    asked = max(found.comparisons * len(gates), 1)
    return [
        check
        for gate in gates
        for check in judge_changes(gate, _changes(found, gate.metric, 1 - level / asked))
    ]


def _changes(found: Matrix, metric: Metric, confidence: float) -> Iterator[Change]:
    many = len(found.sides) > 2
    for cell in found.cells:
        for side in found.sides[1:]:
            where = cell.place.said
            if many:
                where = say("{place}, {side}", place=where, side=side.name)
            yield _change(cell, side.name, metric, Change(where, None, None), confidence)


def _change(
    cell: MatrixCell, side: str, metric: Metric, unknown: Change, confidence: float
) -> Change:
    against = next((each for each in cell.against if each.side == side), None)
    if against is None:
        has = {side_result.side for side_result in cell.side_results}
        if side in has:
            return replace(unknown, why=say("the first side was not measured here"))
        return replace(unknown, why=say("{side} was not measured here", side=side))
    effect = against.effect(metric, confidence)
    if effect is not None:
        return replace(unknown, relative=effect.relative, interval=effect.interval)
    return _of_nothing(against, metric, unknown)


def _of_nothing(against: Against, metric: Metric, unknown: Change) -> Change:
    """The change where there is no ratio: from or to zero, or nothing is known."""
    reasons = sorted(set(against.verdict.left_out) - {"nothing done"})
    if reasons:
        named = Joined(REASONS[reason] for reason in reasons)
        return replace(unknown, why=say("left out: {reasons}", reasons=named))
    a, b = (
        [group.value(metric) for group in side] for side in (against.contest.a, against.contest.b)
    )
    if not a or not b or None in (*a, *b):
        return replace(unknown, why=say("a side has no {metric}", metric=metric.name))
    if any(a) and not any(b):
        return replace(unknown, relative=-1.0, why=say("it is zero now"))
    if not any(a):
        relative = math.inf if any(b) else 0.0
        return replace(unknown, relative=relative, why=say("it is zero on the first side"))
    return replace(
        unknown,
        why=say("{metric} is zero in some steps and not in others", metric=metric.name),
    )
