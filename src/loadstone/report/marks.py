"""Explanations of the marks that the tables use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import (
    LOST_SHARE,
    Level,
    has_steal,
    levels,
    lost_share,
    quotable,
    steal,
)
from loadstone.model.figure import Percent
from loadstone.model.message import Joined, Message, counted, say
from loadstone.model.plan import WATCHED
from loadstone.model.result import StepResult

NO_INTERVAL = say("- in place of an interval: too few repeats for how much they differ")
"""Of means whose repeats are too few for how much they differ."""


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
        is_client_bound=any(step.generator.client_bound for step in level.steps),
        stolen=level.has_steal,
    )


def _marks(*, is_left_out: bool, is_client_bound: bool, stolen: bool) -> str:
    found = ("*", is_left_out), ("!", is_client_bound), ("†", stolen)
    return "".join(mark for mark, applies in found if applies)


def _unquoted(step: StepResult) -> Iterator[Message]:
    """Why a step's rate may not be quoted."""
    if quotable(step):
        return
    if step.state != "finished":
        yield say("did not finish")
    if step.steady is False:
        yield say("never settled")
    if lost_share(step) > LOST_SHARE:
        yield say("lost users")
    if step.held:
        yield say("was held back")


def marks(steps: Sequence[StepResult]) -> Iterator[Message]:
    """A line a mark, and how tables treat repeats."""
    yield from doubts(steps)
    if any(step.latency.response.at_least for step in steps):
        yield say(
            "≥ at least: events that were due and had not ended when the window did count with the "
            "time that they had taken so far"
        )
    if any(step.repeat > 1 for step in steps):
        yield say(
            "TPS and QPS are means of the repeats, with Student's t interval of the TPS; all other "
            "figures are of the middle repeat (of an even number, the slower of the two)"
        )
    means = [level.tps for level in levels(steps) if level.tps and level.tps.repeats > 1]
    if any(mean.of_a_rate is None for mean in means):
        yield NO_INTERVAL


def doubts(steps: Sequence[StepResult]) -> Iterator[Message]:
    """What makes rates doubtful, a line a mark."""
    # A watch has no rate of ours, and its table no mark.
    if found := {
        why: None for step in steps if step.workload != WATCHED for why in _unquoted(step)
    }:
        yield say("* counts in no mean: it {reasons}", reasons=Joined(found, "choices"))
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
