"""How well a step's own seconds know its rate.

The seconds of a step depend on each other: a slow one is often followed by another. Their mean is
therefore known less well than the mean of as many independent values. Its variance is estimated
from the autocovariances, up to where the sum of an adjacent pair is no longer positive: the initial
positive sequence of C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7, 1992.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST_SECONDS = 8
"""With fewer, the dependence cannot be seen."""

MOST_LAGS = 1000
"""Lags that are looked at, in seconds: a run of a day has 86,400 of them."""

CONFIDENCE = 0.95


def half_width(rates: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of the mean of consecutive seconds, in their unit.

    It says nothing about how the rate differs from run to run. `None`: there are too few seconds.
    """
    import numpy as np
    from scipy.special import stdtrit

    count = len(rates)
    if count < FEWEST_SECONDS:
        return None
    apart = np.asarray(rates, dtype=np.float64)
    apart = apart - apart.mean()

    def covariance(lag: int) -> float:
        return float(apart[: count - lag] @ apart[lag:]) / count

    own = covariance(0)
    if own == 0:
        return 0.0
    total = -own
    for lag in range(0, min(count // 2, MOST_LAGS) - 1, 2):
        pair = covariance(lag) + covariance(lag + 1)
        if pair <= 0:
            break
        total += 2 * pair
    # Anticorrelated seconds would make the interval too narrow to be believed.
    variance = max(total, own) / count
    independent = own / variance
    factor = float(stdtrit(max(independent - 1, 1.0), (1 + CONFIDENCE) / 2))
    return factor * math.sqrt(variance * count / (count - 1))
