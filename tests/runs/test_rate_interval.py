"""The interval of a step's rate from its own seconds."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.runs.rate_interval import FEWEST_SECONDS, half_width


def correlated(chance: np.random.Generator, count: int, likeness: float) -> list[float]:
    """Seconds around 1000 with a spread of 10, each like the one before."""
    values = [chance.normal(0, 10)]
    for _ in range(count - 1):
        values.append(likeness * values[-1] + chance.normal(0, 10 * (1 - likeness**2) ** 0.5))
    return [1000 + value for value in values]


@pytest.mark.parametrize("likeness", [0.0, 0.5, 0.8])
def test_the_true_rate_lies_within_it_about_as_often_as_it_says(likeness: float) -> None:
    chance = np.random.default_rng(1)
    within = 0
    for _ in range(400):
        series = correlated(chance, 120, likeness)
        half = half_width(series)
        assert half is not None
        within += abs(float(np.mean(series)) - 1000) <= half
    assert within >= 0.85 * 400


def test_seconds_that_depend_on_each_other_know_less() -> None:
    chance = np.random.default_rng(2)
    alone, together = (half_width(correlated(chance, 600, each)) for each in (0.0, 0.8))
    assert alone is not None and together is not None
    # Independent: 1.96 * 10 / sqrt(600); at a likeness of 0.8 three times as wide.
    assert alone == pytest.approx(0.80, rel=0.25)
    assert together == pytest.approx(3 * 0.80, rel=0.4)


def test_few_seconds_have_none_and_equal_ones_are_certain() -> None:
    assert half_width([100.0] * (FEWEST_SECONDS - 1)) is None
    assert half_width([100.0] * 30) == 0.0


def test_an_interval_that_would_reach_zero_is_none() -> None:
    # A burst at the start, as of a log that is sent as fast as answers come.
    assert half_width([5000.0] * 2 + [30.0] * 16) is None
