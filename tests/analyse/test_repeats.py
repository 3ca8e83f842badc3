"""Means over repeats, compared with published tables."""

from __future__ import annotations

import pytest

from loadstone.analyse.intervals import t_mean
from loadstone.analyse.repeats import mean_of


def test_the_interval_is_students() -> None:
    # t(0.975, 3) = 3.182, of any table; the sample's standard deviation is 1.2910.
    found = mean_of([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.half_width == pytest.approx(3.182 * 1.2910 / 2, rel=1e-3)


def test_one_value_has_no_interval() -> None:
    assert mean_of([7.0]).half_width is None
    assert mean_of([7.0]).relative is None


def test_equal_values_have_an_interval_of_nothing() -> None:
    assert mean_of([5.0, 5.0]).half_width == 0.0


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="a mean of nothing"):
        mean_of([])


def test_an_interval_of_a_rate_does_not_reach_zero() -> None:
    assert mean_of([250.0, 350.0]).of_a_rate is None
    assert mean_of([299.0, 301.0]).of_a_rate == mean_of([299.0, 301.0]).half_width
    assert t_mean([250.0, 350.0]).of_a_rate is None
    assert t_mean([0.0, 0.0]).of_a_rate is None
