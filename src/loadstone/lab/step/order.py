"""The steps of a plain run: all known in advance, or each chosen by a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from loadstone.lab.step.loop import Measured
from loadstone.lab.step.runner import Lab, drive_step
from loadstone.model.plan import Plan, Rate, Step
from loadstone.model.result import StepResult
from loadstone.model.search import SearchOutcome


class Steps(Protocol):
    """Chooses the next step, and summarises all of them."""

    planned: int | None
    """The number of steps; `None` if it depends on their results."""

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The step after these; `None` when there is none."""

    def outcome(self, done: Sequence[StepResult]) -> SearchOutcome | None:
        """The result of the search; `None` if nothing was searched for."""


class InOrder:
    """Steps that are all known in advance."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self.planned: int | None = len(steps)

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The next step in the list."""
        return self._steps[len(done)] if len(done) < len(self._steps) else None

    def outcome(self, done: Sequence[StepResult]) -> None:
        """There is no search, so there is no result of one."""


class Level(Protocol):
    """A level that a search wants to try."""

    @property
    def concurrency(self) -> int:
        """Virtual users."""

    @property
    def rate(self) -> Rate | None:
        """Events a second; `None` for a closed loop."""


Choose = Callable[[Sequence[StepResult]], Level | None]
"""Returns the next level after the steps so far; provided by the search."""

Conclude = Callable[[Sequence[StepResult]], SearchOutcome]


class Searching:
    """Steps that a search derives from the results of those before."""

    planned: int | None = None

    def __init__(self, workload: str, choose: Choose, conclude: Conclude) -> None:
        self._workload = workload
        self._choose = choose
        self._conclude = conclude

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The step that the search asks for."""
        level = self._choose(done)
        if level is None:
            return None
        return Step(
            number=len(done) + 1,
            workload=self._workload,
            concurrency=level.concurrency,
            rate=level.rate,
            repeat=1 + sum(_is_at(step, level) for step in done),
        )

    def outcome(self, done: Sequence[StepResult]) -> SearchOutcome:
        """The result of the steps so far."""
        return self._conclude(done)


def _is_at(step: StepResult, level: Level) -> bool:
    return (step.concurrency, step.rate) == (level.concurrency, level.rate)


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """The ladder once for each repeat, in reverse order every second time.

    In ABBA order a slow drift of server or machine adds the same to every level.
    """
    levels = [(users, rate) for users in plan.ladder for rate in plan.rates or (None,)]
    order = [
        (repeat, level)
        for repeat in range(1, plan.repeats + 1)
        for level in (levels if repeat % 2 else reversed(levels))
    ]
    return tuple(
        Step(
            number=number,
            workload=plan.workload.name,
            concurrency=users,
            rate=rate,
            repeat=repeat,
        )
        for number, (repeat, (users, rate)) in enumerate(order, start=1)
    )


class OfPlan:
    """Measures the steps of a plan on its targets: a `StepSource`."""

    def __init__(self, plan: Plan, steps: Steps, lab: Lab) -> None:
        self._plan = plan
        self._steps = steps
        self._lab = lab

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The next of the ladder, or of the search."""
        return self._steps.following(done)

    def measure(self, planned: Step) -> Measured:
        """Confirm that the targets are as they were when the run began, and drive the step."""
        for note in self._lab.confirm() if self._lab.confirm else ():
            self._lab.note(note)
        return Measured(drive_step(self._plan, planned, self._lab), self._plan.targets)

    def outcome(self, done: Sequence[StepResult]) -> SearchOutcome | None:
        """The result of the search."""
        return self._steps.outcome(done)
