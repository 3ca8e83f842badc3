"""The searches of an experiment: the next level of each, and their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analyse import search
from loadstone.analyse.search import answer_steps, limiting_steps
from loadstone.experiments.order import Searching, part_of, planned_parts
from loadstone.experiments.schedule import PlannedStep
from loadstone.model.experiment import Experiment
from loadstone.model.result import StepResult
from loadstone.model.search import MOST_STEPS, SearchOutcome, SearchPlan, VariantSearch


def searching(experiment: Experiment) -> Searching | None:
    """The rule for the searches' next steps; `None` if the experiment has no searches."""
    plan = experiment.search
    if plan is None:
        return None
    return Searching(
        lambda part, done: search.following(plan, part.concurrency, done, shift_of(part.repeat)),
        lambda done: tuple(each.told for each in searched(experiment, done)),
    )


def shift_of(repeat: int) -> float:
    """The shift of the rates in a repeat's searches, the same for all variants.

    The shifts of any number of repeats are spread evenly from 0 to 1 (J. G. van der Corput,
    "Verteilungsfunktionen", 1935, in base 2: the repeat's number less one, its bits mirrored).
    """
    shift, weight, rest = 0.0, 0.5, repeat - 1
    while rest:
        shift, weight, rest = shift + weight * (rest & 1), weight / 2, rest >> 1
    return shift


@dataclass(frozen=True)
class Searched:
    """One search of an experiment."""

    planned: PlannedStep
    steps: tuple[StepResult, ...]
    """The steps that finished."""
    found: SearchOutcome

    @property
    def is_over(self) -> bool:
        """Whether the search has all its steps."""
        return self.found.complete or len(self.steps) >= MOST_STEPS

    @property
    def answer(self) -> tuple[StepResult, ...]:
        """The steps at the level that it found."""
        return answer_steps(self.found, self.steps)

    @property
    def limiting(self) -> tuple[StepResult, ...]:
        """The steps that show that higher rates do not hold the objective."""
        return limiting_steps(self.found, self.steps)

    @property
    def told(self) -> VariantSearch:
        """The search as an entry of result.json."""
        step = self.planned.step
        return VariantSearch(
            variant=step.variant, workload=step.workload, repeat=step.repeat, found=self.found
        )


def searched(experiment: Experiment, steps: Sequence[StepResult]) -> list[Searched]:
    """All searches that were started, in the order in which they run."""
    plan = experiment.search
    if plan is None:
        return []
    by_part = defaultdict(list)
    for step in steps:
        if step.state == "finished":
            by_part[part_of(experiment, step)].append(step)
    return [
        Searched(planned, tuple(by_part[part]), _outcome(plan, planned, by_part[part]))
        for part, planned in planned_parts(experiment, by_part).items()
    ]


def _outcome(plan: SearchPlan, planned: PlannedStep, steps: Sequence[StepResult]) -> SearchOutcome:
    first = planned.step
    return search.outcome(plan, first.concurrency, steps, shift_of(first.repeat))
