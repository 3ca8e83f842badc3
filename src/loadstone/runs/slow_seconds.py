"""Finds the seconds of a step that chance does not explain: those with far too few events.

Whether a second is slow is asked of the others: would one more second like them be as slow? Seconds
are removed from the slowest on, and those up to the last one that the rest cannot explain are slow:
the generalised extreme Studentized deviate test (B. Rosner, "Percentage points for a generalized
ESD many-outlier procedure", Technometrics 25(2), 1983), which finds slow seconds that hide each
other. Neighbouring seconds depend on each other, so that their spread is known less well than from
as many independent ones: `rate_interval` estimates by how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadstone.runs.rate_interval import FEWEST_SECONDS, dependence

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

BY_CHANCE = 0.01
"""One steady step in so many has a second that is taken for a slow one."""


def slow_seconds(rates: Sequence[float]) -> tuple[int, ...]:
    """The places of the slow ones among consecutive seconds, fewer than half of them."""
    import numpy as np

    if len(rates) < FEWEST_SECONDS:
        return ()
    all_rates = np.asarray(rates, dtype=np.float64)
    order = np.argsort(all_rates, kind="stable")
    candidates = _slowest(all_rates[order], 1.0)
    if candidates:
        candidates = _slowest(all_rates[order], _dependence(all_rates, order[candidates:]))
    return tuple(sorted(int(place) for place in order[:candidates]))


def _dependence(rates: Array, others: npt.NDArray[np.intp]) -> float:
    """That of the seconds that are not slow; a slow one between them says nothing of it."""
    import numpy as np

    apart = np.zeros(len(rates))
    apart[others] = rates[others] - rates[others].mean()
    return dependence(apart) if apart.any() else 1.0


def _slowest(ascending: Array, dependence: float) -> int:
    """How many of the slowest the faster ones cannot explain."""
    import numpy as np
    from scipy.special import stdtrit

    count = len(ascending)
    # Each candidate, and how many seconds are faster than it.
    candidates = np.arange((count - 1) // 2)
    rest = (count - 1 - candidates).astype(np.float64)
    # Sums from the fastest on, of differences from their median: those of squares stay exact.
    apart = ascending - np.median(ascending)
    sums = np.cumsum(apart[::-1])[::-1][1:][: len(candidates)]
    squares = np.cumsum(apart[::-1] ** 2)[::-1][1:][: len(candidates)]
    mean = sums / rest
    independent = np.maximum(rest / dependence, 2.0)
    # A mean of few independent seconds follows them, which makes their spread look smaller.
    spread = np.maximum(squares / rest - mean**2, 0.0) * independent / (independent - 1.0)
    below = mean - apart[: len(candidates)]
    limit = -stdtrit(independent - 1.0, BY_CHANCE / (rest + 1.0))
    is_slow = below > limit * np.sqrt(spread * (1.0 + 1.0 / independent))
    is_slow &= below > 1e-9 * max(float(np.abs(ascending).max()), math.ulp(0.0))
    found = np.flatnonzero(is_slow)
    return int(found[-1]) + 1 if len(found) else 0
