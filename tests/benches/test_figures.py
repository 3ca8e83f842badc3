import pytest

from benches.figures import Spent, Spread, mirrored, slope, spread, steady_cost_us


def test_what_both_runs_spend_once_is_not_in_the_steady_cost() -> None:
    start_up_s, cost_us = 0.6, 7.5
    short, long = (
        Spent(start_up_s + queries * cost_us / 1e6, queries) for queries in (50_000, 150_000)
    )
    assert steady_cost_us(short, long) == pytest.approx(cost_us)


def test_a_long_run_that_did_no_more_has_no_steady_cost() -> None:
    with pytest.raises(ValueError, match="the long run did 5 queries, the short one 5"):
        steady_cost_us(Spent(1.0, 5), Spent(2.0, 5))


def test_a_spread_is_the_median_with_both_ends() -> None:
    assert spread([9.0, 1.0, 2.0]) == Spread(2.0, 1.0, 9.0)
    assert spread([4.0]) == Spread(4.0, 4.0, 4.0)


def test_a_slope_leaves_out_what_is_there_anyway() -> None:
    assert slope([(100, 60_000), (1000, 60_900), (4000, 63_900)]) == pytest.approx(1.0)


def test_pairs_are_mirrored() -> None:
    assert mirrored(["a", "b"], 3) == [("a", "b"), ("b", "a"), ("a", "b")]
