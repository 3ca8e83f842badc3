"""Thinned series: no spike is lost, gaps stay gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loadstone.report.figures.thinning import thin


def known(column: list[float | None]) -> list[float]:
    return [value for value in column if value is not None]


def test_few_points_are_all_there() -> None:
    times = np.arange(1.0, 6.0)
    found = thin(times, {"v": np.array([1.0, np.nan, 3.0, 4.0, 5.0])}, most=10)
    assert found.columns == {"s": [1, 2, 3, 4, 5], "v": [1, None, 3, 4, 5]}
    assert (found.seconds, found.by_column) == (5, 1)


def test_a_single_stall_in_a_day_is_still_there() -> None:
    values = np.full(86_400, 1000.0)
    values[54_321] = 0.0
    found = thin(np.arange(86_400.0), {"v": values}, most=600)
    assert len(found.columns["v"]) <= 1200
    assert found.columns["v"].count(0.0) == 1
    at = found.columns["s"][found.columns["v"].index(0.0)]
    assert at is not None
    assert abs(at - 54_321) <= found.by_column


def test_the_order_of_a_rise_and_a_fall_is_kept() -> None:
    up, down = np.arange(100.0), np.arange(100.0)[::-1]
    found = thin(np.arange(100.0), {"up": up, "down": down}, most=10)
    assert known(found.columns["up"]) == sorted(known(found.columns["up"]))
    assert known(found.columns["down"]) == sorted(known(found.columns["down"]), reverse=True)


def test_a_stretch_without_values_is_a_gap() -> None:
    values = np.ones(100)
    values[40:60] = np.nan
    found = thin(np.arange(100.0), {"v": values}, most=10)
    assert found.columns["v"][8:12] == [None] * 4
    assert None not in found.columns["v"][:8] + found.columns["v"][12:]


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1e6)), min_size=1, max_size=300),
    st.integers(1, 40),
)
def test_extremes_are_kept_and_nothing_is_made_up(values: list[float | None], most: int) -> None:
    column = np.array([np.nan if value is None else value for value in values])
    found = thin(np.arange(float(len(values))), {"v": column}, most)
    rounded = {float(f"{value:.4g}") for value in values if value is not None}
    assert set(known(found.columns["v"])) <= rounded
    assert len(found.columns["s"]) == len(found.columns["v"]) <= max(2 * most, 1)
    if rounded:
        assert max(known(found.columns["v"])) == max(rounded)
        assert min(known(found.columns["v"])) == min(rounded)
