"""Finds cycles in a series, such as those of throughput between checkpoints, and their length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

SHORTEST_S = 3
"""The shortest cycle. Shorter ones are noise between neighbours, and do not affect a window."""

FEWEST_CYCLES = 3
"""The fewest whole cycles. With fewer, anything that rises and falls once would look like one."""

LIKENESS = 0.5
"""The autocorrelation from which a lag counts as a period."""

SHARE_OF_BEST = 0.85
"""The shortest lag with this share of the best autocorrelation is the period: multiples of a
period correlate as well as the period itself."""

SMALLEST_SWING = 0.05
"""Swings below this share of the mean, from the highest to the lowest part of a cycle, do not
affect the mean of a window that covers only part of a cycle."""


def period(series: Sequence[float]) -> int | None:
    """The length of a cycle in observations; `None` where there are no cycles.

    It is the lag with the highest autocorrelation, after the linear trend is removed.
    """
    longest = len(series) // FEWEST_CYCLES
    mean = fmean(series) if series else 0.0
    if longest < SHORTEST_S + 1 or mean <= 0:
        return None
    level = without_slope(series)
    likeness = _likeness(level, longest + 2)
    peaks = [
        lag
        for lag in range(SHORTEST_S, longest + 1)
        if likeness[lag - 1] <= likeness[lag] >= likeness[lag + 1]
    ]
    wanted = max(LIKENESS, 3 / math.sqrt(len(series)))
    best = max((likeness[lag] for lag in peaks), default=0.0)
    if best < wanted:
        return None
    found = next(lag for lag in peaks if likeness[lag] >= SHARE_OF_BEST * best)
    return found if _swing(level, found) >= SMALLEST_SWING * mean else None


def without_slope(series: Sequence[float]) -> list[float]:
    """The series without its least-squares line."""
    middle, mean, rise = line(series)
    return [value - mean - rise * (at - middle) for at, value in enumerate(series)]


def line(series: Sequence[float]) -> tuple[float, float, float]:
    """The least-squares line: its middle, its height there, and its rise per observation."""
    middle, mean = (len(series) - 1) / 2, fmean(series)
    across = math.fsum((at - middle) ** 2 for at in range(len(series)))
    along = math.fsum((at - middle) * (value - mean) for at, value in enumerate(series))
    return middle, mean, along / across if across else 0.0


def _likeness(level: Sequence[float], lags: int) -> list[float]:
    """The autocorrelation at lags from 0 on, over the overlapping parts, of a series around zero.

    It uses Fourier transforms, as steps of many hours have tens of thousands of observations.
    """
    import numpy as np

    values = np.asarray(level, dtype=np.float64)
    count = len(values)
    if not values.any():
        return [0.0] * lags
    power = np.abs(np.fft.rfft(values, 2 * count)) ** 2
    together = np.fft.irfft(power, 2 * count)[:lags]
    likeness: list[float] = (together / together[0] * count / (count - np.arange(lags))).tolist()
    return likeness


def _swing(level: Sequence[float], cycle: int) -> float:
    """The range of the mean cycle: each of its moments is a mean over all cycles."""
    moments = [fmean(level[at::cycle]) for at in range(cycle)]
    return max(moments) - min(moments)
