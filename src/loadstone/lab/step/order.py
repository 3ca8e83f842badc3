"""The steps of a plain run: all known before, or each as a search asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from loadstone.lab.step.loop import Measured
from loadstone.lab.step.runner import Lab, drive_step
from loadstone.model.plan import Plan, Rate, Step
from loadstone.model.result import StepResult
from loadstone.model.search import SearchOutcome


class Steps(Protocol):
    """Which step comes next, and what came of them all together."""

    planned: int | None
    """How many there are; `None` where that follows from what they show."""

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The step after these; `None` when there is none."""

    def outcome(self, done: Sequence[StepResult]) -> SearchOutcome | None:
        """What was looked for and found; `None` where nothing was looked for."""


class InOrder:
    """Steps that are all known before."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self.planned: int | None = len(steps)

    def following(self, done: Sequence[StepResult]) -> Step | None:
        """The next of them."""
        return self._steps[len(done)] if len(done) < len(self._steps) else None

    def outcome(self, done: Sequence[StepResult]) -> None:
        """Nothing was looked for."""


class Level(Protocol):
    """What a search wants to be tried."""

    @property
    def concurrency(self) -> int:
        """Virtual users."""

    @property
    def rate(self) -> Rate | None:
        """Events a second; `None` for a closed loop."""


Choose = Callable[[Sequence[StepResult]], Level | None]
"""The next level after the steps so far; handed in by whoever knows how to search."""

Conclude = Callable[[Sequence[StepResult]], SearchOutcome]


class Searching:
    """Each step follows from what those before it showed."""

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
        """What the steps so far show."""
        return self._conclude(done)


def _is_at(step: StepResult, level: Level) -> bool:
    return (step.concurrency, step.rate) == (level.concurrency, level.rate)


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """The ladder once for each repeat, every second time backwards.

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
        """Look once more at what was found when the run began, and drive the step."""
        for note in self._lab.confirm() if self._lab.confirm else ():
            self._lab.note(note)
        return Measured(drive_step(self._plan, planned, self._lab), self._plan.targets)

    def outcome(self, done: Sequence[StepResult]) -> SearchOutcome | None:
        """What a search found."""
        return self._steps.outcome(done)
