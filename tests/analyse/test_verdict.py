"""Verdicts on comparisons whose truth is known."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from loadstone.analyse.effects import Pair, paired
from loadstone.analyse.power import excludes, finds, spread_factor, units_needed
from loadstone.analyse.verdict import Sides, Spoiled, Unit, Unpaired, Verdict, verdicts
from loadstone.model.experiment import Rules

Chance = np.random.Generator


def made(chance: Chance, truth: float, count: int, spread: float = 0.02) -> list[Sides]:
    rates = 1000 * np.exp(chance.normal(0, spread, size=(count, 2)))
    return [
        Sides(Unit(float(a)), Unit(float(b) * (1 + truth)), at % 2 == 0)
        for at, (a, b) in enumerate(rates)
    ]


def judged(sides: list[Sides], rules: Rules | None = None) -> Verdict:
    (found,) = verdicts([sides], rules)
    return found


def test_a_clear_difference_has_its_word() -> None:
    chance = np.random.default_rng(1)
    assert judged(made(chance, 0.10, 12)).word == "faster"
    assert judged(made(chance, -0.10, 12)).word == "slower"


def test_a_difference_that_matters_to_nobody_is_none() -> None:
    # So many units that even 0.5 % is detected with certainty; the margin is 3 %.
    found = judged(made(np.random.default_rng(2), 0.005, 2000))
    assert found.p_difference is not None and found.p_difference < 0.05
    assert str(found) == "no difference within 3 %"


def test_noise_and_few_units_say_how_many_more() -> None:
    found = judged(made(np.random.default_rng(3), 0.03, 5))
    assert found.word == "not enough evidence"
    assert found.more is not None and found.more > 5
    assert str(found) == f"not enough evidence: {found.more} more repeats"


def test_two_pairs_say_only_that_more_are_needed() -> None:
    found = judged(made(np.random.default_rng(4), 0.5, 2))
    assert (found.word, found.more) == ("not enough evidence", None)
    assert str(found) == "not enough evidence: too few undisturbed units, use more repeats"


def test_nothing_at_all_is_not_enough() -> None:
    found = judged([])
    assert (found.word, found.effect, found.units_left_out) == ("not enough evidence", None, 0)


def test_spoiled_units_are_left_out_and_counted() -> None:
    sides = made(np.random.default_rng(5), 0.0, 40, 0.005)
    # By themselves these units would make B ten times as fast: they must not be used.
    wild = [
        Sides(Unit(100.0, frozenset({"steal"})), Unit(1000.0), True),
        Sides(Unit(100.0), Unit(1000.0, frozenset({"steal", "client-bound"})), False),
    ]
    found = judged(sides + wild)
    assert found.word == "no difference"
    assert found.left_out == {"steal": 2, "client-bound": 1}
    assert found.units_left_out == 2
    assert judged(sides + [Sides(Unit(100.0), Unit(1000.0), True)]).effect != found.effect


def test_a_unit_that_did_nothing_is_told_and_not_reckoned_with() -> None:
    sides = made(np.random.default_rng(12), 0.10, 12)
    found = judged([*sides, Sides(Unit(1000.0), Unit(0.0), True)])
    assert (found.word, found.left_out) == ("faster", {"nothing done": 1})
    (apart,) = verdicts([Unpaired((Unit(0.0), Unit(1.0)), (Unit(1.0),))])
    assert apart.left_out == {"nothing done": 1}


def test_units_of_two_runs_are_compared_without_pairs() -> None:
    sides = made(np.random.default_rng(11), 0.10, 8)
    a, b = [each.a for each in sides], [each.b for each in sides[:6]]
    wild = Unit(9000.0, frozenset({"throttled"}))
    (found,) = verdicts([Unpaired((*a, wild), tuple(b))])
    assert found.word == "faster"
    assert found.effect is not None and found.effect.method == "Welch's t"
    assert (found.left_out, found.units_left_out) == ({"throttled": 1}, 1)
    (nothing,) = verdicts([Unpaired((wild,), tuple(b))])
    assert (nothing.effect, nothing.word) == (None, "not enough evidence")


def test_many_cells_need_more_evidence_than_one() -> None:
    chance = np.random.default_rng(6)
    seen = made(chance, 0.03, 12)
    others = [made(chance, 0.0, 12, 0.05) for _ in range(39)]
    alone, among = verdicts([seen])[0], verdicts([seen, *others])[0]
    assert alone.p_difference is not None and among.p_difference is not None
    assert among.p_difference == pytest.approx(40 * alone.p_difference)


def test_forty_equal_cells_hardly_ever_have_a_false_word() -> None:
    chance = np.random.default_rng(7)
    false = 0
    for _ in range(200):
        words = {found.word for found in verdicts([made(chance, 0.0, 8) for _ in range(10)])}
        false += bool(words & {"faster", "slower"})
    assert false <= 22, "of 200 tables, 10 are allowed"


def test_a_difference_of_the_margin_is_hardly_ever_told_to_be_none() -> None:
    chance = np.random.default_rng(8)
    words = [judged(made(chance, 0.03, 30)).word for _ in range(1000)]
    assert words.count("no difference") <= 75, "of 1000, 50 are allowed"


def test_the_power_is_that_of_published_tables() -> None:
    # A paired t test of an effect of half a spread, two-sided at 0.05: 44 pairs have a power of
    # 0.90, 34 one of 0.80 (J. Cohen, "Statistical Power Analysis", 1988; G*Power's manual).
    assert finds(0.5 * 44**0.5, 43, 0.05) >= 0.9 > finds(0.5 * 43**0.5, 42, 0.05)
    assert finds(0.5 * 34**0.5, 33, 0.05) >= 0.8 > finds(0.5 * 33**0.5, 32, 0.05)


def test_the_power_of_telling_equality_is_what_is_seen() -> None:
    chance = np.random.default_rng(9)
    rules = Rules(margin=0.03)
    seen = sum(
        judged(made(chance, 0.0, 14, 0.02 / 2**0.5), rules).word == "no difference"
        for _ in range(1000)
    )
    assert seen / 1000 == pytest.approx(excludes(np.log(1.03) / 0.02 * 14**0.5, 12, 0.05), abs=0.05)


def test_the_spread_of_few_units_is_not_taken_at_its_word() -> None:
    # Chi square of 4 degrees is below 1.6488 once in five times.
    assert spread_factor(4) == pytest.approx((4 / 1.6488) ** 0.5, rel=1e-3)
    assert spread_factor(1000) < 1.03


def test_equal_units_need_no_more_of_them() -> None:
    effect = paired([Pair(100.0, 101.0)] * 4)
    assert units_needed(effect, 0.03, 0.05, 0.9) == 4


def test_three_percent_is_found_with_the_repeats_that_were_asked_for() -> None:
    chance = np.random.default_rng(10)
    found = 0
    for _ in range(200):
        first = made(chance, 0.03, 6)
        verdict = judged(first)
        more = verdict.more if verdict.word == "not enough evidence" else 0
        assert more is not None
        found += judged(first + made(chance, 0.03, more)).word == "faster"
    assert found >= 180, "of 200"


def test_an_interval_and_its_word_say_the_same() -> None:
    chance = np.random.default_rng(21)
    for _ in range(40):
        tables = [made(chance, 0.04, 6) for _ in range(4)]
        for found in verdicts(tables):
            assert found.effect is not None and found.effect.interval is not None
            low, high = found.effect.interval.low, found.effect.interval.high
            differs = low > 0 or high < 0
            assert found.word == "no difference" or differs == (found.word != "not enough evidence")


def test_units_that_were_all_disturbed_give_a_ratio_that_is_called_weak() -> None:
    disturbed: frozenset[Spoiled] = frozenset({"steal"})
    found = judged([Sides(Unit(605.0, disturbed), Unit(677.0, disturbed), True)] * 3)
    assert (found.word, found.effect, found.units_left_out) == ("not enough evidence", None, 3)
    assert found.provisional == pytest.approx(677 / 605 - 1)
    assert str(found) == (
        "not enough evidence: every unit was disturbed; provisionally +11.9 %, weak evidence"
    )


NOISE = (
    r"cannot be decided on this machine in reasonable time: its noise is ± [\d.]+ % from repeat "
)


@pytest.mark.parametrize(
    ("units", "repeat_s", "said"),
    [
        (40, 10.0, r"not enough evidence: \d+ more repeats, about \d+ min"),
        (40, 36000.0, NOISE),
        (5, 10.0, NOISE),  # what is needed is far beyond what was seen
    ],
)
def test_what_is_missing_is_said_in_time(units: int, repeat_s: float, said: str) -> None:
    found = judged(made(np.random.default_rng(3), 0.015, units, 0.05))
    assert found.more is not None
    assert re.match(said, str(replace(found, more_s=repeat_s * found.more)))
