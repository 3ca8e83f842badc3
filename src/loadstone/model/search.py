"""Searches (`--slo`, `--concurrency auto`): what they look for, and what they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PositiveFloat

from loadstone.model.frozen import Frozen

if TYPE_CHECKING:
    from loadstone.model.result import StepResult

Figure = Literal["min", "mean", "p50", "p90", "p95", "p99", "p999", "max"]
Relation = Literal["<", "<="]

MOST_STEPS = 40
"""A search ends after this many steps, even if it is not complete."""


def _said(text: str) -> Any:
    return Field(description=text)


class Objective(Frozen):
    """A limit for the response times of good events."""

    figure: Figure = _said("figure of the response times")
    relation: Relation = _said("relation that must hold between the figure and the limit")
    limit_ms: PositiveFloat = _said("the limit in milliseconds")

    def is_met(self, value_ms: float | None) -> bool:
        """Whether the figure is within the limit; a missing figure is not."""
        if value_ms is None:
            return False
        return value_ms < self.limit_ms or (self.relation == "<=" and value_ms == self.limit_ms)

    def __str__(self) -> str:
        """The objective as on the command line."""
        return f"{self.figure}{self.relation}{self.limit_ms:g}ms"


class SearchPlan(Frozen):
    """What a run searches for; each next step depends on the results so far."""

    objective: Objective | None = None
    """Search for the highest rate that holds this objective, in an open loop."""
    peak: bool = False
    """First search for the smallest concurrency that reaches the peak, in a closed loop."""
    most_users: int = 1024


class Level(Frozen):
    """A level that was tried repeatedly, and how often it was good."""

    value: float = _said("users, or events a second")
    good: int = _said("steps in which it reached the peak, or held the objective")
    steps: int = _said("steps at this level")
    confidence: float = _said(
        "how certain the majority's verdict is, 0 to 1: the posterior with a uniform prior"
    )


class SearchOutcome(Frozen):
    """The result of a search; a level is null if none was found, or nothing beyond it was tried."""

    objective: Objective | None = _said("the objective that had to hold")
    concurrency: Level | None = _said("the smallest concurrency that reaches the peak")
    peak_tps: float | None = _said("the peak's events a second, mean of its steps")
    rate: Level | None = _said("the highest rate that held the objective")
    beyond: Level | None = _said("the lowest rate that did not hold it")
    closed_tps: float | None = _said("events a second of as many users in a closed loop")
    complete: bool = _said("whether the search was completed")

    @property
    def value(self) -> float | None:
        """The result in events a second: the rate that held the objective, else the peak's rate."""
        if self.objective is None:
            return self.peak_tps
        return self.rate.value if self.rate else None


class VariantSearch(Frozen):
    """One search of an experiment, which has one for each variant, workload and repeat."""

    variant: str = _said("combination of levels; `default` without factors")
    workload: str = _said("name of the workload")
    repeat: int = _said("repeat, from 1; its steps have the same variant, workload and repeat")
    found: SearchOutcome = _said("the result of the search")

    def steps_of(self, steps: Sequence[StepResult]) -> list[StepResult]:
        """The steps of this search among those of a run."""
        mine = self.variant, self.workload, self.repeat
        return [step for step in steps if (step.variant, step.workload, step.repeat) == mine]


Found = SearchOutcome | tuple[VariantSearch, ...] | None
"""A run's search result, or those of an experiment; `None` if there was no search.
"""
