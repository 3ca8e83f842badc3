"""Intervals of means and medians: compared with scipy's, and how often they contain the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from loadstone.analyse.intervals import t_mean

# Nine rates of one level, skewed as rates of a server with stalls are.
RATES = [1012.0, 978.0, 1005.0, 1021.0, 900.0, 1009.0, 940.0, 1015.0, 1002.0]


def test_the_t_interval_is_scipys() -> None:
    found = t_mean(RATES).interval
    known = stats.t.interval(0.95, len(RATES) - 1, np.mean(RATES), stats.sem(RATES))
    assert found is not None
    assert (found.low, found.high) == pytest.approx(known)
    assert found.method == "t"


def test_one_value_has_no_interval() -> None:
    assert t_mean(RATES[:1]).interval is None


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="a mean of nothing"):
        t_mean([])


def test_the_t_interval_holds_the_truth_as_often_as_it_says() -> None:
    chance = np.random.default_rng(20)
    held = 0
    for _ in range(1000):
        found = t_mean(list(chance.normal(1000, 30, size=5))).interval
        assert found is not None
        held += found.low <= 1000 <= found.high
    # 950 with a standard deviation of 6.9.
    assert 930 <= held <= 970
