"""The order in which the steps of an experiment are run.

Variants that need no restart alternate step by step: A B for a cell, all cells, and then all of it
backwards. Such a round measures each variant twice, at moments with the same mean, so a drift that
grows evenly adds the same to each; the round is the unit of the statistics.

Where variants need a restart, everything between two starts is a block; blocks alternate in the
same manner (A B, B A, ...), and the block is the unit. Variants that share a start (of another
factor that needs none) alternate within it, forwards and backwards.

A cell is a workload at a concurrency and rate. Pure: an experiment in, steps out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

from loadstone.model.experiment import Experiment, Variant
from loadstone.model.plan import Rate, Step, WarmupSeconds
from loadstone.model.search import MOST_STEPS

START_S = 5.0
"""Estimated time to start a throwaway server without warm-up: for the plan's time only."""

Cell = tuple[str, int, Rate | None]


@dataclass(frozen=True)
class PlannedStep:
    """A step to run, and its part in the statistics."""

    step: Step
    block: int
    """Steps of the same block are measured between two starts; counted from 1."""
    unit: int
    """Steps of the same variant, cell and unit are one observation: their mean; from 1."""
    forward: bool
    """Whether this pass goes through the variants in their order, or backwards."""
    fresh: bool
    """Whether data that the workloads change is restored before it: when a block starts, or,
    without restarts, a round, in whose two halves each variant finds it equally changed.
    """


@dataclass(frozen=True)
class PlanTime:
    """The duration of a plan, as far as it is known beforehand."""

    load_s: float
    """Warm-up and windows of all steps; for searches, of their maximum number."""
    starts: int
    """Server starts: one for each block, if any variant needs one."""
    restores: int
    """Restorations of changed data, if the workloads change any."""
    start_s: float = START_S

    @property
    def total_s(self) -> float:
        """Total with a typical start for each block, without loading and restoring data."""
        return self.load_s + self.starts * self.start_s


def schedule(experiment: Experiment) -> tuple[PlannedStep, ...]:
    """The steps of all repeats that are certain; for a search, one for each search."""
    planned = islice(passes(experiment), experiment.repeats)
    return tuple(step for each in planned for step in each)


def passes(experiment: Experiment) -> Iterator[tuple[PlannedStep, ...]]:
    """One repeat after the other without end, every second one backwards.

    For `until`, which continues until enough is known. Without a restart two passes are a unit, and
    must not be separated.
    """
    groups, cells = _groups(experiment), _cells(experiment)
    numbers, blocks = count(1), count(1)
    restarts = len(groups) > 1
    block = 1
    for number in count(1):
        forward = number % 2 == 1
        made: list[PlannedStep] = []
        for group in groups if forward else groups[::-1]:
            block = next(blocks) if restarts else block
            fresh = restarts or forward
            for cell, variant, repeat in _places(cells, group, number, restarts):
                step = _step(next(numbers), cell, variant, repeat)
                unit = number if restarts else (number + 1) // 2
                made.append(PlannedStep(step, block, unit, forward, fresh))
                fresh = False
        yield tuple(made)


def plan_time(experiment: Experiment, steps: Sequence[PlannedStep]) -> PlanTime:
    """The duration of these steps."""
    warmup = experiment.warmup
    warmup_s = warmup.warmup_s if isinstance(warmup, WarmupSeconds) else 0.0
    each = MOST_STEPS if experiment.search else 1
    load_s = len(steps) * each * (warmup_s + experiment.duration_s)
    ours = experiment.sandbox is not None or bool(experiment.restarting)
    starts = len({step.block for step in steps}) if ours else 0
    return PlanTime(load_s, starts, sum(step.fresh for step in steps))


def _groups(experiment: Experiment) -> list[list[Variant]]:
    """Variants grouped by the settings at the start of their server, in the order of the file."""
    found: dict[tuple[str, ...], list[Variant]] = {}
    for variant in experiment.variants:
        found.setdefault(variant.at_start(experiment.restarting), []).append(variant)
    return list(found.values())


def _cells(experiment: Experiment) -> list[Cell]:
    return [
        (workload.name, users + workload.own_users, rate)
        for workload in experiment.workloads
        for users in experiment.ladder
        for rate in experiment.rates or (None,)
    ]


def _places(
    cells: Sequence[Cell], group: Sequence[Variant], number: int, restarts: bool
) -> Iterator[tuple[Cell, Variant, int]]:
    """Cells with their variants in the order of this pass, and the number of the repeat."""
    places = [(cell, variant) for cell in cells for variant in group]
    ways = [places, places[::-1]] if number % 2 else [places[::-1], places]
    # Variants of one block alternate within it: it contains both orders.
    ways = ways if restarts and len(group) > 1 else ways[:1]
    for again, way in enumerate(ways):
        for cell, variant in way:
            yield cell, variant, len(ways) * (number - 1) + again + 1


def _step(number: int, cell: Cell, variant: Variant, repeat: int) -> Step:
    workload, users, rate = cell
    return Step(
        number=number,
        variant=variant.name,
        workload=workload,
        concurrency=users,
        rate=rate,
        repeat=repeat,
    )
