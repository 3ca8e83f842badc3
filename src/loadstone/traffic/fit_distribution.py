"""How whole numbers are spread over their range: evenly, by Zipf's law, or with a hot set.

A model is held against a sample by the greatest distance between the two cumulative distributions
(Kolmogorov and Smirnov's statistic). The engine's laws have their most frequent numbers at the low
end of the range; where the hot numbers lie anywhere, how often two draws are equal tells the
exponent, and the places are not kept.
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
"""Values below which no distribution can be distinguished from an even one."""

_KOLMOGOROV = 1.63
"""The statistic by the root of the sample's size: an even sample is above it once in 100."""

_BETTER = 0.6
"""A law must come so much nearer than an even spread, or the simpler one is taken."""

_COLLIDES = 3.0
"""So many times as many equal pairs as an even spread has, and hot numbers lie anywhere."""

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
    """Between the sample's cumulative distribution and this one's; 0 to 1."""

    scattered: bool = False
    """Hot numbers lay anywhere in the range; drawn are the lowest."""


@dataclass(frozen=True)
class _Sample:
    """Places in the range, from 1 on: each once, and the share of the sample up to there."""

    places: Floats
    upto: Floats
    before: Floats
    """Up to the place before it."""

    count: int
    equal_pairs: float

    def distance(self, law: Floats, law_before: Floats) -> float:
        """The greatest to a law, at the places and right before them: steps have two sides."""
        return float(max(np.abs(self.upto - law).max(), np.abs(self.before - law_before).max()))


def fitted(sample: Sequence[int], low: int, high: int) -> Spread:
    """The simplest law that comes near the sample, which lies in `low..=high`."""
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
    # In Python: the range may be wider than 63 bits have signed numbers.
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
        # What is no hot set: nothing falls on it, all does, or no more than evenly.
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
    """Zipf's law by how often two draws are equal; `None` where that is no more than evenly."""
    share = seen.equal_pairs / (seen.count * (seen.count - 1) / 2)
    if seen.equal_pairs < _FEWEST_PAIRS or share < _COLLIDES / size:
        return None
    nearest = min(_EXPONENTS, key=lambda exponent: abs(_equal(size, exponent) - share))
    return Spread("zipfian", exponent=nearest, scattered=True)


def _equal(size: int, exponent: float) -> float:
    """How likely two draws of Zipf's law are the same number."""
    return harmonic(size, 2 * exponent) / harmonic(size, exponent) ** 2


_EXACT = 64


def harmonic(size: int, exponent: float) -> float:
    """The sum of `k ** -exponent` for k up to `size`."""
    return float(_harmonics(np.asarray([size], dtype=np.float64), exponent)[0])


def _harmonics(sizes: Floats, exponent: float) -> Floats:
    """The same for several: exact at their heads, then by Euler and Maclaurin."""
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
