"""Judges whether a server keeps up with the rate of an open loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analyse.ladder import Level
from loadstone.model.result import StepResult

BEHIND_SHARE = 0.01
"""A server keeps up if at most this share of the due events waits or was not done."""

CHANCE_DEVIATIONS = 3.0
"""Standard deviations by which the events in flight may differ by chance between the two ends of a
window."""


def keeps_up(step: StepResult) -> bool:
    """Whether as many events ended as were due, except for a hundredth and for chance.

    If no event waited for a user, those that had not ended are in flight, at most one for each
    user: a server that falls behind occupies all users first.

    Events that were due before the window make up for those that end after it. Unless a queue
    grows there are equally many of both, except for the variation of the number in flight, which is
    Poisson distributed around rate times response time (Little's law).
    """
    if step.state != "finished" or not step.due or not step.seconds:
        return False
    under_way = (step.tps or 0.0) * (step.latency.response.mean or 0.0) / 1000
    allowed = max(BEHIND_SHARE * step.due, CHANCE_DEVIATIONS * math.sqrt(under_way), 1.0)
    behind = step.due - step.events - step.failed
    in_flight = 0 if step.waiting else step.concurrency
    return (
        step.skipped == 0 and step.waiting <= allowed and behind <= max(allowed, float(in_flight))
    )


@dataclass(frozen=True)
class Held:
    """The highest rate of a ladder that the server kept up with, and the lowest that it lost."""

    kept: Level | None
    lost: Level | None


def held(ladder: Sequence[Level]) -> Held | None:
    """The highest rate that the server kept up with; `None` in a closed loop.

    A rate is kept if the server kept up in each of its repeats. Rates above the lowest lost one are
    ignored: if one of them seems kept, that is luck. A repeat that was cut short shows neither.
    """
    if not all(level.rate for level in ladder):
        return None
    kept: Level | None = None
    for level in ladder:
        steps = uncut(level.steps)
        if not all(map(keeps_up, steps)):
            return Held(kept, level)
        kept = level if steps else kept
    return Held(kept, None)


def uncut(steps: Sequence[StepResult]) -> list[StepResult]:
    """The steps that nobody stopped and no crash interrupted."""
    return [step for step in steps if step.state not in ("stopped", "interrupted")]
