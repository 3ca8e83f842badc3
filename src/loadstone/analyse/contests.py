"""Two sides in one place, and what their steps say of any figure.

Units are what `analyse.comparison` has: rounds or blocks of an experiment, steps of a plain run;
never seconds. Within one experiment they stand beside each other and are paired; of two runs they
have nothing to do with each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from loadstone.analyse.comparison import compare, good_pairs, observed, spoiled
from loadstone.analyse.effects import Effect, paired, unpaired
from loadstone.analyse.metrics import Metric
from loadstone.analyse.units import Cell, Observed
from loadstone.analyse.verdict import Apart, Sides, Spoiled, Unit, Verdict
from loadstone.lab.experiment_order import cell_of
from loadstone.model.experiment import Experiment, Rules, Variant
from loadstone.model.result import Result, StepResult


@dataclass(frozen=True)
class Run:
    """A run's folder, read."""

    label: str
    result: Result
    experiment: Experiment | None
    environment: Mapping[str, Any]
    """environment.json as it stands there."""
    seconds: Mapping[int, Sequence[float]]
    """By a step's number, its events of each second."""

    @property
    def rules(self) -> Rules:
        """What counts as evidence."""
        return self.experiment.rules if self.experiment else Rules()

    def variant(self, name: str) -> Variant:
        """By its name; one without levels where the run has no factors."""
        known = self.experiment.variants if self.experiment else ()
        return next((variant for variant in known if variant.name == name), Variant())


@dataclass(frozen=True)
class Group:
    """The steps of one unit of one side."""

    steps: tuple[StepResult, ...]
    spoiled: frozenset[Spoiled]
    ways: frozenset[bool]
    """Whether variants were gone through in their order when each was measured."""

    def value(self, metric: Metric) -> float | None:
        """The mean over its steps; of latencies that of each step's own percentile."""
        values = [metric.of(step) for step in self.steps]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    def unit(self, metric: Metric) -> Unit:
        """As tests of rates want it."""
        finished = all(step.state == "finished" for step in self.steps)
        return Unit(self.value(metric) if finished else None, self.spoiled)


@dataclass(frozen=True)
class Part:
    """One variant of one run: its units by cell and number."""

    run: Run
    variant: str
    cells: Mapping[Cell, Mapping[int, Group]]

    def units(self, cell: Cell) -> Mapping[int, Group]:
        """Those of a cell; none where it was not measured there."""
        return self.cells.get(cell, {})


def parts_of(run: Run) -> list[Part]:
    """In the order of the file's variants: the first level is what others are held to."""
    found: dict[str, dict[Cell, dict[int, list[tuple[StepResult, Observed]]]]] = {}
    for step, seen in _observed(run):
        units = found.setdefault(step.variant, {}).setdefault(seen.cell, defaultdict(list))
        units[seen.unit].append((step, seen))
    names = [variant.name for variant in run.experiment.variants] if run.experiment else []
    ordered = [name for name in names if name in found] or list(found)
    return [
        Part(
            run,
            name,
            {
                cell: {number: _group(unit) for number, unit in sorted(units.items())}
                for cell, units in found[name].items()
            },
        )
        for name in ordered
    ]


def _group(unit: Sequence[tuple[StepResult, Observed]]) -> Group:
    return Group(
        tuple(step for step, _ in unit),
        frozenset[Spoiled]().union(*(seen.spoiled for _, seen in unit)),
        frozenset(seen.forward for _, seen in unit),
    )


def _observed(run: Run) -> Iterator[tuple[StepResult, Observed]]:
    steps = run.result.steps
    if run.experiment:
        yield from zip(steps, observed(run.experiment, steps), strict=True)
        return
    for step in steps:
        rate = step.tps if step.state == "finished" else None
        faults = spoiled(step, Variant())
        # Each step is a unit: whoever repeats a level does so one step after the other.
        yield step, Observed(step.variant, cell_of(step), step.step, True, rate, faults)


@dataclass(frozen=True)
class Contest:
    """B against A in one cell."""

    a: tuple[Group, ...]
    b: tuple[Group, ...]
    a_first: tuple[bool | None, ...] | None = None
    """Of each pair, where units stand beside each other; `None`: they do not."""

    def rates(self, metric: Metric) -> Sequence[Sides] | Apart:
        """As verdicts want them."""
        a, b = ([group.unit(metric) for group in side] for side in (self.a, self.b))
        if self.a_first is None:
            return Apart(tuple(a), tuple(b))
        return [Sides(*pair) for pair in zip(a, b, self.a_first, strict=True)]

    def effect(self, metric: Metric, confidence: float) -> Effect | None:
        """By how much the figure of B is another one; `None`: a side has none that counts."""
        cell = self.rates(metric)
        if isinstance(cell, Apart):
            a, b = _rates(cell.a), _rates(cell.b)
            return unpaired(a, b, confidence) if a and b else None
        pairs = good_pairs(cell)
        return paired(pairs, confidence) if pairs else None


def _rates(units: Sequence[Unit]) -> list[float]:
    """Of those that count."""
    return [unit.rate for unit in units if unit.rate and not unit.spoiled]


def beside(a: Part, b: Part, cell: Cell) -> Contest:
    """Two variants of one experiment, unit by unit; units that are not whole are left out."""
    of_a, of_b = a.units(cell), b.units(cell)
    whole = max(len(group.steps) for side in (of_a, of_b) for group in side.values())
    pairs = [
        (of_a[number], of_b[number])
        for number in of_a
        if number in of_b and len(of_a[number].steps) == len(of_b[number].steps) == whole
    ]
    return Contest(
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        tuple(_a_first(one.ways | other.ways) for one, other in pairs),
    )


def _a_first(ways: frozenset[bool]) -> bool | None:
    """`None` where the unit has both orders."""
    return next(iter(ways)) if len(ways) == 1 else None


def apart(a: Sequence[Part], b: Sequence[Part], cell: Cell) -> Contest:
    """Parts of several runs."""
    return Contest(_units(a, cell), _units(b, cell))


def _units(parts: Sequence[Part], cell: Cell) -> tuple[Group, ...]:
    return tuple(group for part in parts for group in part.units(cell).values())


def own_verdicts(run: Run) -> Mapping[tuple[str, str, Cell], Verdict]:
    """What an experiment itself says of its variants: the words of `runs show`."""
    if run.experiment is None:
        return {}
    found = compare(run.experiment, run.result.steps, run.seconds)
    return {
        (each.contrast.a, each.contrast.b, table.cell): each.verdict
        for table in found.cells
        for each in table.compared
    }
