"""Series whose settling point is known."""

from __future__ import annotations

import random

import pytest

from loadstone.analyse.steady import truncation


def noise(level: float, count: int, spread: float = 0.02) -> list[float]:
    chance = random.Random(7)
    return [level * chance.gauss(1, spread) for _ in range(count)]


def test_a_flat_series_is_kept_whole() -> None:
    found = truncation([100.0] * 60)
    assert (found.leave_out, found.settled, found.rule) == (0, True, "MSER-5")


@pytest.mark.parametrize("warmup", [5, 10, 20])
def test_a_slow_start_is_left_out(warmup: int) -> None:
    #   100 |          ......................
    #       |     ....
    #    20 |.....
    climbing = [20 + 80 * second / warmup for second in range(warmup)]
    found = truncation(climbing + noise(100, 60 - warmup))
    assert found.settled is True
    assert warmup - 5 <= found.leave_out <= warmup + 5


def test_a_trend_never_settles() -> None:
    found = truncation([100 + 3 * second for second in range(60)])
    assert found.settled is False
    assert found.leave_out == 30


def test_a_jump_in_the_second_half_never_settles() -> None:
    found = truncation(noise(100, 40) + noise(150, 20))
    assert found.settled is False


def test_a_saw_tooth_is_steady_as_a_whole() -> None:
    found = truncation([100 - 5 * (second % 6) for second in range(60)])
    assert found.settled is True
    assert found.leave_out <= 10


def test_a_short_series_is_judged_by_the_second() -> None:
    found = truncation([10, 50, 100, 100, 101, 99, 100, 100, 101, 100])
    assert (found.leave_out, found.settled, found.rule) == (2, True, "MSER-1")


def test_too_short_a_series_is_not_evaluated() -> None:
    assert truncation([1.0, 2.0, 3.0]).settled is None
    assert truncation([]).settled is None


def test_large_rates_do_not_cancel() -> None:
    assert truncation([1e9] * 10 + [2e9] * 50).leave_out == 10


@pytest.mark.parametrize("length", range(8, 60))
def test_every_length_has_an_answer(length: int) -> None:
    found = truncation(noise(100, length))
    assert found.leave_out * 2 <= length
