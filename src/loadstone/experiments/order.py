"""The order of steps: those of the plan, and then as many more as are needed.

More are only added as whole rounds (or as blocks in both orders), so that every unit is balanced,
whatever the reason for it. Numbers are those of the endless passes, so a step's number alone
determines its part, in a resumed run as well.

Where the experiment searches, a part is a whole search: its steps are numbered as they come, and a
step's variant, workload and repeat determine its search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loadstone.experiments.schedule import Cell, PlannedStep, passes
from loadstone.model.experiment import Experiment
from loadstone.model.message import Message, plain
from loadstone.model.plan import Step
from loadstone.model.result import StepResult
from loadstone.model.search import VariantSearch

if TYPE_CHECKING:
    from loadstone.lab.step.order import Level


@dataclass(frozen=True)
class Again:
    """Cells to measure again, and the reason."""

    cells: frozenset[Cell] = frozenset()
    why: str = ""


More = Callable[[Sequence[StepResult]], Again]
"""Returns the cells that need more steps after these; passed in by the caller, who has the
statistics.
"""


Choose = Callable[[Step, Sequence[StepResult]], "Level | None"]
"""The next level of a search, given its part and its steps so far; also passed in."""

Conclude = Callable[[Sequence[StepResult]], tuple[VariantSearch, ...]]
"""The results of the searches, given all steps."""


@dataclass(frozen=True)
class Searching:
    """How the searches of an experiment continue, and how they conclude."""

    choose: Choose
    conclude: Conclude


Part = tuple[str, Cell, int]
"""A variant, a cell, and the number of its repeat."""


def part_of(experiment: Experiment, step: Step | StepResult) -> Part:
    """The part of a step; all steps of a search belong to the cell that it starts in."""
    cell = cell_of(step)
    if experiment.search:
        cell = step.workload, experiment.ladder[0], None
    return step.variant, cell, step.repeat


def cell_of(step: Step | StepResult) -> Cell:
    """The cell that a step belongs to."""
    return step.workload, step.concurrency, step.rate


def order(
    experiment: Experiment,
    done: Sequence[StepResult],
    more: More,
    added: Callable[[int, Message], None],
    choose: Choose | None = None,
) -> Iterator[PlannedStep]:
    """The steps that are not done yet; `done` grows while they are run.

    `added` hears how many parts are measured beyond the plan, and why (which may be empty).
    `choose`: each part is a search, which chooses the levels of its steps.
    """
    before = {part_of(experiment, step) for step in done}

    def left(planned: PlannedStep) -> Iterator[PlannedStep]:
        part = part_of(experiment, planned.step)
        if choose is None and part not in before:
            yield planned
        while choose is not None:
            steps = [step for step in done if part_of(experiment, step) == part]
            level = choose(planned.step, steps)
            if level is None:
                return
            yield replace(planned, step=_at(level, planned.step, len(done) + 1))

    endless = passes(experiment)
    for _ in range(experiment.repeats):
        yield from _left(next(endless), None, left)
    while True:
        both = (*next(endless), *next(endless))
        begun = {cell_of(each.step) for each in both if part_of(experiment, each.step) in before}
        again = more(done)
        if not begun | again.cells:
            return
        cells = begun | again.cells
        following = [part_of(experiment, each.step) for each in both]
        added(sum(part[1] in cells and part not in before for part in following), plain(again.why))
        yield from _left(both, cells, left)


def _left(
    parts: Sequence[PlannedStep],
    cells: Collection[Cell] | None,
    left: Callable[[PlannedStep], Iterator[PlannedStep]],
) -> Iterator[PlannedStep]:
    """The steps left of these cells' parts; a skipped part passes its `fresh` to the next step."""
    fresh = False
    for part in parts:
        fresh = fresh or part.fresh
        if cells is not None and cell_of(part.step) not in cells:
            continue
        for each in left(part):
            yield replace(each, fresh=fresh)
            fresh = False


def _at(level: Level, part: Step, number: int) -> Step:
    """The step of a search at this level."""
    chosen = {"number": number, "concurrency": level.concurrency, "rate": level.rate}
    return part.model_copy(update=chosen)


def planned_parts(experiment: Experiment, begun: Collection[Part]) -> dict[Part, PlannedStep]:
    """The parts that were started, in the experiment's order."""
    found: dict[Part, PlannedStep] = {}
    last = max((repeat for _, _, repeat in begun), default=0)
    for each in passes(experiment):
        parts = {part_of(experiment, planned.step): planned for planned in each}
        found |= {part: planned for part, planned in parts.items() if part in begun}
        if min(repeat for _, _, repeat in parts) > last:
            return found
    raise AssertionError("passes have no end")


def numbered(experiment: Experiment, numbers: Collection[int]) -> dict[int, PlannedStep]:
    """The parts to which the steps of these numbers belong."""
    found: dict[int, PlannedStep] = {}
    last = max(numbers, default=0)
    for each in passes(experiment):
        found |= {step.step.number: step for step in each}
        if max(found) >= last:
            return {number: found[number] for number in numbers}
    raise AssertionError("passes have no end")
