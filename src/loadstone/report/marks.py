"""Explanations of the marks that the tables use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import quotable
from loadstone.model.message import Message, say
from loadstone.model.result import StepResult


def marks(steps: Sequence[StepResult]) -> Iterator[Message]:
    """A line a mark."""
    if any(not quotable(step) for step in steps):
        yield say(
            "* counts in no mean: it did not finish, never settled, lost users, or was held back"
        )
    if any(step.generator.client_bound for step in steps):
        yield say("! client-bound: the generator was, or may have been, the limit")
    if any(step.repeat > 1 for step in steps):
        yield say(
            "TPS is the mean of the repeats with Student's t interval; all other figures are of "
            "the middle repeat"
        )
