"""Change points against made-up series whose levels are known, and against noise alone."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from loadstone.analyse.change_points import ChangePoint, best_split, change_points

SEEDS = range(200)


def series(seed: int, *levels: tuple[int, float], noise: float = 0.02) -> list[float]:
    """A series: so many values of each level, with noise as a share of the level."""
    chance = random.Random(seed)
    return [level * (1 + chance.gauss(0, noise)) for count, level in levels for _ in range(count)]


def energy(before: list[float], after: list[float]) -> float:
    """Matteson and James' statistic straight from its definition."""
    n, m = len(before), len(after)
    across = sum(abs(x - y) for x in before for y in after) / (n * m)

    def within(side: list[float]) -> float:
        pairs = [abs(a - b) for i, a in enumerate(side) for b in side[:i]]
        return sum(pairs) / len(pairs) if pairs else 0.0

    return n * m / (n + m) * (2 * across - within(before) - within(after))


@pytest.mark.parametrize("seed", range(5))
def test_the_split_is_where_the_statistic_is_greatest(seed: int) -> None:
    values = series(seed, (7, 100.0), (9, 103.0))
    wanted = max(range(1, len(values)), key=lambda at: energy(values[:at], values[at:]))
    assert best_split(values) == wanted


def test_two_known_changes_are_found_where_they_are() -> None:
    #   1000 ────────┐            ┌──────── 980
    #                └──── 900 ───┘
    more = []
    for seed in range(20):
        found = change_points(series(seed, (20, 1000.0), (15, 900.0), (20, 980.0), noise=0.01))
        fall, rise = (nearest(found, at) for at in (20, 35))
        assert [fall.at, rise.at] == pytest.approx([20, 35], abs=1)
        assert fall.relative == pytest.approx(-0.10, abs=0.02)
        assert rise.relative == pytest.approx(980 / 900 - 1, abs=0.02)
        assert all(point.p_value <= 0.001 for point in found)
        more += [seed] if len(found) > 2 else []
    assert len(more) <= 2, f"false alarms in addition with seeds {more}"


def nearest(found: Sequence[ChangePoint], at: int) -> ChangePoint:
    return min(found, key=lambda point: abs(point.at - at))


def test_noise_alone_hardly_ever_is_a_change() -> None:
    alarms = [seed for seed in SEEDS if change_points(series(seed, (40, 1000.0)))]
    assert len(alarms) <= 0.05 * len(SEEDS), f"false alarms with seeds {alarms}"


def test_a_short_lived_change_in_a_long_history_is_found() -> None:
    values = series(3, (150, 1000.0), (8, 900.0), (150, 1000.0), noise=0.01)
    assert [point.at for point in change_points(values)] == pytest.approx([150, 158], abs=1)


def test_values_without_any_noise_change_where_they_change() -> None:
    found = change_points([10.0] * 5 + [20.0] * 5)
    assert [(point.at, point.before, point.after) for point in found] == [(5, 10.0, 20.0)]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [5.0] * 12])
def test_too_little_and_no_change_have_no_point(values: list[float]) -> None:
    assert change_points(values) == ()
