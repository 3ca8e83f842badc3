"""Finds where a series has settled: the truncation point of MSER-5.

The rule (K. P. White Jr., "An effective truncation heuristic for bias reduction in simulation
output", Simulation 69, 1997; batches of five: S. C. Spratt, "Heuristics for the startup problem",
1998) cuts off as many leading observations as minimize the standard error of the rest:

    MSER(d) = sum over i > d of (x_i - mean of x_(d+1..n))^2 / (n - d)^2

Only the first half of the series is searched: cutting more would leave too little evidence. As the
rule always cuts somewhere, the rest is checked: if the means of its two halves differ, or if it
rises or falls, by more than chance explains, the series never settled, and is marked rather than
averaged.

Two more things may move the window. If the series has cycles (checkpoints), the window covers whole
cycles. And if the reads into the buffer pool are known, it starts when those are flat as well: a
throughput can look level while the pool is still being filled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from loadstone.analyse.cycles import line, period, without_slope

BATCH = 5
"""Observations per batch; the rule works on the means of batches."""

FEWEST_BATCHES = 8
"""With fewer batches, the rule is applied to the observations themselves."""

FEWEST_OBSERVATIONS = 8
"""With fewer observations, the series is not evaluated."""

SAME_SHARE = 0.05
"""Halves whose means differ by at most this share count as equal, whatever the noise; a series that
rises or falls by at most this share from end to end counts as level."""

SAME_ERRORS = 3.0
"""Differences of at most this many standard errors count as none, too."""

FEWEST_FOR_ERRORS = 4
"""With fewer batches, the standard error is meaningless: only the share counts."""

MOST_LEFT_OUT = 2 / 3
"""The largest share to leave out, to reach whole cycles: a little more than the rule's half."""

READS_THAT_MATTER = 0.1
"""Reads are judged relative to at least this share of their highest second: a window need not wait
for the last few hundredths of a fall from thousands a second to none."""


@dataclass(frozen=True)
class Truncation:
    """How many leading observations to leave out; `settled` is `None` if not evaluated."""

    leave_out: int
    settled: bool | None
    rule: str
    cycle: int | None = None
    """The length of a cycle in observations, if there are any; the window is a multiple of it."""
    reason: str | None = None
    """Why the series never settled."""


def truncation(series: Sequence[float], reads: Sequence[float] | None = None) -> Truncation:
    """Apply the rule to one observation a second.

    `reads` are the pages read into the buffer pool in the same seconds, if known. A series that
    never settled keeps its second half, which gives the least wrong figures.

    Raises:
        ValueError: `reads` and `series` differ in length.
    """
    if reads is not None and len(reads) != len(series):
        raise ValueError(f"{len(reads)} seconds of reads for {len(series)} of the series")
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
    # The last seconds, which do not fill a batch, are not judged but stay in the window.
    reason = _unsettled(_batches(series[cut:], size))
    if reason:
        return Truncation(len(series) // 2, False, rule, cycle, reason)
    return Truncation(cut, True, rule, cycle)


def _batches(series: Sequence[float], size: int) -> list[float]:
    return [sum(series[at : at + size]) / size for at in range(0, len(series) - size + 1, size)]


def _lowest_error(batches: Sequence[float]) -> int:
    """The number of batches to leave out, found in one pass backwards from the end."""
    best, lowest = 0, float("inf")
    count, total, squares = 0, 0.0, 0.0
    # Relative to the series' mean, so that squares of large rates do not cancel.
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
    """The start of a window that covers whole cycles: a little later, else a little earlier.

    Later is safer, since no warm-up comes back in, unless too little would remain.
    """
    later = cut + (length - cut) % cycle
    if later <= MOST_LEFT_OUT * length or later < cycle:
        return later
    return later - cycle


def _unsettled(batches: Sequence[float]) -> str | None:
    """Why the rest after the cut is not level; `None` if it is."""
    if not _level(batches):
        return "the first and the second half of the window differ"
    return None if _flat(batches, 0.0) else "it rises or falls along the window"


def _level(batches: Sequence[float]) -> bool:
    """Whether the means of the two halves do not differ significantly."""
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
    """Whether it neither rises nor falls significantly from end to end.

    The slope's standard error allows for correlated neighbours: the effective number of independent
    batches follows from the correlation at lag one.
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
    across = (len(left) ** 2 - 1) / 12  # the mean square of 0..n-1 around their middle
    error = math.sqrt(squares / len(left) / across / worth)
    return change <= SAME_ERRORS * error * (len(batches) - 1)
