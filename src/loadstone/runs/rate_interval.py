"""How well a step's own seconds know its rate.

The seconds of a step depend on each other: a slow one is often followed by another. Their mean is
therefore known less well than the mean of as many independent values. Its variance is estimated
from the autocovariances, up to where the sum of an adjacent pair is no longer positive: the initial
positive sequence of C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7, 1992.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

FEWEST_SECONDS = 8
"""With fewer, the dependence cannot be seen."""

MOST_LAGS = 1000
"""Lags that are looked at, in seconds: a run of a day has 86,400 of them."""

CONFIDENCE = 0.95


def half_width(rates: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of the mean of consecutive seconds, in their unit.

    It says nothing about how the rate differs from run to run. `None`: there are too few seconds,
    or they differ so much that the interval would reach zero.
    """
    import numpy as np
    from scipy.special import stdtrit

    count = len(rates)
    if count < FEWEST_SECONDS:
        return None
    apart = np.asarray(rates, dtype=np.float64)
    mean = float(apart.mean())
    apart = apart - mean
    own = float(apart @ apart) / count
    if own == 0:
        return 0.0
    independent = count / dependence(apart)
    factor = float(stdtrit(max(independent - 1, 1.0), (1 + CONFIDENCE) / 2))
    half = factor * math.sqrt(own / independent * count / (count - 1))
    return half if half < mean else None


def dependence(apart: Array) -> float:
    """How many dependent seconds tell as much of the mean as one independent one; at least 1.

    `apart`: the seconds' differences from their mean, which are not all zero.
    """
    count = len(apart)

    def covariance(lag: int) -> float:
        return float(apart[: count - lag] @ apart[lag:]) / count

    own = covariance(0)
    total = -own
    for lag in range(0, min(count // 2, MOST_LAGS) - 1, 2):
        pair = covariance(lag) + covariance(lag + 1)
        if pair <= 0:
            break
        total += 2 * pair
    # Anticorrelated seconds would make an interval too narrow to be believed.
    return max(total, own) / own
