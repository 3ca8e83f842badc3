"""Whether a server keeps up with a rate that is asked of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analyse.ladder import Level
from loadstone.model.result import StepResult

BEHIND_SHARE = 0.01
"""Keeping up: no more than this share of the events due waits, or was not done."""

CHANCE_DEVIATIONS = 3.0
"""How far the number of events under way may swing by chance between a window's two ends."""


def keeps_up(step: StepResult) -> bool:
    """Whether as many events ended as were due, but for a hundredth and for chance.

    Events that were due before the window stand for those that end after it, and where no queue
    grows there are as many of them, but for the swing of the number under way: Poisson's, around
    rate times response time (Little's law).
    """
    if step.state != "finished" or not step.due or not step.seconds:
        return False
    under_way = (step.tps or 0.0) * (step.latency.response.mean or 0.0) / 1000
    allowed = max(BEHIND_SHARE * step.due, CHANCE_DEVIATIONS * math.sqrt(under_way), 1.0)
    behind = step.due - step.events - step.failed
    return step.skipped == 0 and step.waiting <= allowed and behind <= allowed


@dataclass(frozen=True)
class Held:
    """The highest rate of a ladder that the server kept up with, and the lowest that it did not."""

    kept: Level | None
    lost: Level | None


def held(ladder: Sequence[Level]) -> Held | None:
    """What a ladder of rates shows; `None` in a closed loop.

    A rate is kept when each of its repeats was. Rates above the lowest that was lost are not
    looked at: one of them that seems kept is luck.
    """
    if not all(level.rate for level in ladder):
        return None
    kept: Level | None = None
    for level in ladder:
        if not all(keeps_up(step) for step in level.steps):
            return Held(kept, level)
        kept = level
    return Held(kept, None)
