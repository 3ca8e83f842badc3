"""From the steps of an experiment to units that may be compared, and which are compared.

A step knows of which unit it is (`lab.blocks` planned it): a round without restarts, else a block.
All steps of a variant in a cell and unit are one observation, their mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from loadstone.analyse.verdict import Sides, Spoiled, Unit
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.plan import Rate

STEAL_APART = 0.02
"""Share of all cores: where the hypervisor took so much more from one side of a unit than from the
other, the sides may differ by as much in rate, as a server that is busy on all cores does.
What it takes from both alike makes both slower, and their ratio is what it was."""

Cell = tuple[str, int, Rate | None]
"""A workload, virtual users, and the rate of an open loop."""


@dataclass(frozen=True)
class Observed:
    """A step that was carried out."""

    variant: str
    cell: Cell
    unit: int
    forward: bool
    """Whether variants were gone through in their order when it was measured."""
    rate: float | None
    """Events a second; `None` where there is none to quote, which spoils the unit."""
    spoiled: frozenset[Spoiled] = frozenset()
    steal: float = 0.0
    """Share of all cores that the hypervisor gave to others; nought where nobody looked."""


@dataclass(frozen=True)
class Contrast:
    """Two variants that differ in one factor."""

    factor: str
    a: str
    """With the first level of the factor."""
    b: str


def contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """Each further level of each factor against its first, all other factors being equal."""
    return tuple(
        Contrast(factor.name, base.name, variant.name)
        for at, factor in enumerate(experiment.factors)
        for variant in experiment.variants
        if variant.levels[at][1] != factor.levels[0]
        for base in (_with(variant, at, experiment),)
    )


def _with(variant: Variant, at: int, experiment: Experiment) -> Variant:
    """The variant with the first level of one factor."""
    factor = experiment.factors[at]
    levels = (*variant.levels[:at], (factor.name, factor.levels[0]), *variant.levels[at + 1 :])
    return Variant(levels=levels)


def sides(steps: Iterable[Observed], contrast: Contrast) -> Mapping[Cell, tuple[Sides, ...]]:
    """The units of both variants beside each other, by cell, in the order of their numbers.

    A unit that is not whole (the run ended there) is not among them: half a round has no balance.
    """
    found: dict[Cell, dict[int, dict[str, list[Observed]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for step in steps:
        if step.variant in (contrast.a, contrast.b):
            found[step.cell][step.unit][step.variant].append(step)
    return {cell: tuple(_beside(units, contrast)) for cell, units in found.items()}


def _beside(
    units: Mapping[int, Mapping[str, list[Observed]]], contrast: Contrast
) -> Iterator[Sides]:
    whole = max(len(steps) for both in units.values() for steps in both.values())
    for _, both in sorted(units.items()):
        a, b = both.get(contrast.a, []), both.get(contrast.b, [])
        if not len(a) == len(b) == whole:
            continue
        ways = {step.forward for step in (*a, *b)}
        pair = _unit(a), _unit(b)
        if abs(fmean(step.steal for step in a) - fmean(step.steal for step in b)) > STEAL_APART:
            pair = _robbed(pair[0]), _robbed(pair[1])
        yield Sides(*pair, ways.pop() if len(ways) == 1 else None)


def _unit(steps: list[Observed]) -> Unit:
    rates = [step.rate for step in steps if step.rate is not None]
    faults = frozenset[Spoiled]().union(*(step.spoiled for step in steps))
    if len(rates) < len(steps):
        return Unit(None, faults)
    return Unit(fmean(rates), faults)


def _robbed(unit: Unit) -> Unit:
    """Either side: which of them it was that had less is no matter."""
    return replace(unit, spoiled=unit.spoiled | {"steal"})
