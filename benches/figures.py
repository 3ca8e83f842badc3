"""Arithmetic of figures: medians with their spread, and the steady cost from two runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A median with the least and the greatest value."""

    median: float
    least: float
    greatest: float


@dataclass(frozen=True)
class Spent:
    """What a whole process used and did, from start to end."""

    cpu_s: float
    queries: int


def spread(values: Sequence[float]) -> Spread:
    """The median of some values, with their range."""
    return Spread(statistics.median(values), min(values), max(values))


def median_within(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """The interval that has the median with this confidence, whatever the distribution.

    Its ends are two of the values, as many from either end; `None` if there are too few for it.
    """
    ordered, missed = sorted(values), 1 - level
    found = None
    for rank in range(len(ordered) // 2):
        tail = sum(math.comb(len(ordered), below) for below in range(rank + 1))
        if 2 * tail / 2 ** len(ordered) > missed:
            break
        found = ordered[rank], ordered[-1 - rank]
    return found


def steady_cost_us(short: Spent, long: Spent) -> float:
    """CPU microseconds per query, without the cost of start and end, which both runs have once.

    Raises:
        ValueError: the long run did not do more than the short one, so there is nothing to divide
            by.
    """
    queries = long.queries - short.queries
    if queries <= 0:
        raise ValueError(f"the long run did {long.queries} queries, the short one {short.queries}")
    return (long.cpu_s - short.cpu_s) / queries * 1e6


def slope(points: Sequence[tuple[float, float]]) -> float:
    """How much y grows with x, from the first point to the last."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    return (y1 - y0) / (x1 - x0)


def mirrored(contestants: Sequence[str], pairs: int) -> list[tuple[str, ...]]:
    """The order in each pair, A B then B A: a drift of the machine affects all alike."""
    forth = tuple(contestants)
    return [forth if pair % 2 == 0 else forth[::-1] for pair in range(pairs)]
