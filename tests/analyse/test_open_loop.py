"""Whether a server keeps up, judged by a window's counts."""

from __future__ import annotations

from analyse.made import a_step
from loadstone.analyse.ladder import levels
from loadstone.analyse.open_loop import held, keeps_up
from loadstone.model.plan import Rate

HUNDRED = Rate(rate=100)


def test_as_many_as_were_due_or_a_hair_less_is_kept_up() -> None:
    assert keeps_up(a_step(rate=HUNDRED))
    assert keeps_up(a_step(rate=HUNDRED, events=991))


def test_a_queue_that_grows_is_not() -> None:
    assert not keeps_up(a_step(rate=HUNDRED, events=900))
    assert not keeps_up(a_step(rate=HUNDRED, waiting=100))
    assert not keeps_up(a_step(rate=HUNDRED, skipped=1))


def test_where_nothing_waits_the_rest_is_in_flight_on_free_users() -> None:
    short = a_step(users=64, rate=HUNDRED, p99_ms=100, due=192, events=185)
    assert keeps_up(short)
    assert not keeps_up(short.model_copy(update={"waiting": 5, "events": 180}))
    assert not keeps_up(short.model_copy(update={"concurrency": 6}))


def test_slow_answers_may_be_under_way_at_the_end() -> None:
    # 100 a second that take two seconds each: 200 under way, give or take 14.
    slow = a_step(rate=HUNDRED, p99_ms=2000 * 4.605, events=970)
    assert keeps_up(slow)
    assert not keeps_up(a_step(rate=HUNDRED, p99_ms=20, events=970))


def test_a_ladder_is_held_up_to_the_first_rate_that_was_lost() -> None:
    steps = [
        a_step(rate=HUNDRED),
        a_step(rate=Rate(rate=200), tps=150),
        a_step(rate=Rate(rate=300), tps=300),
    ]
    found = held(levels(steps))
    assert found is not None
    assert found.kept is not None
    assert found.lost is not None
    assert (found.kept.rate, found.lost.rate) == (HUNDRED, Rate(rate=200))


def test_a_closed_loop_has_no_rate_to_hold() -> None:
    assert held(levels([a_step(), a_step(users=16)])) is None
