"""Where a mean or a median lies: intervals that name the method that made them.

Values are one figure a unit (a step, a block of steps), never one a second: seconds of one step are
not independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95

RESAMPLES = 9999
"""Enough that the interval's ends do not move with the seed by more than its own blur."""

FEWEST_RESAMPLED = 5
"""Of fewer values resampling makes intervals that are much too narrow: there is none."""

Statistic = Literal["mean", "median"]


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, in the values' unit, at a confidence such as 0.95."""

    low: float
    high: float
    confidence: float
    method: str
    """`t`, `bootstrap BCa`, `bootstrap percentile`, and so on: quoted with the figure."""


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


def bootstrap(
    values: Sequence[float],
    statistic: Statistic = "mean",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Estimate:
    """The mean or median with an interval from resampling; the same seed gives the same interval.

    The mean's is BCa, bias-corrected and accelerated (B. Efron, "Better Bootstrap Confidence
    Intervals", JASA 82, 1987). The median's is the plain percentile interval: the jackknife that
    BCa takes its acceleration from fails for medians (Efron and Tibshirani, "An Introduction to
    the Bootstrap", 1993, section 11.6).

    Raises:
        ValueError: there is no value.
    """
    import numpy as np

    if not values:
        raise ValueError(f"a {statistic} of nothing")
    sample = np.asarray(values, dtype=np.float64)
    estimate = float(np.mean(sample) if statistic == "mean" else np.median(sample))
    if len(sample) < FEWEST_RESAMPLED:
        return Estimate(estimate, None, len(sample))
    chance = np.random.default_rng(seed)
    drawn = sample[chance.integers(0, len(sample), size=(RESAMPLES, len(sample)))]
    if statistic == "median":
        interval = _percentile(np.median(drawn, axis=1), confidence)
    else:
        interval = _bca(sample, np.mean(drawn, axis=1), confidence)
    return Estimate(estimate, interval, len(sample))


def _percentile(replicates: Array, confidence: float) -> Interval:
    import numpy as np

    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), confidence, "bootstrap percentile")


def _bca(sample: Array, replicates: Array, confidence: float) -> Interval:
    import numpy as np
    from scipy.special import ndtr, ndtri

    method = "bootstrap BCa"
    mean = float(np.mean(sample))
    if np.ptp(sample) == 0:
        return Interval(mean, mean, confidence, method)
    # Replicates that equal the estimate count half to each side.
    below = float(np.mean(replicates < mean) + np.mean(replicates == mean) / 2)
    bias = float(ndtri(below))
    without_one = (sample.sum() - sample) / (len(sample) - 1)
    apart = without_one.mean() - without_one
    acceleration = float((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))
    ends = bias + ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2]))
    shares = ndtr(bias + ends / (1 - acceleration * ends))
    low, high = np.quantile(replicates, shares)
    return Interval(float(low), float(high), confidence, method)
