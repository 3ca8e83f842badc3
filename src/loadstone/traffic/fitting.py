"""How whole numbers are spread over their range: evenly, by Zipf's law, or with a hot set.

A model is held against a sample by the greatest distance between the two cumulative distributions
(Kolmogorov and Smirnov's statistic). The engine's laws have their most frequent numbers at the low
end of the range; where the hot numbers lie anywhere, how often two draws are equal tells the
exponent, and the places are not kept.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_HOT_PERCENTS = (0.1, 0.5, 1, 2, 5, 10, 20, 30)
_EXPONENTS = tuple(step / 20 for step in range(4, 41))
_FEWEST = 50
"""Values below which no distribution is told from an even one."""

_KOLMOGOROV = 1.63
"""Of the statistic times the root of the sample's size: an even sample is above it once in 100."""

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


def fitted(sample: Sequence[int], low: int, high: int) -> Spread:
    """The simplest law that comes near the sample, which lies in `low..=high`."""
    size = high - low + 1
    if len(sample) < _FEWEST or size < 3:
        return Spread("uniform")
    places = sorted(value - low + 1 for value in sample)
    even = Spread("uniform", distance=_distance(places, lambda place: place / size))
    if even.distance <= _KOLMOGOROV / math.sqrt(len(places)):
        return _scattered(places, size) or even
    best = min([*_zipfs(places, size), *_hots(places, size)], key=lambda one: one.distance)
    if best.distance <= _BETTER * even.distance:
        return best
    return _scattered(places, size) or even


def _distance(places: Sequence[int], share: Callable[[int], float]) -> float:
    """The greatest between the sample's steps and a law, on either side of a step."""
    count = len(places)
    worst = 0.0
    for place, times in Counter(places).items():
        upto = bisect_right(places, place)
        worst = max(
            worst,
            abs(upto / count - share(place)),
            abs((upto - times) / count - (share(place - 1) if place > 1 else 0.0)),
        )
    return worst


def _zipfs(places: Sequence[int], size: int) -> list[Spread]:
    def one(exponent: float) -> Spread:
        whole = harmonic(size, exponent)
        distance = _distance(places, lambda place: harmonic(place, exponent) / whole)
        return Spread("zipfian", exponent=exponent, distance=distance)

    return [one(exponent) for exponent in _EXPONENTS]


def _hots(places: Sequence[int], size: int) -> list[Spread]:
    def one(percent: float) -> Spread | None:
        hot = max(int(size * percent / 100), 1)
        share = bisect_right(places, hot) / len(places)
        # What is no hot set: nothing falls on it, all does, or no more than evenly.
        if not hot / size < share < 1 or not 0 < 100 * hot / size < 100:
            return None

        def law(place: int) -> float:
            if place <= hot:
                return share * place / hot
            return share + (1 - share) * (place - hot) / (size - hot)

        return Spread(
            "hot", percent=percent, hits=round(100 * share, 1), distance=_distance(places, law)
        )

    return [found for percent in _HOT_PERCENTS if (found := one(percent)) and found.hits < 100]


def _scattered(places: Sequence[int], size: int) -> Spread | None:
    """Zipf's law by how often two draws are equal; `None` where that is no more than evenly."""
    pairs = len(places) * (len(places) - 1) / 2
    equal = sum(times * (times - 1) / 2 for times in Counter(places).values())
    if equal < _FEWEST_PAIRS or equal / pairs < _COLLIDES / size:
        return None
    nearest = min(_EXPONENTS, key=lambda exponent: abs(_equal(size, exponent) - equal / pairs))
    return Spread("zipfian", exponent=nearest, scattered=True)


def _equal(size: int, exponent: float) -> float:
    """How likely two draws of Zipf's law are the same number."""
    whole: float = harmonic(size, exponent)
    return harmonic(size, 2 * exponent) / (whole * whole)


_EXACT = 64


def harmonic(size: int, exponent: float) -> float:
    """The sum of `k ** -exponent` for k up to `size`: its head, then Euler and Maclaurin."""
    head = sum(k**-exponent for k in range(1, min(size, _EXACT) + 1))
    if size <= _EXACT:
        return head
    first, last = float(_EXACT), float(size)
    if abs(exponent - 1) < 1e-9:
        integral = math.log(last / first)
    else:
        integral = (last ** (1 - exponent) - first ** (1 - exponent)) / (1 - exponent)
    return head + integral + (last**-exponent - first**-exponent) / 2
