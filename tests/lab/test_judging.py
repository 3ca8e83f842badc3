"""Which conditions hold and for how long, and the other clients' statements: figures to words."""

from __future__ import annotations

import pytest

from loadstone.lab.protection.conditions import Judge
from loadstone.model.protection import condition
from loadstone.observe.slowdown import LEAST_TIME_S, Statements, Sums, add, mean_s, slowdown


def judged(text: str, *told: tuple[float, float]) -> Judge:
    judge = Judge(condition(text))
    for at_s, value in told:
        judge.take(at_s, value)
    return judge


def test_without_a_time_one_figure_is_enough() -> None:
    assert judged("threads_running>10", (1, 11)).is_met(1.2)
    assert not judged("threads_running>10", (1, 10)).is_met(1.2)
    assert not judged("threads_running>10", (1, 11), (2, 3)).is_met(2.1)
    assert not judged("threads_running>10").is_met(5)


def test_with_a_time_each_figure_in_it_must_meet_it() -> None:
    text = "threads_running>10 for 3s"
    assert not judged(text, (1, 11), (2, 11), (3, 11)).is_met(3.1)
    assert judged(text, (1, 11), (2, 11), (3, 11), (4, 11)).is_met(4.1)
    assert not judged(text, (1, 11), (2, 11), (3, 9), (4, 11)).is_met(4.1)


def test_silence_proves_nothing() -> None:
    judge = judged("threads_running>10 for 3s", (1, 11))
    assert not judge.is_met(5), "one figure says nothing of the seconds after it"
    judge.take(30, 11)
    assert not judge.is_met(30.1), "nobody knows what was between"
    assert not judged("threads_running>10", (1, 11)).is_met(60), "nor what is now"


def test_what_came_before_is_forgotten() -> None:
    judge = judged("p99>10ms for 2s", (1, 1.0), (2, 1.0))
    judge.forget()
    judge.take(3, 1.0)
    assert not judge.is_met(3.1)


def some(**means_ms: tuple[int, float]) -> Statements:
    return {name: Sums(count, count * ms / 1000) for name, (count, ms) in means_ms.items()}


def test_the_same_statements_are_held_against_what_they_took() -> None:
    before = some(select=(1000, 10.0), insert=(100, 20.0))
    assert slowdown(before, some(select=(50, 30.0), insert=(5, 60.0))) == pytest.approx(3)


def test_another_mixture_is_no_slowdown() -> None:
    before = some(select=(1000, 4.0), report=(10, 500.0))
    assert slowdown(before, some(select=(10, 4.0), report=(40, 500.0))) == pytest.approx(1)


def test_statements_that_were_not_there_before_say_nothing() -> None:
    before = some(select=(1000, 4.0))
    assert slowdown(before, some(select=(20, 4.0), alter=(1, 60_000.0))) == pytest.approx(1)
    assert slowdown(before, some(alter=(100, 60_000.0))) is None
    assert slowdown({}, some(select=(100, 4.0))) is None


def test_nobody_suffers_where_a_tenth_of_a_millisecond_becomes_one() -> None:
    before = some(select=(1000, 0.1))
    assert slowdown(before, some(select=(100, 1.0))) == pytest.approx(0.001 / LEAST_TIME_S)


def test_a_few_statements_are_no_mean() -> None:
    before = some(select=(1000, 4.0))
    assert slowdown(before, some(select=(9, 400.0))) is None
    assert mean_s(some(select=(9, 400.0))) is None
    assert mean_s(some(select=(10, 400.0))) == pytest.approx(0.4)


def test_what_was_before_adds_up() -> None:
    found = some(select=(10, 4.0))
    add(found, some(select=(10, 8.0), insert=(1, 1.0)))
    assert found["select"].seconds == pytest.approx(0.12)
    assert found["insert"].count == 1
