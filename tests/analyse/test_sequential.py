"""Looking after every unit keeps the promised rate of errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loadstone.analyse.effects import Pair, paired
from loadstone.analyse.sequential import (
    bounds,
    evidence,
    look,
    look_at_logs,
    look_at_mean,
)

LOOKS = 40
TRIALS = 1000


def drawn(seed: int, truth: float = 0.0) -> list[list[float]]:
    """Log ratios of pairs: lognormal noise of 2 % on both sides."""
    chance = np.random.default_rng(seed)
    made: list[list[float]] = chance.normal(truth, 0.02 * 2**0.5, size=(TRIALS, LOOKS)).tolist()
    return made


def test_looking_after_every_pair_keeps_the_level() -> None:
    alarmed = sum(
        any(evidence(trial[:count]) >= 1 / 0.05 for count in range(2, LOOKS + 1))
        for trial in drawn(1)
    )
    # 5 % of 1000, ever, and three standard deviations.
    assert alarmed <= 71


def test_looking_with_the_ordinary_interval_does_not() -> None:
    alarmed = 0
    for trial in drawn(1)[:300]:
        made = [Pair(1.0, math.exp(value)) for value in trial]
        p_values = [paired(made[:count]).p_value for count in range(2, LOOKS + 1)]
        alarmed += any(value is not None and value <= 0.05 for value in p_values)
    assert alarmed / 300 > 0.2, "what the correction is for"


def test_all_intervals_of_a_run_hold_the_truth_together() -> None:
    missed = 0
    for trial in drawn(2, truth=0.03):
        seen = [bounds(trial[:count], 0.05) for count in range(2, LOOKS + 1)]
        missed += any(found and not found[0] <= 0.03 <= found[1] for found in seen)
    assert missed <= 71


def test_stopping_when_it_is_narrow_leaves_an_interval_that_holds_the_truth() -> None:
    held = stopped = 0
    for trial in drawn(3, truth=0.01)[:500]:
        for count in range(2, LOOKS + 1):
            found = look_at_logs(trial[:count], 0.05)
            if found.half_width <= 0.02:
                assert found.interval is not None
                stopped += 1
                held += found.interval.low <= math.expm1(0.01) <= found.interval.high
                break
    assert stopped >= 450, "2 % is reached within 40 pairs"
    assert held / stopped >= 0.95


def test_the_interval_holds_exactly_what_the_evidence_does_not_speak_against() -> None:
    trial = drawn(4)[0][:9]
    found = bounds(trial, 0.05)
    assert found is not None
    for end in found:
        assert evidence(trial, end) == pytest.approx(20.0)


def test_evidence_is_the_ratio_of_the_two_densities() -> None:
    # E_n is the ratio of densities of x, under N(0, s^2 (I + 11'/c^2)) and N(0, s^2 I), each
    # integrated over ds / s: computed here without the closed form.
    values = np.array([0.4, 1.1, -0.2, 0.9])
    count = len(values)
    scales = np.geomspace(1e-3, 1e3, 200_001)

    def density(covariance: np.ndarray) -> float:
        form = values @ np.linalg.solve(covariance, values)
        height = scales**-count * np.exp(-form / 2 / scales**2) / scales
        return float(np.trapezoid(height, scales) / math.sqrt(np.linalg.det(covariance)))

    ratio = density(np.eye(count) + np.ones((count, count)) / 0.5) / density(np.eye(count))
    assert evidence(values.tolist()) == pytest.approx(ratio, rel=1e-4)


def test_one_unit_says_nothing() -> None:
    assert evidence([0.7]) == pytest.approx(1.0)
    assert look([Pair(100.0, 200.0)]).interval is None
    assert look([Pair(100.0, 200.0)]).half_width > 0.5


def test_the_price_is_less_than_twice_the_width() -> None:
    trial = drawn(5)[0][:10]
    found, ordinary = bounds(trial, 0.05), paired([Pair(1.0, math.exp(v)) for v in trial])
    assert found is not None and ordinary.interval is not None
    wide = math.expm1(found[1]) - math.expm1(found[0])
    assert 1.5 < wide / (ordinary.interval.high - ordinary.interval.low) < 2.0


def test_p_values_never_rise_again() -> None:
    trial = drawn(6, truth=0.02)[0]
    said = [look_at_logs(trial[:count], 0.05).p_value for count in range(1, LOOKS + 1)]
    assert said == sorted(said, reverse=True)
    assert said[0] == 1.0


def test_a_single_levels_rate_is_known_ever_better() -> None:
    rates = [1000 * math.exp(value) for value in drawn(7)[0]]
    widths = [look_at_mean(rates[:count]).half_width for count in (3, 10, 40)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.03


def test_equal_units_are_known_at_once() -> None:
    found = look([Pair(100.0, 103.0)] * 4)
    assert found.half_width <= 1e-9
    # Four units cannot say more than this, however alike they are.
    assert found.p_value == pytest.approx(1 / 27)


def test_a_look_at_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a look at nothing"):
        look([])
