"""Explanations of the marks that the tables use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import Level, has_steal, middle_step, quotable, steal
from loadstone.model.figure import Percent
from loadstone.model.message import Message, counted, say
from loadstone.model.result import StepResult


def marked(step: StepResult) -> str:
    """The marks of a step's rate."""
    return _marks(
        is_left_out=not quotable(step),
        is_client_bound=bool(step.generator.client_bound),
        stolen=has_steal(step),
    )


def marked_level(level: Level) -> str:
    """The marks of a level's rate, which is a mean of its repeats."""
    return _marks(
        is_left_out=level.tps is None,
        is_client_bound=bool(middle_step(level.steps).generator.client_bound),
        stolen=level.has_steal,
    )


def _marks(*, is_left_out: bool, is_client_bound: bool, stolen: bool) -> str:
    found = ("*", is_left_out), ("!", is_client_bound), ("†", stolen)
    return "".join(mark for mark, applies in found if applies)


def marks(steps: Sequence[StepResult]) -> Iterator[Message]:
    """A line a mark."""
    if any(not quotable(step) for step in steps):
        yield say(
            "* counts in no mean: it did not finish, never settled, lost users, or was held back"
        )
    if stolen := [steal(step) for step in steps if has_steal(step)]:
        yield counted(
            "† steal: the hypervisor gave up to {most} of the cores to others in 1 step; its rate "
            "may be too low by as much",
            "† steal: the hypervisor gave {least} to {most} of the cores to others in {number} "
            "steps; their rates may be too low by as much",
            len(stolen),
            least=Percent(min(stolen)),
            most=Percent(max(stolen)),
        )
    if any(step.generator.client_bound for step in steps):
        yield say("! client-bound: the generator was, or may have been, the limit")
    if any(step.repeat > 1 for step in steps):
        yield say(
            "TPS is the mean of the repeats with Student's t interval; all other figures are of "
            "the middle repeat"
        )
