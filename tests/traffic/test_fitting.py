"""The distribution by which numbers were drawn is recovered."""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate
from random import Random

import pytest

from loadstone.traffic.fit_distribution import fitted, harmonic

SIZE = 10_000


def zipf(exponent: float, count: int, seed: int) -> list[int]:
    random = Random(seed)
    upto = list(accumulate(number**-exponent for number in range(1, SIZE + 1)))
    return [bisect(upto, random.random() * upto[-1]) + 1 for _ in range(count)]


@pytest.mark.parametrize("seed", range(10))
def test_even_numbers_are_taken_for_even(seed: int) -> None:
    random = Random(seed)
    sample = [random.randint(101, 100 + SIZE) for _ in range(2_000)]
    assert fitted(sample, 101, 100 + SIZE).kind == "uniform"


@pytest.mark.parametrize("exponent", [0.6, 0.9, 1.2])
def test_zipfs_law_is_found_with_its_exponent(exponent: float) -> None:
    found = fitted(zipf(exponent, 2_000, 1), 1, SIZE)
    assert found.kind == "zipfian" and abs(found.exponent - exponent) <= 0.1
    assert not found.scattered


@pytest.mark.parametrize(("percent", "hits"), [(1, 80), (10, 90), (20, 80)])
def test_a_hot_set_is_found_with_its_share(percent: int, hits: int) -> None:
    random = Random(2)
    hot = SIZE * percent // 100
    sample = [
        random.randint(1, hot) if random.random() < hits / 100 else random.randint(hot + 1, SIZE)
        for _ in range(2_000)
    ]
    found = fitted(sample, 1, SIZE)
    assert (found.kind, found.percent) == ("hot", percent)
    assert abs(found.hits - hits) < 4


def test_hot_numbers_anywhere_are_told_from_even_ones() -> None:
    places = list(range(1, SIZE + 1))
    Random(3).shuffle(places)
    sample = [places[number - 1] for number in zipf(0.9, 2_000, 3)]
    found = fitted(sample, 1, SIZE)
    assert found.kind == "zipfian" and found.scattered
    assert abs(found.exponent - 0.9) <= 0.15


def test_few_values_and_short_ranges_are_even() -> None:
    assert fitted([1] * 10 + [900], 1, 1_000).kind == "uniform"
    assert fitted([1, 2] * 100, 1, 2).kind == "uniform"


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.3])
def test_the_sum_of_powers_is_near_the_exact_one(exponent: float) -> None:
    exact = sum(number**-exponent for number in range(1, 5_001))
    assert abs(harmonic(5_000, exponent) / exact - 1) < 1e-4
