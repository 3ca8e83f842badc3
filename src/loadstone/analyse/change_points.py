"""Where a series of runs changed its level: E-divisive means with t tests, as Apache Otava does.

A change point is where the energy statistic of D. S. Matteson and N. A. James ("A Nonparametric
Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109, 2014) between what
lies before and after it is greatest. Student's t test decides whether it is real, in place of their
permutations, and it looks at windows in place of the whole series. The first pass uses a generous
level, so that it also finds a change that another one hides. The second pass removes those that do
not reach the strict level between their neighbours, the weakest first: M. Fleming, P. Kołaczkowski
et al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE 2023. Otava
grew from that program. The defaults (0.001, windows of 50) are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

LEVEL = 0.001
"""The accepted chance of a false change at each place of a series that is level."""

WINDOW = 50
"""Values per window: in a longer one, a short-lived change would drown."""

GENEROUS = 10.0
"""The first pass accepts p-values up to this many times the level."""

FEWEST = 4
"""The fewest values in which a change can be found."""


@dataclass(frozen=True)
class ChangePoint:
    """The first value of a new level."""

    at: int
    """Index in the series, from 0."""
    before: float
    """Mean from the previous change point, or from the start, up to this one."""
    after: float
    """Mean from this change point to the next one, or to the end."""
    p_value: float
    """Student's p-value of no change between the two; not corrected for searching the place."""

    @property
    def relative(self) -> float:
        """The change as a share: `after / before - 1`."""
        return self.after / self.before - 1 if self.before else math.inf


def change_points(
    values: Sequence[float], level: float = LEVEL, window: int = WINDOW
) -> tuple[ChangePoint, ...]:
    """All change points in order; none where there are fewer values than `FEWEST`."""
    if len(values) < FEWEST:
        return ()
    places = _in_windows(values, min(GENEROUS * level, 0.5), window)
    return _without_weak(values, places, level)


def _in_windows(values: Sequence[float], level: float, window: int) -> list[int]:
    """Candidates: windows overlap by half, and start again at the last place that was found."""
    places: set[int] = set()
    start = 0
    while start < len(values):
        end = min(start + window, len(values))
        found = [start + place for place in _divide(values[start:end], level)]
        places.update(found)
        if end == len(values):
            break
        start = max([start + window // 2, *found[-1:]])
    return sorted(places)


def _divide(values: Sequence[float], level: float) -> list[int]:
    """Split where the two sides differ most, then split each side, as long as the sides differ."""
    if len(values) < FEWEST:
        return []
    place = best_split(values)
    if _p_value(values[:place], values[place:]) > level:
        return []
    right = _divide(values[place:], level)
    return [*_divide(values[:place], level), place, *(place + other for other in right)]


def best_split(values: Sequence[float]) -> int:
    """The length of the first part for which Matteson and James' statistic Q is greatest.

    Q = 2 / (n + m) * sum |x - y| - 2 m / ((n + m) (n - 1)) * W(x) - 2 n / ((n + m) (m - 1)) * W(y)
    with n values x before, m values y after, and W the sum of |a - b| over all pairs within a
    side. It is their nm / (n + m) times the energy distance with exponent 1.
    """
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    apart = np.abs(data[:, None] - data[None, :])
    corner = apart.cumsum(axis=0).cumsum(axis=1)
    total = float(corner[-1, -1])
    n = np.arange(1, len(data))
    m = len(data) - n
    within_x = corner[n - 1, n - 1] / 2
    before_all = corner[n - 1, -1]  # from the first n to all
    across = before_all - 2 * within_x
    within_y = total / 2 - within_x - across
    mean_x = _mean_within(within_x, n)
    mean_y = _mean_within(within_y, m)
    weight = n * m / len(data)
    q = weight * (2 * across / (n * m) - mean_x - mean_y)
    return int(np.argmax(q)) + 1


def _mean_within(sums: Array, counts: npt.NDArray[np.int64]) -> Array:
    """The mean over all pairs of a side; zero for a side of one value, which has no pair."""
    import numpy as np

    pairs = counts * (counts - 1) / 2
    found: Array = np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 0)
    return found


def _without_weak(
    values: Sequence[float], places: Sequence[int], level: float
) -> tuple[ChangePoint, ...]:
    """Remove the weakest change until each is significant between its remaining neighbours."""
    left = list(places)
    while True:
        found = _with_levels(values, left)
        weakest = max(found, key=lambda point: point.p_value, default=None)
        if weakest is None or weakest.p_value <= level:
            return tuple(found)
        left.remove(weakest.at)


def _with_levels(values: Sequence[float], places: Sequence[int]) -> list[ChangePoint]:
    ends = [0, *places, len(values)]
    parts = [values[begin:end] for begin, end in pairwise(ends)]
    return [
        ChangePoint(place, fmean(before), fmean(after), _p_value(before, after))
        for place, (before, after) in zip(places, pairwise(parts), strict=True)
    ]


def _p_value(before: Sequence[float], after: Sequence[float]) -> float:
    """Student's t test with one variance for both, so that a side may be a single value."""
    from scipy.special import stdtr

    degrees = len(before) + len(after) - 2
    if degrees < 1:
        return 1.0
    means = fmean(before), fmean(after)
    squares = math.fsum(
        (value - mean) ** 2
        for mean, side in zip(means, (before, after), strict=True)
        for value in side
    )
    error = math.sqrt(squares / degrees * (1 / len(before) + 1 / len(after)))
    difference = means[1] - means[0]
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(difference) / error))
