"""Compares two sides at one place in any metric.

Units are those of `analyse.comparison`: rounds or blocks of an experiment, or steps of a plain run,
never seconds. Within one experiment they were measured next to each other and are paired; those of
two runs are independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from loadstone.analyse.comparison import compare, good_pairs, observed, spoiled
from loadstone.analyse.effects import Effect, paired, unpaired
from loadstone.analyse.experimental_units import Cell, Contrast, Observed, sides
from loadstone.analyse.metrics import Metric
from loadstone.analyse.verdict import Sides, Spoiled, Unit, Unpaired, Verdict
from loadstone.experiments.order import cell_of, numbered, part_of, planned_parts
from loadstone.experiments.schedule import passes
from loadstone.model.experiment import Experiment, Rules, Variant
from loadstone.model.result import Result, StepResult

if TYPE_CHECKING:
    from loadstone.runs.reader import Kept


@dataclass(frozen=True)
class Run:
    """The contents of a run's folder."""

    label: str
    result: Result
    experiment: Experiment | None
    environment: Mapping[str, Any]
    """environment.json, as it was read."""
    seconds: Mapping[int, Sequence[float]]
    """Each step's events per second, by the step's number."""

    @property
    def rules(self) -> Rules:
        """The rules of evidence: the experiment's, else the defaults."""
        return self.experiment.rules if self.experiment else Rules()

    def variant(self, name: str) -> Variant:
        """The variant with that name; one without levels if the run has no factors."""
        known = self.experiment.variants if self.experiment else ()
        return next((variant for variant in known if variant.name == name), Variant())


def as_run(label: str, kept: Kept) -> Run:
    """The run in a folder, without its experiment if the steps do not belong to that."""
    experiment = kept.experiment
    if experiment and not _are_of(experiment, kept.result.steps):
        experiment = None
    return Run(label, kept.result, experiment, kept.environment, kept.seconds)


def _are_of(experiment: Experiment, steps: Sequence[StepResult]) -> bool:
    """Whether the steps belong to the experiment: two runs may have been put into one folder."""
    if experiment.search:
        return _are_of_searches(experiment, steps)
    numbers = {step.step for step in steps}
    # Of every two passes beyond the plan at least one has a step, which bounds the numbers.
    passed = experiment.repeats + 2 * len(steps) + 2
    farthest = passed * len(next(passes(experiment)))
    if len(numbers) < len(steps) or not all(1 <= number <= farthest for number in numbers):
        return False
    planned = numbered(experiment, numbers)
    return all(
        (step.variant, step.workload, step.concurrency, step.rate)
        == (known.variant, known.workload, known.concurrency, known.rate)
        for step in steps
        for known in (planned[step.step].step,)
    )


def _are_of_searches(experiment: Experiment, steps: Sequence[StepResult]) -> bool:
    begun = {part_of(experiment, step) for step in steps}
    # This bounds the repeats, as above.
    farthest = experiment.repeats + 2 * len(steps) + 2
    if not all(1 <= repeat <= farthest for _, _, repeat in begun):
        return False
    return planned_parts(experiment, begun).keys() == begun


Seen = tuple[StepResult, Observed]
"""A step, and its observation in the analysis."""


@dataclass(frozen=True)
class Group:
    """The steps of one unit of one side."""

    steps: tuple[StepResult, ...]
    spoiled: frozenset[Spoiled]

    def value(self, metric: Metric) -> float | None:
        """The mean over its steps; for latencies, the mean of the steps' percentiles."""
        values = [metric.of(step) for step in self.steps]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    def unit(self, metric: Metric) -> Unit:
        """The group as a unit, for tests of rates."""
        finished = all(step.state == "finished" for step in self.steps)
        return Unit(self.value(metric) if finished else None, self.spoiled)


@dataclass(frozen=True)
class Part:
    """One variant of one run."""

    run: Run
    variant: str
    cells: Mapping[Cell, tuple[Seen, ...]]

    def seen(self, cell: Cell) -> tuple[Seen, ...]:
        """The part's steps in a cell; empty if it was not measured there."""
        return self.cells.get(cell, ())

    def units(self, cell: Cell) -> tuple[Group, ...]:
        """The part's steps in a cell, grouped by unit."""
        found: dict[int, list[Seen]] = defaultdict(list)
        for step, seen in self.seen(cell):
            found[seen.unit].append((step, seen))
        return tuple(_group(unit) for _, unit in sorted(found.items()))


def _group(unit: Sequence[Seen]) -> Group:
    return Group(
        tuple(step for step, _ in unit),
        frozenset[Spoiled]().union(*(seen.spoiled for _, seen in unit)),
    )


def parts_of(run: Run) -> list[Part]:
    """The parts of a run in the order of the file's variants, the baseline first."""
    found: dict[str, dict[Cell, list[Seen]]] = {}
    for step, seen in _observed(run):
        found.setdefault(step.variant, {}).setdefault(seen.cell, []).append((step, seen))
    names = [variant.name for variant in run.experiment.variants] if run.experiment else []
    ordered = [name for name in names if name in found] or list(found)
    return [
        Part(run, name, {cell: tuple(seen) for cell, seen in found[name].items()})
        for name in ordered
    ]


def _observed(run: Run) -> Iterator[Seen]:
    steps = run.result.steps
    if run.experiment and not run.experiment.search:
        yield from zip(steps, observed(run.experiment, steps), strict=True)
        return
    for step in steps:
        rate = step.tps if step.state == "finished" else None
        faults = spoiled(step, Variant())
        # Each step is a unit, as a plain run repeats a level one step after the other.
        yield step, Observed(step.variant, cell_of(step), step.step, True, rate, faults)


@dataclass(frozen=True)
class Contest:
    """B against A in one cell."""

    a: tuple[Group, ...]
    b: tuple[Group, ...]
    beside: tuple[Contrast, tuple[Seen, ...]] | None = None
    """Two variants of one experiment, and the steps of both; `None` if units are independent."""

    def rates(self, metric: Metric) -> Sequence[Sides] | Unpaired:
        """The metric by unit, for a verdict; in an experiment only complete units count."""
        if self.beside is None:
            a, b = (tuple(group.unit(metric) for group in side) for side in (self.a, self.b))
            return Unpaired(a, b)
        contrast, seen = self.beside
        figures = [
            replace(each, rate=None if each.rate is None else metric.of(step))
            for step, each in seen
        ]
        return next(iter(sides(figures, contrast).values()), ())

    def effect(self, metric: Metric, confidence: float) -> Effect | None:
        """The effect in a metric; `None` if a side has no unit that counts."""
        cell = self.rates(metric)
        if isinstance(cell, Unpaired):
            a, b = _rates(cell.a), _rates(cell.b)
            return unpaired(a, b, confidence) if a and b else None
        pairs = good_pairs(cell)
        return paired(pairs, confidence) if pairs else None


def _rates(units: Sequence[Unit]) -> list[float]:
    """The rates of the units that count."""
    return [unit.rate for unit in units if unit.rate and not unit.spoiled]


def contest(a: Sequence[Part], b: Sequence[Part], cell: Cell) -> Contest:
    """Two sides in a cell, paired by unit if one experiment measured both."""
    units = _units(a, cell), _units(b, cell)
    if not are_interleaved(a, b):
        return Contest(*units)
    contrast = Contrast("", a[0].variant, b[0].variant)
    return Contest(*units, (contrast, (*a[0].seen(cell), *b[0].seen(cell))))


def are_interleaved(a: Sequence[Part], b: Sequence[Part]) -> bool:
    """Whether each side is one variant of the same experiment."""
    return len(a) == len(b) == 1 and a[0].run is b[0].run and a[0].run.experiment is not None


def _units(parts: Sequence[Part], cell: Cell) -> tuple[Group, ...]:
    return tuple(group for part in parts for group in part.units(cell))


def own_verdicts(run: Run) -> Mapping[tuple[str, str, Cell], Verdict]:
    """The experiment's own verdicts on its variants, the same as in `runs show`."""
    if run.experiment is None:
        return {}
    found = compare(run.experiment, run.result.steps, run.seconds)
    return {
        (each.contrast.a, each.contrast.b, table.cell): each.verdict
        for table in found.cells
        for each in table.compared
    }
