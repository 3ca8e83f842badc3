"""Which steps come after which: those of the plan, and then as many as are still wanted.

More are only ever added as whole rounds (or as blocks in both orders), so that a unit is balanced
whatever made it wanted. Numbers are those of the passes without end, so a step's number alone says
which part it plays, in a run that was taken up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from loadstone.experiments.schedule import Cell, PlannedStep, passes
from loadstone.model.experiment import Experiment
from loadstone.model.plan import Step
from loadstone.model.result import StepResult


@dataclass(frozen=True)
class Again:
    """Cells that are to be measured once more, and why."""

    cells: frozenset[Cell] = frozenset()
    why: str = ""


More = Callable[[Sequence[StepResult]], Again]
"""Which cells need more, after these steps; handed in by whoever knows statistics."""


def cell_of(step: Step | StepResult) -> Cell:
    """The cell that a step belongs to."""
    return step.workload, step.concurrency, step.rate


def order(
    experiment: Experiment,
    done: Sequence[StepResult],
    more: More,
    note: Callable[[str], None],
) -> Iterator[PlannedStep]:
    """Steps that are not done yet; `done` grows while they are carried out."""
    before = {step.step for step in done}
    endless = passes(experiment)
    for _ in range(experiment.repeats):
        yield from _left(next(endless), None, before)
    while True:
        both = (*next(endless), *next(endless))
        begun = {cell_of(each.step) for each in both if each.step.number in before}
        again = more(done)
        if not begun | again.cells:
            return
        if again.why:
            note(again.why)
        yield from _left(both, begun | again.cells, before)


def _left(
    steps: Sequence[PlannedStep], cells: Collection[Cell] | None, before: Collection[int]
) -> Iterator[PlannedStep]:
    """Those of the cells that were not carried out before; what is fresh is told in any case."""
    fresh = False
    for each in steps:
        fresh = fresh or each.fresh
        wanted = cells is None or cell_of(each.step) in cells
        if wanted and each.step.number not in before:
            yield replace(each, fresh=fresh)
            fresh = False


def numbered(experiment: Experiment, numbers: Collection[int]) -> dict[int, PlannedStep]:
    """The parts that steps of these numbers play."""
    found: dict[int, PlannedStep] = {}
    last = max(numbers, default=0)
    for each in passes(experiment):
        found |= {step.step.number: step for step in each}
        if max(found) >= last:
            return {number: found[number] for number in numbers}
    raise AssertionError("passes have no end")
