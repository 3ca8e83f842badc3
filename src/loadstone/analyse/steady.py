"""Where a series has settled: the truncation point of MSER-5.

The rule (K. P. White Jr., "An effective truncation heuristic for bias reduction in simulation
output", Simulation 69, 1997; batches of five: S. C. Spratt, "Heuristics for the startup problem",
1998) cuts off as many leading observations as make the standard error of what is left smallest:

    MSER(d) = sum over i > d of (x_i - mean of x_(d+1..n))^2 / (n - d)^2

Only the first half of the series is searched: cutting more would leave too little to believe.
As the rule always cuts somewhere, what it leaves is looked at again: where the means of the two
halves of it differ by more than chance explains, the series never settled, and is marked rather
than averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

BATCH = 5
"""Observations that are averaged before the rule looks at them."""

FEWEST_BATCHES = 8
"""With fewer batches the rule is applied to the observations themselves."""

FEWEST_OBSERVATIONS = 8
"""With fewer observations there is no answer."""

SAME_SHARE = 0.05
"""Halves whose means differ by no more than this share are the same, whatever the noise."""

SAME_ERRORS = 3.0
"""So are halves that differ by no more than so many standard errors of the difference."""


@dataclass(frozen=True)
class Truncation:
    """How many leading observations to leave out; `settled` is `None` when not evaluated."""

    leave_out: int
    settled: bool | None
    rule: str


def truncation(series: Sequence[float]) -> Truncation:
    """Apply the rule to one observation a second.

    A series that never settled keeps its second half: the least wrong figures there are.
    """
    if len(series) < FEWEST_OBSERVATIONS:
        return Truncation(0, None, "too short for MSER-5")
    size = BATCH if len(series) >= BATCH * FEWEST_BATCHES else 1
    batches = [sum(series[at : at + size]) / size for at in range(0, len(series) - size + 1, size)]
    cut = _lowest_error(batches)
    rule = f"MSER-{size}"
    if not _level(batches[cut:]):
        return Truncation(len(series) // 2, False, rule)
    # The last seconds that fill no batch are not judged, and stay in the window.
    return Truncation(cut * size, True, rule)


def _lowest_error(batches: Sequence[float]) -> int:
    """The number of batches to leave out, found from the end backwards in one pass."""
    best, lowest = 0, float("inf")
    count, total, squares = 0, 0.0, 0.0
    # Counted from the series' mean, so that squares of large rates do not cancel.
    centre = sum(batches) / len(batches)
    for at in range(len(batches) - 1, -1, -1):
        value = batches[at] - centre
        count, total, squares = count + 1, total + value, squares + value * value
        if at * 2 > len(batches):
            continue
        error = max(squares - total * total / count, 0.0) / (count * count)
        # The longer window wins a tie: nothing is left out without a reason.
        if error <= lowest:
            best, lowest = at, error
    return best


def _level(batches: Sequence[float]) -> bool:
    """Whether the two halves have the same mean, as far as can be told."""
    middle = len(batches) // 2
    first, second = batches[:middle], batches[middle:]
    difference = abs(fmean(first) - fmean(second))
    if difference <= SAME_SHARE * abs(fmean(batches)):
        return True
    error = math.sqrt(variance(first) / len(first) + variance(second) / len(second))
    return difference <= SAME_ERRORS * error
