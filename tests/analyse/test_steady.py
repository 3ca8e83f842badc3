"""Series whose settling point is known."""

from __future__ import annotations

import random
import time

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


def test_a_slope_below_what_the_halves_show_never_settles() -> None:
    # 15 % from end to end: in the half that is left, halves differ by less than a twentieth.
    found = truncation(
        [value * (1 + 0.15 * at / 60) for at, value in enumerate(noise(100, 60, 0.005))]
    )
    assert found.settled is False
    assert found.reason == "it rises or falls along the window"


def test_a_slope_of_less_than_a_twentieth_is_level() -> None:
    found = truncation([100 + 0.03 * second for second in range(60)])
    assert found.settled is True


def test_noise_in_which_neighbours_go_together_is_no_slope() -> None:
    chance = random.Random(11)
    unsettled = 0
    for _ in range(300):
        level, series = 0.0, []
        for _ in range(120):
            level = 0.8 * level + chance.gauss(0, 4)
            series.append(100 + level)
        unsettled += truncation(series).reason == "it rises or falls along the window"
    assert unsettled <= 6, "of 300"


def checkpoints(cycle: int, count: int, depth: float = 0.4, spread: float = 0.02) -> list[float]:
    r"""A server at full speed that gets slower until its checkpoint is done, again and again.

    |\    |\    |\    |
    |  \  |  \  |  \  |
    |    \|    \|    \|
    """
    chance = random.Random(5)
    return [
        1000 * (1 - depth * (at % cycle) / cycle) * chance.gauss(1, spread) for at in range(count)
    ]


@pytest.mark.parametrize("cycle", [7, 15, 20, 30])
def test_a_window_covers_whole_cycles(cycle: int) -> None:
    found = truncation(checkpoints(cycle, 170))
    assert found.settled is True
    assert found.cycle == cycle
    assert (170 - found.leave_out) % cycle == 0


def test_cycles_behind_a_warm_up_are_seen() -> None:
    warming = [100 + 25 * at for at in range(20)]
    found = truncation(warming + checkpoints(15, 130))
    assert found.settled is True
    assert found.cycle == 15
    assert 15 <= found.leave_out <= 50
    assert (150 - found.leave_out) % 15 == 0


def test_the_mean_of_whole_cycles_is_the_mean_of_one() -> None:
    series = checkpoints(20, 95, spread=0.0)
    found = truncation(series)
    window = series[found.leave_out :]
    assert sum(window) / len(window) == pytest.approx(sum(series[:20]) / 20)


def test_cycles_that_get_worse_never_settle() -> None:
    found = truncation(
        [value * (1 - 0.4 * at / 160) for at, value in enumerate(checkpoints(20, 160))]
    )
    assert found.settled is False


@pytest.mark.parametrize("seed", range(20))
def test_plain_noise_has_no_cycle(seed: int) -> None:
    chance = random.Random(seed)
    assert truncation([chance.gauss(1000, 80) for _ in range(90)]).cycle is None


def filling(seconds: int, count: int) -> list[float]:
    """Pages read a second while the buffer pool fills, and next to none afterwards."""
    chance = random.Random(3)
    return [
        20_000 * max(0.0, 1 - at / seconds) * chance.gauss(1, 0.05) + chance.randrange(3)
        for at in range(count)
    ]


def test_the_window_waits_until_the_buffer_pool_is_filled() -> None:
    series = noise(100, 90)
    assert truncation(series).leave_out < 20
    found = truncation(series, filling(35, 90))
    assert found.settled is True
    assert 25 <= found.leave_out <= 45


def test_a_buffer_pool_that_goes_on_filling_never_settles() -> None:
    found = truncation(noise(100, 90), filling(200, 90))
    assert found.settled is False
    assert found.reason == "reads into the buffer pool go on changing"


def test_a_working_set_that_never_fits_is_steady() -> None:
    found = truncation(noise(100, 90), noise(20_000, 90, 0.1))
    assert found.settled is True


def test_no_reads_at_all_change_nothing() -> None:
    assert truncation(noise(100, 90), [0.0] * 90) == truncation(noise(100, 90))


def test_a_cycle_need_not_be_whole_seconds() -> None:
    chance = random.Random(9)
    series = [1000 * (1 - 0.4 * ((at / 12.5) % 1)) * chance.gauss(1, 0.02) for at in range(170)]
    found = truncation(series)
    assert found.settled is True
    assert found.cycle in (12, 13, 25)


def test_a_day_is_judged_in_seconds() -> None:
    series = checkpoints(240, 24 * 3600)
    began = time.thread_time()
    found = truncation(series)
    assert time.thread_time() - began < 5
    assert (found.settled, found.cycle) == (True, 240)


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("length", [20, 60, 300])
def test_plain_noise_hardly_ever_counts_as_unsettled(spread: float, length: int) -> None:
    chance = random.Random(length)
    found = [
        truncation([max(0.0, chance.gauss(1000, 1000 * spread)) for _ in range(length)])
        for _ in range(200)
    ]
    assert sum(each.settled is False for each in found) <= 10, "of 200"


def test_reads_of_other_seconds_are_refused() -> None:
    with pytest.raises(ValueError, match="59 seconds of reads for 60"):
        truncation([100.0] * 60, [0.0] * 59)
