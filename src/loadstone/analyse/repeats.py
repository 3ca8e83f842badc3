"""Means over repeats with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analyse.intervals import CONFIDENCE, t_mean


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its confidence interval, which is `None` for a single value."""

    mean: float
    half_width: float | None
    """From the repeats; of a single one from its own seconds, which is narrower as it does not
    know how repeats differ. `None`: too little was seen."""
    repeats: int

    @property
    def of_a_rate(self) -> float | None:
        """Half the width where the interval is above zero; else it says nothing of a rate.

        No rate is negative: an interval that reaches zero comes of too few values, not of the rate.
        """
        half = self.half_width
        return None if half is None or half >= self.mean else half

    @property
    def relative(self) -> float | None:
        """Half the width as a share of the mean."""
        if self.half_width is None or self.mean == 0:
            return None
        return self.half_width / self.mean


def mean_of(values: Sequence[float], confidence: float = CONFIDENCE) -> Mean:
    """The mean with Student's t interval, as there are few repeats of unknown spread.

    Raises:
        ValueError: there is no value.
    """
    found = t_mean(values, confidence)
    interval = found.interval
    half_width = (interval.high - interval.low) / 2 if interval else None
    return Mean(found.value, half_width, found.count)
