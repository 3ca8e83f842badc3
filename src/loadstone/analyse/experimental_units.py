"""Groups the steps of an experiment into units, and pairs the units to compare.

Each step has the number of its unit, from the plan (`lab.blocks`): a round without restarts, else a
block. All steps of a variant in a cell and unit are one observation, their mean.
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
"""Share of all cores. If the hypervisor took this much more from one side of a unit than from the
other, the unit is invalid: if the server is busy on all cores, the rates may differ by as much.
What it takes from both sides alike slows both, and their ratio stays the same."""

Cell = tuple[str, int, Rate | None]
"""A workload, virtual users, and the rate of an open loop."""


@dataclass(frozen=True)
class Observed:
    """A step that was run."""

    variant: str
    cell: Cell
    unit: int
    forward: bool
    """Whether the pass that measured it went through the variants in forward order."""
    rate: float | None
    """Events a second; `None` if there is none to quote, which makes the unit invalid."""
    spoiled: frozenset[Spoiled] = frozenset()
    steal: float = 0.0
    """Share of all cores that the hypervisor gave to others; zero where it was not observed."""


@dataclass(frozen=True)
class Contrast:
    """Two variants that differ in one factor."""

    factor: str
    a: str
    """The variant with the first level of the factor."""
    b: str


def contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """Each further level of each factor against its first, with all other factors equal."""
    return tuple(
        Contrast(factor.name, base.name, variant.name)
        for at, factor in enumerate(experiment.factors)
        for variant in experiment.variants
        if variant.levels[at][1] != factor.levels[0]
        for base in (_with(variant, at, experiment),)
    )


def _with(variant: Variant, at: int, experiment: Experiment) -> Variant:
    """The variant, but with the first level of the factor at this index."""
    factor = experiment.factors[at]
    levels = (*variant.levels[:at], (factor.name, factor.levels[0]), *variant.levels[at + 1 :])
    return Variant(levels=levels)


def sides(steps: Iterable[Observed], contrast: Contrast) -> Mapping[Cell, tuple[Sides, ...]]:
    """The paired units of both variants, by cell, in the order of their numbers.

    Incomplete units (the run ended there) are left out: half a round is not balanced.
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
    """The unit, marked invalid because of steal; both sides of a pair are marked."""
    return replace(unit, spoiled=unit.spoiled | {"steal"})
