"""Samplers: synchronous with the load, and never in its way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from loadstone.model.observed import Observation, Reading, SourceName, SourceState
from loadstone.observe import sampler
from loadstone.observe.sampler import Sampling, Watched, deltas
from loadstone.observe.source import SourceError

SERVER = SourceName(role="server")
HOST = SourceName(role="server-host")
LONG_S = 60.0


class Counting:
    """A source whose counter grows by one a reading, with delays and errors by script."""

    def __init__(
        self,
        name: SourceName,
        before: Callable[[int], None] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._now = now
        self.readings = 0
        self.closed = threading.Event()
        self._before = before

    def read(self) -> Reading:
        self.readings += 1
        if self._before:
            self._before(self.readings)
        return Reading(self._now(), {"readings": float(self.readings)}, {"now": 1.0})

    def close(self) -> None:
        self.closed.set()


def observations(sampling: Sampling) -> list[Observation]:
    return [seen for seen in sampling.taken() if isinstance(seen, Observation)]


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        told = SimpleNamespace(monotonic=lambda: self.now, thread_time=time.thread_time)
        monkeypatch.setattr(sampler, "time", told)
        threads = SimpleNamespace(Condition=Impatient, Thread=threading.Thread)
        monkeypatch.setattr(sampler, "threading", threads)


class Impatient(threading.Condition):
    """Reads the clock all the time."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.001)


def test_readings_fall_on_whole_seconds_after_the_begin_of_the_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    source = Counting(SERVER, now=lambda: clock.now)
    sampling = Sampling([Watched(source)], clock.now)
    sampling.mark()
    sampling.align(100.7)
    # Each time shortly before it is due, and when it is due; the second reading is late.
    for number, (early, at) in enumerate([(101.6, 101.7), (102.6, 103.0), (103.6, 103.75)]):
        clock.now = early
        time.sleep(0.02)
        assert source.readings == number + 1
        clock.now = at
        deadline = time.monotonic() + 60
        while source.readings == number + 1:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    sampling.close()
    assert [one.to_s for one in observations(sampling)] == [1.7, 3.0, 3.75]


def test_intervals_follow_each_other_without_a_gap_and_add_up() -> None:
    source = Counting(SERVER)
    sampling = Sampling([Watched(source)], time.monotonic())
    for _ in range(4):
        time.sleep(0.1)
        sampling.mark()
    seen = observations(sampling)
    sampling.close()
    assert all(one.to_s == after.from_s for one, after in zip(seen, seen[1:], strict=False))
    assert sum(one.deltas["readings"] for one in seen) == source.readings - 1
    assert all(one.gauges == {"now": 1.0} and one.source == SERVER for one in seen)


def test_a_mark_is_taken_before_it_returns() -> None:
    source = Counting(SERVER)
    sampling = Sampling([Watched(source)], time.monotonic())
    before = source.readings
    sampling.mark()
    assert source.readings > before
    sampling.close()


def test_a_source_that_fails_is_said_once_and_again_when_it_is_back() -> None:
    def fail(reading: int) -> None:
        if 2 <= reading <= 4:
            raise SourceError("server: the connection was cut")

    sampling = Sampling([Watched(Counting(SERVER, fail))], time.monotonic())
    for _ in range(6):
        time.sleep(0.1)
        sampling.mark()
    states = [seen for seen in sampling.taken() if isinstance(seen, SourceState)]
    sampling.close()
    assert [(state.lost, state.why) for state in states] == [
        (True, "server: the connection was cut"),
        (False, "answers again"),
    ]


def test_a_source_that_hangs_holds_back_neither_the_others_nor_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sampler, "MARK_S", 0.3)
    free = threading.Event()
    hanging = Counting(SERVER, lambda reading: None if reading == 1 else _wait(free))
    other = Counting(HOST)
    sampling = Sampling([Watched(hanging), Watched(other)], time.monotonic())
    sampling.mark()
    begun = time.monotonic()
    sampling.mark()
    assert time.monotonic() - begun < LONG_S / 2
    before = other.readings
    sampling.mark()
    assert other.readings > before
    sampling.close()
    assert other.closed.is_set()
    free.set()
    assert hanging.closed.wait(LONG_S)


def _wait(free: threading.Event) -> None:
    free.wait(LONG_S)


def test_a_counter_that_went_backwards_is_not_known_for_that_interval() -> None:
    before = Reading(1.0, {"questions": 100.0, "commits": 5.0, "gone": 1.0})
    after = Reading(2.0, {"questions": 3.0, "commits": 8.0, "new": 2.0})
    assert deltas(before, after) == {"commits": 3.0}


def test_counters_of_a_restarted_server_have_grown_since_its_start() -> None:
    before = Reading(1.0, counters={"commits": 900.0, "syncs": 5.0}, gauges={"uptime_s": 60.0})
    after = Reading(9.0, counters={"commits": 40.0, "syncs": 7.0}, gauges={"uptime_s": 3.0})
    assert deltas(before, after) == {"commits": 40.0, "syncs": 7.0}
    young = Reading(1.0, counters=before.counters, gauges={"uptime_s": 2.0})
    assert deltas(young, after) == {"commits": 40.0, "syncs": 7.0}, "up for less than 8 s"


def test_a_server_that_started_just_before_the_first_reading_has_not_restarted() -> None:
    before = Reading(1.0, counters={"commits": 10.0}, gauges={"uptime_s": 0.0})
    after = Reading(3.1, counters={"commits": 40.0}, gauges={"uptime_s": 2.0})
    assert deltas(before, after) == {"commits": 30.0}


def test_a_clock_that_was_set_back_is_no_restart() -> None:
    before = Reading(1.0, counters={"commits": 10.0}, gauges={"uptime_s": 60.0})
    after = Reading(2.0, counters={"commits": 40.0}, gauges={"uptime_s": 3.0})
    assert deltas(before, after) == {"commits": 30.0}


def test_a_source_that_answers_nonsense_is_lost_and_not_the_thread() -> None:
    def fail(reading: int) -> None:
        if reading == 2:
            raise UnicodeDecodeError("utf-8", b"x", 0, 1, "nonsense")

    sampling = Sampling([Watched(Counting(SERVER, fail))], time.monotonic())
    for _ in range(4):
        time.sleep(0.1)
        sampling.mark()
    states = [seen for seen in sampling.taken() if isinstance(seen, SourceState)]
    sampling.close()
    assert [state.lost for state in states] == [True, False]
    assert "nonsense" in states[0].why


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_source_whose_figures_are_no_numbers_is_lost_until_they_are(value: float) -> None:
    class Hostile(Counting):
        def read(self) -> Reading:
            reading = super().read()
            return replace(reading, gauges={"now": value if self.readings == 3 else 1.0})

    sampling = Sampling([Watched(Hostile(SERVER))], time.monotonic())
    for _ in range(6):
        time.sleep(0.1)
        sampling.mark()
    seen = sampling.taken()
    sampling.close()
    states = [one for one in seen if isinstance(one, SourceState)]
    assert [state.lost for state in states] == [True, False]
    assert "now is" in states[0].why
    assert [one.gauges for one in seen if isinstance(one, Observation)][-1] == {"now": 1.0}
