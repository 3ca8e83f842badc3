"""Intervals of means and medians: against scipy's, and by how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from loadstone.analyse.intervals import bootstrap, t_mean

# Nine rates of one level, skewed as rates of a server with stalls are.
RATES = [1012.0, 978.0, 1005.0, 1021.0, 900.0, 1009.0, 940.0, 1015.0, 1002.0]


def test_the_t_interval_is_scipys() -> None:
    found = t_mean(RATES).interval
    known = stats.t.interval(0.95, len(RATES) - 1, np.mean(RATES), stats.sem(RATES))
    assert found is not None
    assert (found.low, found.high) == pytest.approx(known)
    assert found.method == "t"


def test_the_means_bootstrap_is_scipys_bca() -> None:
    found = bootstrap(RATES).interval
    known = stats.bootstrap(
        (RATES,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found is not None and found.method == "bootstrap BCa"
    # Resampling has a noise of its own: a tenth of the interval's width.
    assert (found.low, found.high) == pytest.approx(known, abs=0.1 * (known.high - known.low))
    assert np.mean(RATES) - found.low > found.high - np.mean(RATES), "skewed as the values are"


def test_the_medians_bootstrap_is_scipys_percentile() -> None:
    found = bootstrap(RATES, "median")
    known = stats.bootstrap(
        (RATES,), np.median, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.value == 1005.0
    assert found.interval is not None and found.interval.method == "bootstrap percentile"
    assert (found.interval.low, found.interval.high) == pytest.approx(known, abs=5)


def test_a_seed_gives_the_same_interval_and_another_one_another() -> None:
    assert bootstrap(RATES, seed=3) == bootstrap(RATES, seed=3)
    assert bootstrap(RATES, seed=3) != bootstrap(RATES, seed=4)


def test_few_values_have_no_resampled_interval() -> None:
    assert bootstrap(RATES[:4]).interval is None
    assert t_mean(RATES[:1]).interval is None


def test_equal_values_have_an_interval_of_nothing() -> None:
    found = bootstrap([5.0] * 6).interval
    assert found is not None
    assert (found.low, found.high) == (5.0, 5.0)


def test_nothing_has_neither_mean_nor_median() -> None:
    with pytest.raises(ValueError, match="a mean of nothing"):
        t_mean([])
    with pytest.raises(ValueError, match="a median of nothing"):
        bootstrap([], "median")


def test_the_t_interval_holds_the_truth_as_often_as_it_says() -> None:
    chance = np.random.default_rng(20)
    held = 0
    for _ in range(1000):
        found = t_mean(list(chance.normal(1000, 30, size=5))).interval
        assert found is not None
        held += found.low <= 1000 <= found.high
    # 950 with a standard deviation of 6.9.
    assert 930 <= held <= 970


def test_the_bootstrap_holds_the_truth_nearly_as_often() -> None:
    chance = np.random.default_rng(21)
    truth = float(np.exp(0.05**2 / 2))
    held = 0
    for trial in range(150):
        found = bootstrap(list(np.exp(chance.normal(0, 0.05, size=12))), seed=trial).interval
        assert found is not None
        held += found.low <= truth <= found.high
    assert held >= 130, "of 150; BCa of 12 values is known to fall a little short of 95 %"
