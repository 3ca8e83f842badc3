"""The scalability law against published coefficients, and ladders that it does not describe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from analyse.made import a_step
from loadstone.analyse.ladder import levels
from loadstone.analyse.usl import Refused, Usl, fit, law, of_ladder
from loadstone.model.plan import Rate

# SPEC SDM91 on a SPARCcenter 2000, the worked example of N. J. Gunther, "Guerrilla Capacity
# Planning", 2007, and of the R package usl (S. Moeding), whose published summary of the fit is:
#   alpha 0.0277285 (0.0091217)   beta 0.0001044 (0.0000199)   gamma 89.9952 (14.2135)
#   residual standard error 82.85 on 4 degrees of freedom, R squared 0.9896, peak at 97
SDM91 = [
    (1, 64.9),
    (18, 995.9),
    (36, 1652.4),
    (72, 1853.2),
    (108, 1828.9),
    (144, 1775.0),
    (216, 1702.2),
]
# A ray tracer on 1 to 64 processors, from the same book; the package's published intervals are
#   alpha 0.033677..0.081864   beta -0.000214..0.000214   gamma 17.868380..25.829306
# and reach as far as 1.8125 standard errors, the quantile t(0.95, 10).
RAYTRACER = [
    (1, 20.0),
    (4, 78.0),
    (8, 130.0),
    (12, 170.0),
    (16, 190.0),
    (20, 200.0),
    (24, 210.0),
    (28, 230.0),
    (32, 260.0),
    (48, 280.0),
    (64, 310.0),
]


def described(points: Sequence[tuple[float, float]]) -> Usl:
    found = fit(points)
    assert isinstance(found, Usl), found
    return found


def reason(points: Sequence[tuple[float, float]]) -> str:
    found = fit(points)
    assert isinstance(found, Refused), found
    return found.reason


def test_the_published_coefficients_come_out() -> None:
    found = described([*SDM91])
    assert found.contention.value == pytest.approx(0.0277285, rel=1e-3)
    assert found.coherency.value == pytest.approx(0.0001044, rel=1e-3)
    assert found.scale.value == pytest.approx(89.9952, rel=1e-4)


def test_the_published_standard_errors_come_out() -> None:
    found = described([*SDM91])
    assert found.contention.error == pytest.approx(0.0091217, rel=1e-3)
    assert found.coherency.error == pytest.approx(0.0000199, rel=3e-3)
    assert found.scale.error == pytest.approx(14.2135, rel=1e-3)
    assert found.missed == pytest.approx(82.85, rel=1e-3)
    assert found.explained == pytest.approx(0.9896, abs=1e-4)


def test_the_published_peak_comes_out() -> None:
    peak = described([*SDM91]).peak
    assert peak is not None
    assert round(peak.users.value) in (96, 97)
    assert peak.users.interval.low < 96.5 < peak.users.interval.high
    assert peak.rate.value == pytest.approx(1883.76, abs=0.5)


def test_where_coherency_may_be_zero_no_peak_is_named() -> None:
    found = described([*RAYTRACER])
    assert found.contention.value == pytest.approx(0.0578, rel=2e-3)
    assert found.scale.value == pytest.approx(21.848843, rel=1e-6)
    assert found.contention.error == pytest.approx((0.081864 - 0.033677) / 2 / 1.8125, rel=1e-3)
    assert found.coherency.error == pytest.approx(0.000214 / 1.8125, rel=3e-3)
    assert found.scale.error == pytest.approx((25.829306 - 17.868380) / 2 / 1.8125, rel=1e-3)
    assert found.peak is None
    assert found.no_peak is not None and "coherency may be zero" in found.no_peak


def test_a_ladder_that_obeys_gives_back_its_parameters() -> None:
    users = (1, 2, 4, 6, 8, 10)
    found = described([(n, law(n, 1000, 0.02, 0.02)) for n in users])
    assert found.contention.value == pytest.approx(0.02, rel=1e-5)
    assert found.coherency.value == pytest.approx(0.02, rel=1e-5)
    assert found.scale.value == pytest.approx(1000, rel=1e-6)
    assert found.peak is not None
    assert found.peak.users.value == pytest.approx(7.0, rel=1e-4)
    assert found.rate(7.0) == pytest.approx(found.peak.rate.value)


def test_repeats_weigh_by_their_number() -> None:
    levels = [(float(n), law(n, 1000, 0.05, 0.001)) for n in (1, 2, 4, 8, 16, 32)]
    off = [(64.0, 1.2 * law(64, 1000, 0.05, 0.001))]
    nearer = described(levels * 10 + off)
    further = described(levels + off * 3)
    truth = 0.001
    assert abs(nearer.coherency.value - truth) < abs(further.coherency.value - truth)


def test_a_peak_beyond_the_ladder_is_not_named() -> None:
    found = described([(n, law(n, 100, 0.01, 0.0001)) for n in (1, 2, 4, 8, 16, 32)])
    assert found.peak is None
    assert found.no_peak is not None and "beyond the last level (32)" in found.no_peak


def test_few_levels_are_refused_however_many_repeats() -> None:
    assert "4 levels" in reason([(n, law(n, 100, 0.1, 0.01)) for n in (1, 2, 4, 8)] * 5)


def test_rates_without_order_are_refused() -> None:
    rates = (100, 900, 150, 1000, 120, 800, 90)
    assert "R squared" in reason([(2**at, rate) for at, rate in enumerate(rates)])


def test_a_ladder_without_contention_is_refused() -> None:
    assert "no contention" in reason([(n, 100.0 * n) for n in (1, 2, 4, 8, 16, 32)])


def test_a_server_that_gets_faster_by_users_is_refused() -> None:
    assert "no contention" in reason([(n, 100.0 * n**1.2) for n in (1, 2, 4, 8, 16, 32)])


def test_a_flat_ladder_is_refused() -> None:
    assert isinstance(fit([(n, 1000.0) for n in (1, 2, 4, 8, 16, 32)]), Refused)


def test_a_level_without_rate_is_refused() -> None:
    assert reason([(1, 0.0), *SDM91[1:]]) == "a level has no rate"


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    chance = np.random.default_rng(5)
    users = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    held = peaks = 0
    for _ in range(200):
        rates = [law(n, 500, 0.03, 0.0004) + chance.normal(0, 60) for n in users]
        found = fit(zip(users, rates, strict=True))
        if isinstance(found, Refused):
            continue
        between = found.coherency.interval
        held += between.low <= 0.0004 <= between.high
        peaks += bool(found.peak)
    assert held >= 180, "of 200"
    assert peaks >= 150, "the peak at 49 users is seen in most"


def test_a_ladder_of_steps_is_fitted_without_those_that_may_not_be_quoted() -> None:
    steps = [a_step(users=users, tps=rate) for users, rate in SDM91]
    wild = a_step(users=72, tps=90_000.0, steady=False)
    found = of_ladder(levels([*steps, wild]))
    assert isinstance(found, Usl)
    assert found.coherency.value == pytest.approx(0.0001044, rel=1e-3)


def test_an_open_loop_has_no_law() -> None:
    steps = [a_step(users=8, rate=Rate(rate=rate), tps=rate) for rate in (1, 2, 4, 8, 16)]
    found = of_ladder(levels(steps))
    assert isinstance(found, Refused) and "open loop" in found.reason
