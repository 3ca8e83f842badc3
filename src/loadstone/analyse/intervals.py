"""Confidence intervals of means, with the name of their method.

There is one value per unit (a step, a block of steps), never one per second: the seconds of a step
are not independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """An interval in the unit of the values, at a confidence such as 0.95."""

    low: float
    high: float
    confidence: float
    method: str
    """The method, such as `t`; it is quoted with the figure."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its interval, which is `None` if there are too few values."""

    value: float
    interval: Interval | None
    count: int

    @property
    def of_a_rate(self) -> Interval | None:
        """The interval where it is above zero; else it says nothing of a rate."""
        return self.interval if self.interval and self.interval.low > 0 else None


def student_factor(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Half the width of Student's interval, in standard errors."""
    # Importing scipy.stats takes a second.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))


def spread(values: Sequence[float]) -> float:
    """The sample standard deviation of at least two values."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def t_mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The mean with Student's interval, as there are few units of unknown spread.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("a mean of nothing")
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, 1)
    half = student_factor(count - 1, confidence) * spread(values) / math.sqrt(count)
    return Estimate(mean, Interval(mean - half, mean + half, confidence, "t"), count)
