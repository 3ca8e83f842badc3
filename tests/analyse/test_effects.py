"""Effects compared with scipy and worked examples, and how often they raise a false alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from loadstone.analyse.effects import Pair, holm, paired, unpaired, variation

Chance = np.random.Generator

A = [1000.0, 1040.0, 980.0, 1015.0, 1003.0, 995.0]
B = [1032.0, 1065.0, 1011.0, 1060.0, 1031.0, 1030.0]


def pairs(a: list[float], b: list[float]) -> list[Pair]:
    return [Pair(*both) for both in zip(a, b, strict=True)]


def test_a_paired_effect_is_scipys_t_test_of_logarithms() -> None:
    found = paired(pairs(A, B))
    known = stats.ttest_rel(np.log(B), np.log(A))
    between = known.confidence_interval(0.95)
    assert found.p_value == pytest.approx(known.pvalue)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (math.expm1(between.low), math.expm1(between.high))
    )
    assert found.relative == pytest.approx(math.exp(np.mean(np.log(B) - np.log(A))) - 1)


def test_an_unpaired_effect_is_scipys_welch_test_of_logarithms() -> None:
    found = unpaired(A, B[:4])
    known = stats.ttest_ind(np.log(B[:4]), np.log(A), equal_var=False)
    between = known.confidence_interval(0.95)
    assert found.p_value == pytest.approx(known.pvalue)
    assert found.degrees == pytest.approx(known.df)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (math.expm1(between.low), math.expm1(between.high))
    )


def test_the_order_is_taken_out_as_a_regression_would() -> None:
    orders = [True, False, False, True, True, False, True]
    values = [0.031, 0.012, 0.020, 0.043, 0.035, 0.008, 0.029]
    found = paired([Pair(1.0, math.exp(v), first) for v, first in zip(values, orders, strict=True)])
    design = np.array([[1.0, 1.0 if first else -1.0] for first in orders])
    solved, squares, *_ = np.linalg.lstsq(design, np.array(values), rcond=None)
    error = math.sqrt(float(squares[0]) / 5 * float(np.linalg.inv(design.T @ design)[0, 0]))
    assert found.log_ratio == pytest.approx(float(solved[0]))
    assert found.error == pytest.approx(error)
    assert found.degrees == 5


def test_too_few_pairs_have_an_effect_without_interval() -> None:
    for found in (
        paired([Pair(100.0, 103.0)]),
        paired([Pair(100.0, 103.0, True), Pair(100.0, 103.0, False)]),
        unpaired([100.0], [103.0, 104.0]),
    ):
        assert found.relative == pytest.approx(0.03, abs=0.01)
        assert found.interval is None and found.p_value is None


def test_a_rate_of_nought_has_no_effect() -> None:
    with pytest.raises(ValueError, match="leave the unit out"):
        paired([Pair(100.0, 0.0)])


def test_equal_pairs_have_no_spread() -> None:
    assert paired([Pair(100.0, 100.0)] * 3).p_value == 1.0
    assert paired([Pair(128.0, 256.0)] * 3).p_value == 0.0


def test_holm_as_in_the_worked_example() -> None:
    # Four hypotheses at 0.05: the two smallest are rejected, the third stops the procedure.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.5, 0.9]) == (1.0, 1.0)
    assert holm([]) == ()


def test_holm_keeps_the_chance_of_any_false_word() -> None:
    chance = np.random.default_rng(8)
    wrong = sum(min(holm(chance.uniform(size=20).tolist())) <= 0.05 for _ in range(2000))
    assert wrong <= 130, "100 of 2000 are allowed, with a standard deviation of 9.7"


def test_variation_within_and_between() -> None:
    found = variation([[90.0, 110.0], [95.0, 105.0], []])
    within = [math.sqrt(200) / 100, math.sqrt(50) / 100]
    assert found.within == pytest.approx(math.sqrt((within[0] ** 2 + within[1] ** 2) / 2))
    assert found.between == 0.0
    assert variation([[100.0]]).within is None


# From here on: noise as machines have it, and no effect to find.

SPREAD = 0.03


def noise(chance: Chance, count: int, likeness: float) -> npt.NDArray[np.float64]:
    """Lognormal noise in which each step depends by `likeness` on the one before it (AR 1)."""
    fresh = chance.normal(0, SPREAD * math.sqrt(1 - likeness**2), size=count)
    fresh[0] = chance.normal(0, SPREAD)
    for at in range(1, count):
        fresh[at] += likeness * fresh[at - 1]
    return np.exp(fresh)


def abba(chance: Chance, count: int, likeness: float, drift: float) -> list[Pair]:
    """Pairs of steps in the order AB BA AB ..., on a machine that gets slower from end to end."""
    rates = 1000 * noise(chance, 2 * count, likeness) * np.linspace(1, 1 - drift, 2 * count)
    made = []
    for at in range(count):
        first, second = float(rates[2 * at]), float(rates[2 * at + 1])
        made.append(Pair(first, second, True) if at % 2 == 0 else Pair(second, first, False))
    return made


def rounds(pairs: Sequence[Pair]) -> list[Pair]:
    """Each AB pair and the BA pair after it as one pair of means; a single last pair is left out.

    In an ABBA round a drift that grows evenly adds the same to A and to B, and what neighbouring
    steps have in common stays within the round: rounds are nearly independent where pairs are not.
    """
    return [
        Pair((first.a + second.a) / 2, (first.b + second.b) / 2)
        for first, second in zip(pairs[::2], pairs[1::2], strict=False)
        if first.a_first is not second.a_first
    ]


def alarms(p_values: Iterator[float | None], level: float = 0.01) -> int:
    return sum(value is not None and value <= level for value in p_values)


# 0.01 of 2000, and four standard deviations more.
TRIALS, MOST_ALARMS = 2000, 38


@pytest.mark.parametrize("drift", [0.0, 0.2])
@pytest.mark.parametrize("likeness", [0.0, 0.3])
def test_rounds_are_silent_where_there_is_nothing(likeness: float, drift: float) -> None:
    chance = np.random.default_rng(31)
    trials = (abba(chance, 12, likeness, drift) for _ in range(TRIALS))
    assert alarms(paired(rounds(trial)).p_value for trial in trials) <= MOST_ALARMS


def test_blocks_are_silent_where_there_is_nothing() -> None:
    chance = np.random.default_rng(32)
    trials = (abba(chance, 8, 0.0, 0.2) for _ in range(TRIALS))
    assert alarms(paired(trial).p_value for trial in trials) <= MOST_ALARMS


def test_all_of_a_and_then_all_of_b_is_not_silent_under_a_drift() -> None:
    chance = np.random.default_rng(33)
    found = []
    for _ in range(200):
        rates = [float(rate) for rate in 1000 * noise(chance, 24, 0.0) * np.linspace(1, 0.8, 24)]
        found.append(unpaired(rates[:12], rates[12:]).p_value)
    assert alarms(iter(found)) >= 190, "of 200, all of them false"


def test_taking_the_order_out_is_what_makes_a_drift_harmless_to_the_spread() -> None:
    drifting = abba(np.random.default_rng(34), 8, 0.0, 0.4)
    blind = [Pair(pair.a, pair.b) for pair in drifting]
    assert paired(drifting).error < paired(blind).error


@pytest.mark.parametrize("truth", [0.0, 0.01, 0.03, 0.10])
def test_the_interval_holds_the_truth_as_often_as_it_says(truth: float) -> None:
    chance = np.random.default_rng(35)
    held = 0
    for _ in range(1000):
        made = [
            Pair(pair.a, pair.b * (1 + truth), pair.a_first) for pair in abba(chance, 8, 0.0, 0.1)
        ]
        found = paired(made).interval
        assert found is not None
        held += found.low <= truth <= found.high
    assert 925 <= held <= 975


def test_the_unpaired_interval_holds_the_truth_as_often_as_it_says() -> None:
    chance = np.random.default_rng(36)
    held = 0
    for _ in range(1000):
        a, b = noise(chance, 6, 0.0), 1.03 * noise(chance, 4, 0.0) ** 2
        found = unpaired(a.tolist(), b.tolist()).interval
        assert found is not None
        held += found.low <= 0.03 <= found.high
    assert 925 <= held <= 975
