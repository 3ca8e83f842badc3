"""A mean over repeats with the interval that it lies in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean, and half the width of its confidence interval (`None` with a single value)."""

    mean: float
    half_width: float | None
    repeats: int

    @property
    def relative(self) -> float | None:
        """Half the width as a share of the mean."""
        if self.half_width is None or self.mean == 0:
            return None
        return self.half_width / self.mean


def mean_of(values: Sequence[float], confidence: float = CONFIDENCE) -> Mean:
    """The mean with Student's t interval: repeats are few and their spread is not known.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("a mean of nothing")
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Mean(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    # The quantile of Student's t; scipy.stats would take a second to import.
    from scipy.special import stdtrit

    factor = float(stdtrit(count - 1, (1 + confidence) / 2))
    return Mean(mean, factor * math.sqrt(variance / count), count)
