"""How whole numbers are spread over their range: evenly, by Zipf's law, or with a hot set.

A model is compared with a sample by the greatest distance between the two cumulative distributions
(the Kolmogorov-Smirnov statistic). The engine's distributions have their most frequent numbers at
the low end of the range. Where the hot numbers are scattered, the exponent is estimated from how
often two draws are equal, and their positions are lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_HOT_PERCENTS = (0.1, 0.5, 1, 2, 5, 10, 20, 30)
_EXPONENTS = tuple(step / 20 for step in range(4, 41))
_FEWEST = 50
"""With fewer values no distribution can be distinguished from an even one."""

_KOLMOGOROV = 1.63
"""Critical value at 1 %: the statistic times the root of the sample's size."""

_BETTER = 0.6
"""A law is chosen only if its distance is below this share of the even spread's distance."""

_COLLIDES = 3.0
"""With this many times an even spread's equal pairs, there are scattered hot numbers."""

_FEWEST_PAIRS = 30


@dataclass(frozen=True)
class Spread:
    """How numbers of a range are drawn."""

    kind: str
    """`uniform`, `zipfian` or `hot`."""

    exponent: float = 0.0
    percent: float = 0.0
    hits: float = 0.0
    distance: float = 0.0
    """The distance between the sample's cumulative distribution and this one's, 0 to 1."""

    scattered: bool = False
    """Hot numbers were scattered over the range; the lowest numbers are drawn in their place."""


@dataclass(frozen=True)
class _Sample:
    """The distinct places in the range, counted from 1, and the sample's share up to each."""

    places: Floats
    upto: Floats
    before: Floats
    """The share of the sample below each place."""

    count: int
    equal_pairs: float

    def distance(self, law: Floats, law_before: Floats) -> float:
        """The greatest distance to a law, at each place and just below it: steps have two sides."""
        return float(max(np.abs(self.upto - law).max(), np.abs(self.before - law_before).max()))


def fitted(sample: Sequence[int], low: int, high: int) -> Spread:
    """The simplest law that fits the sample, which lies in `low..=high`."""
    size = high - low + 1
    if len(sample) < _FEWEST or size < 3:
        return Spread("uniform")
    seen = _sample(sample, low)
    law, before = seen.places / size, (seen.places - 1) / size
    even = Spread("uniform", distance=seen.distance(law, before))
    if even.distance <= _KOLMOGOROV / math.sqrt(seen.count):
        return _scattered(seen, size) or even
    best = min([*_zipfs(seen, size), *_hots(seen, size)], key=lambda one: one.distance)
    if best.distance <= _BETTER * even.distance:
        return best
    return _scattered(seen, size) or even


def _sample(sample: Sequence[int], low: int) -> _Sample:
    values, times = np.unique(np.asarray(sample, dtype=np.int64), return_counts=True)
    # In Python, since the range may be wider than a signed 64-bit integer.
    places = np.asarray([int(value) - low + 1 for value in values], dtype=np.float64)
    upto = np.cumsum(times) / len(sample)
    equal = float((times * (times - 1) / 2).sum())
    return _Sample(places, upto, upto - times / len(sample), len(sample), equal)


def _zipfs(seen: _Sample, size: int) -> list[Spread]:
    def one(exponent: float) -> Spread:
        whole = harmonic(size, exponent)
        law, before = (
            _harmonics(ends, exponent) / whole for ends in (seen.places, seen.places - 1)
        )
        return Spread("zipfian", exponent=exponent, distance=seen.distance(law, before))

    return [one(exponent) for exponent in _EXPONENTS]


def _hots(seen: _Sample, size: int) -> list[Spread]:
    def one(percent: float) -> Spread | None:
        hot = max(int(size * percent / 100), 1)
        inside = int(np.searchsorted(seen.places, hot, side="right"))
        share = float(seen.upto[inside - 1]) if inside else 0.0
        # Not a hot set: no value falls on it, all do, or no more than with an even spread.
        if not hot / size < share < 1:
            return None

        def law(places: Floats) -> Floats:
            within = share * places / hot
            behind = share + (1 - share) * (places - hot) / (size - hot)
            return np.where(places <= hot, within, behind)

        distance = seen.distance(law(seen.places), law(seen.places - 1))
        return Spread("hot", percent=percent, hits=round(100 * share, 1), distance=distance)

    return [found for percent in _HOT_PERCENTS if (found := one(percent)) and found.hits < 100]


def _scattered(seen: _Sample, size: int) -> Spread | None:
    """Zipf's law from how often two draws are equal; `None` where that is as in an even spread."""
    share = seen.equal_pairs / (seen.count * (seen.count - 1) / 2)
    if seen.equal_pairs < _FEWEST_PAIRS or share < _COLLIDES / size:
        return None
    nearest = min(_EXPONENTS, key=lambda exponent: abs(_equal(size, exponent) - share))
    return Spread("zipfian", exponent=nearest, scattered=True)


def _equal(size: int, exponent: float) -> float:
    """The probability that two draws of Zipf's law are equal."""
    return harmonic(size, 2 * exponent) / harmonic(size, exponent) ** 2


_EXACT = 64


def harmonic(size: int, exponent: float) -> float:
    """The sum of `k ** -exponent` for k up to `size`."""
    return float(_harmonics(np.asarray([size], dtype=np.float64), exponent)[0])


def _harmonics(sizes: Floats, exponent: float) -> Floats:
    """The sums for several sizes: the first terms exactly, the rest by Euler-Maclaurin."""
    heads = np.concatenate(([0.0], np.cumsum(np.arange(1, _EXACT + 1, dtype=float) ** -exponent)))
    found = heads[np.minimum(sizes, _EXACT).astype(np.int64)]
    ends = np.maximum(sizes, _EXACT)
    first = float(_EXACT)
    if abs(exponent - 1) < 1e-9:
        integral = np.log(ends / first)
    else:
        integral = (ends ** (1 - exponent) - first ** (1 - exponent)) / (1 - exponent)
    rest: Floats = integral + (ends**-exponent - first**-exponent) / 2
    return np.asarray(found + rest, dtype=np.float64)
