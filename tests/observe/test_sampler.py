"""Samplers: in step with the load, and never in its way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from loadstone.model.observed import Observation, Reading, SourceName, SourceState
from loadstone.observe.sampler import Sampling, Watched, deltas
from loadstone.observe.source import SourceError

SERVER = SourceName(role="server")
HOST = SourceName(role="server-host")


class Counting:
    """A source whose counter grows by one a reading, and that does what it is told to."""

    def __init__(self, name: SourceName, before: Callable[[int], None] | None = None) -> None:
        self.name = name
        self.readings = 0
        self.closed = threading.Event()
        self._before = before

    def read(self) -> Reading:
        self.readings += 1
        if self._before:
            self._before(self.readings)
        return Reading(time.monotonic(), {"readings": float(self.readings)}, {"now": 1.0})

    def close(self) -> None:
        self.closed.set()


def observations(sampling: Sampling) -> list[Observation]:
    return [seen for seen in sampling.taken() if isinstance(seen, Observation)]


def test_readings_fall_on_whole_seconds_after_the_begin_of_the_load() -> None:
    began = time.monotonic()
    sampling = Sampling([Watched(Counting(SERVER))], began)
    time.sleep(0.3)
    sampling.mark()
    phase = time.monotonic() + 0.4
    sampling.align(phase)
    time.sleep(2.7)
    sampling.close()
    ends = [one.to_s + began - phase for one in observations(sampling)]
    aligned = [end for end in ends if end > 0.5]
    assert len(aligned) == 2
    assert all(0 <= end % 1 < 0.2 for end in aligned), ends


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


def test_a_source_that_hangs_holds_back_neither_the_others_nor_the_run() -> None:
    free = threading.Event()
    hanging = Counting(SERVER, lambda reading: None if reading == 1 else _wait(free))
    other = Counting(HOST)
    sampling = Sampling([Watched(hanging), Watched(other)], time.monotonic())
    sampling.mark()
    begun = time.monotonic()
    sampling.mark()
    assert time.monotonic() - begun < 4.0
    before = other.readings
    sampling.mark()
    assert other.readings > before
    sampling.close()
    assert other.closed.is_set()
    free.set()
    assert hanging.closed.wait(5.0)


def _wait(free: threading.Event) -> None:
    free.wait(30.0)


def test_a_counter_that_went_backwards_is_not_known_for_that_interval() -> None:
    before = Reading(1.0, {"questions": 100.0, "commits": 5.0, "gone": 1.0})
    after = Reading(2.0, {"questions": 3.0, "commits": 8.0, "new": 2.0})
    assert deltas(before, after) == {"commits": 3.0}


def test_a_source_that_answers_nonsense_is_lost_and_not_the_thread() -> None:
    def fail(reading: int) -> None:
        if reading == 2:
            raise UnicodeDecodeError("utf-8", b"x", 0, 1, "nonsense")

    sampling = Sampling([Watched(Counting(SERVER, fail))], time.monotonic())
    for _ in range(4):
        time.sleep(0.1)
        begun = time.monotonic()
        sampling.mark()
        assert time.monotonic() - begun < 1.0
    states = [seen for seen in sampling.taken() if isinstance(seen, SourceState)]
    sampling.close()
    assert [state.lost for state in states] == [True, False]
    assert "nonsense" in states[0].why
