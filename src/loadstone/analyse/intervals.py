"""Where a mean lies: intervals that name the method that made them.

Values are one figure a unit (a step, a block of steps), never one a second: seconds of one step are
not independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, in the values' unit, at a confidence such as 0.95."""

    low: float
    high: float
    confidence: float
    method: str
    """`t`, and so on: quoted with the figure."""


@dataclass(frozen=True)
class Estimate:
    """A figure, and the interval that it lies in: `None` where the values are too few for one."""

    value: float
    interval: Interval | None
    count: int


def student_factor(degrees: float, confidence: float = CONFIDENCE) -> float:
    """By how many standard errors Student's interval reaches to each side."""
    # scipy.stats would take a second to import.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))


def spread(values: Sequence[float]) -> float:
    """The sample's standard deviation; of at least two values."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def t_mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The mean with Student's interval: units are few and their spread is not known.

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
