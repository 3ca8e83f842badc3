"""What a fault costs: the rates with and without it, in the order A B B A. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analyse.effects import Pair, paired

COUNTS = 0.1
"""The least part of the rate that removing a fault brings back, for the fault to count."""

ROUND = (False, True, True, False)
"""Whether the fault is there: what drifts meets both sides alike."""

ROUNDS_MOST = 3

Rate = tuple[bool, float]
"""Whether the fault was there, and events a second."""


@dataclass(frozen=True)
class Cost:
    """The share of the rate that is lost with the fault: 1 - rate with it / rate without it."""

    loss: float
    low: float | None
    """Of the 95 % interval; `None`: one round, which gives no spread."""
    high: float | None
    without: float
    """The rate without the fault: its geometric mean."""

    @property
    def counts(self) -> bool:
        """Whether removing the fault brings back enough, and certainly something."""
        return self.loss >= COUNTS and self.low is not None and self.low > 0


def cost_of(rates: Sequence[Rate]) -> Cost:
    """Of whole rounds; each run is paired with the one next to it.

    Raises:
        ValueError: a rate is zero, or there is no whole round.
    """
    effect = paired(pairs_of(rates))
    interval = effect.interval
    without = [rate for there, rate in rates if not there]
    mean = 1.0
    for rate in without:
        mean *= rate ** (1 / len(without))
    return Cost(
        loss=-effect.relative,
        low=-interval.high if interval else None,
        high=-interval.low if interval else None,
        without=mean,
    )


def pairs_of(rates: Sequence[Rate]) -> list[Pair]:
    """A is without the fault."""
    found = []
    for (first_there, first), (_, second) in zip(rates[::2], rates[1::2], strict=True):
        a, b = (second, first) if first_there else (first, second)
        found.append(Pair(a, b, a_first=not first_there))
    return found


def needs_another_round(rates: Sequence[Rate]) -> bool:
    """After whole rounds: one that shows less than half of what counts is enough."""
    rounds = len(rates) // len(ROUND)
    cost = cost_of(rates)
    if rounds >= ROUNDS_MOST or cost.loss < COUNTS / 2:
        return False
    return rounds < 2 or (cost.loss >= COUNTS and not cost.counts)
