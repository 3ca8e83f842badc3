"""Where a series has settled: the truncation point of MSER-5.

The rule (K. P. White Jr., "An effective truncation heuristic for bias reduction in simulation
output", Simulation 69, 1997; batches of five: S. C. Spratt, "Heuristics for the startup problem",
1998) cuts off as many leading observations as make the standard error of what is left smallest:

    MSER(d) = sum over i > d of (x_i - mean of x_(d+1..n))^2 / (n - d)^2

Only the first half of the series is searched: cutting more would leave too little to believe.
As the rule always cuts somewhere, what it leaves is looked at again: where the means of the two
halves of it differ, or it rises or falls along, by more than chance explains, the series never
settled, and is marked rather than averaged.

Two things more may move the window. Where the series swings in cycles (checkpoints), the window
covers whole ones. And where the reads into the buffer pool are known, it begins when those are flat
as well: a throughput can look level while the pool is still being filled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from loadstone.analyse.cycles import line, period, without_slope

BATCH = 5
"""Observations that are averaged before the rule looks at them."""

FEWEST_BATCHES = 8
"""With fewer batches the rule is applied to the observations themselves."""

FEWEST_OBSERVATIONS = 8
"""With fewer observations there is no answer."""

SAME_SHARE = 0.05
"""Halves whose means differ by no more than this share are the same, whatever the noise; so is
what rises or falls by no more than this share from one end to the other."""

SAME_ERRORS = 3.0
"""So is what differs by no more than so many standard errors of the difference."""

FEWEST_FOR_ERRORS = 4
"""With fewer batches the standard error says nothing: they are judged by the share alone."""

MOST_LEFT_OUT = 2 / 3
"""Whole cycles may take a little more than the half that the rule itself may leave out."""

READS_THAT_MATTER = 0.1
"""Reads are judged against at least this share of their highest second: the last few hundredths of
a fall from thousands a second to none are nothing that a window must wait for."""


@dataclass(frozen=True)
class Truncation:
    """How many leading observations to leave out; `settled` is `None` when not evaluated."""

    leave_out: int
    settled: bool | None
    rule: str
    cycle: int | None = None
    """Observations that a cycle takes, where the series swings; the window is a multiple of it."""
    reason: str | None = None
    """Why it never settled."""


def truncation(series: Sequence[float], reads: Sequence[float] | None = None) -> Truncation:
    """Apply the rule to one observation a second.

    `reads` are the pages read into the buffer pool in the same seconds, where they are known. A
    series that never settled keeps its second half: the least wrong figures there are.

    Raises:
        ValueError: the reads are not of the same seconds.
    """
    if reads is not None and len(reads) != len(series):
        raise ValueError(f"{len(reads)} seconds of reads beside {len(series)} of the series")
    if len(series) < FEWEST_OBSERVATIONS:
        return Truncation(0, None, "too short for MSER-5")
    size = BATCH if len(series) >= BATCH * FEWEST_BATCHES else 1
    rule = f"MSER-{size}"
    cut = size * _lowest_error(_batches(series, size))
    if reads is not None:
        cut = max(cut, size * _lowest_error(_batches(reads, size)))
        if not _flat(_batches(reads[cut:], size), READS_THAT_MATTER * max(reads)):
            said = "reads into the buffer pool go on changing"
            return Truncation(len(series) // 2, False, rule, None, said)
    cycle = period(series[cut:])
    if cycle is not None:
        cut, size = _whole_cycles(len(series), cut, cycle), cycle
    # The last seconds that fill no batch are not judged, and stay in the window.
    reason = _unsettled(_batches(series[cut:], size))
    if reason:
        return Truncation(len(series) // 2, False, rule, cycle, reason)
    return Truncation(cut, True, rule, cycle)


def _batches(series: Sequence[float], size: int) -> list[float]:
    return [sum(series[at : at + size]) / size for at in range(0, len(series) - size + 1, size)]


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


def _whole_cycles(length: int, cut: int, cycle: int) -> int:
    """The begin of the window so that it covers whole cycles: a little later, else a little before.

    Later is surer, since nothing of the warm-up comes back in; but not where too little would stay.
    """
    later = cut + (length - cut) % cycle
    if later <= MOST_LEFT_OUT * length or later < cycle:
        return later
    return later - cycle


def _unsettled(batches: Sequence[float]) -> str | None:
    """Why what is left after the cut is not level."""
    if not _level(batches):
        return "the first and the second half of the window differ"
    return None if _flat(batches, 0.0) else "it rises or falls along the window"


def _level(batches: Sequence[float]) -> bool:
    """Whether the two halves have the same mean, as far as can be told."""
    middle = len(batches) // 2
    first, second = batches[:middle], batches[middle:]
    difference = abs(fmean(first) - fmean(second))
    if difference <= SAME_SHARE * abs(fmean(batches)):
        return True
    if len(batches) < FEWEST_FOR_ERRORS:
        return False
    error = math.sqrt(variance(first) / len(first) + variance(second) / len(second))
    return difference <= SAME_ERRORS * error


def _flat(batches: Sequence[float], floor: float) -> bool:
    """Whether it neither rises nor falls from end to end, as far as can be told.

    The slope's standard error takes neighbours that go together into account: so many batches are
    worth fewer that know nothing of each other, by their correlation at a lag of one.
    """
    _, mean, rise = line(batches)
    change = abs(rise) * (len(batches) - 1)
    if change <= SAME_SHARE * max(abs(mean), floor):
        return True
    if len(batches) < FEWEST_FOR_ERRORS:
        return False
    left = without_slope(batches)
    squares = math.fsum(value * value for value in left)
    if squares == 0:
        return False
    together = math.fsum(one * next_one for one, next_one in zip(left, left[1:], strict=False))
    likeness = min(max(together / squares, 0.0), 0.9)
    worth = max(len(left) * (1 - likeness) / (1 + likeness) - 2, 1.0)
    across = (len(left) ** 2 - 1) / 12  # the mean square of 0..n-1 around its middle
    error = math.sqrt(squares / len(left) / across / worth)
    return change <= SAME_ERRORS * error * (len(batches) - 1)
