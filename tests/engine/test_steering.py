"""Rate and users changed while a step runs, against a server with scripted delays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from engine.driving import PATIENCE_S, a_plan, seconds
from kept import Stopwatch
from loadstone import engine
from loadstone.engine import PlanRefused
from loadstone.model.null_server import NullServerSettings
from loadstone.model.records import End, Sample

SERVICE_US = 20_000
"""Microseconds a statement: a shard is mostly idle."""
EACH = 50
"""The most events a second of one user."""

LUA = """
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  con:query("SELECT c FROM sbtest1 WHERE id=1")
end
"""


@pytest.fixture
def target() -> Iterator[dict[str, Any]]:
    server = engine.null_server(NullServerSettings())
    server.set_script(json.dumps({"service": {"kind": "constant", "us": SERVICE_US}}))
    yield {
        **{"host": "127.0.0.1", "port": server.port, "socket": None, "user": "u"},
        **{"password": "", "database": "sbtest", "server_public_key": None},
        "tls": {"mode": "disabled", "ca": None, "cert": None, "key": None},
    }
    server.stop()


class Steering:
    """A step of a minute that can be changed as it runs; leaving the block ends it."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.job = engine.start(json.dumps(plan | {"stop": seconds(60.0)}))
        self.samples: list[Sample] = []
        self.watch = Stopwatch()
        self._end: End | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.job.stop()
        while not error[0] and self._end is None:
            self._take()

    @property
    def end(self) -> End:
        assert self._end is not None
        return self._end

    def whole_second(self) -> Sample:
        """The first sample whose interval began after the last change took effect.

        Samples taken so far are older than the change. Of the next two, the first may have been
        under way when it was sent, and the second may be of both.
        """
        while self._take(0.0):
            pass
        before = len(self.samples)
        return self.until(lambda sample: len(self.samples) >= before + 3)

    def until(self, holds: Callable[[Sample], bool]) -> Sample:
        """The next sample that matches."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert time.monotonic() < deadline, self.samples[-3:]
            if self._take() and holds(self.samples[-1]):
                return self.samples[-1]

    def _take(self, wait_s: float = 1.0) -> bool:
        """Take a record; returns whether it is a sample, which keeps both laws."""
        record = self.job.next(wait_s)
        if isinstance(record, Sample):
            assert record.tally.balances()
            self.samples.append(record)
        if isinstance(record, End):
            assert record.tally.balances()
            self._end = record
        return isinstance(record, Sample)

    def least(self, a_second: float, sample: Sample) -> float:
        """The fewest events to expect of `a_second`, less the time in which a core was missing."""
        return a_second * (0.8 * sample.seconds - self.watch.kept_s)


def script_of(path: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """The same step driven by a script."""
    path.write_text(LUA)
    general = {"threads": plan["users"], "mysql_db": "sbtest"}
    script = {"path": str(path), "options": {}, "general": general}
    return {name: value for name, value in plan.items() if name != "workload"} | {"script": script}


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "scripted"), [(2, False), (1, True)], ids=["ours", "script"])
def test_users_finish_their_event_and_rest_until_they_may_again(
    target: dict[str, Any], tmp_path: Path, shards: int, scripted: bool
) -> None:
    plan = a_plan(target, users=8, shards=shards)
    if scripted:
        plan = script_of(tmp_path / "event.lua", plan)
    with Steering(plan) as step:
        all_of = step.whole_second()
        step.job.set_users(3)
        few = step.whole_second()
        step.job.set_users(8)
        again = step.whole_second()
    assert [each.tally.in_flight for each in (all_of, few, again)] == [8, 3, 8]
    assert few.counts.events <= 3 * (EACH * few.seconds + 1)
    assert again.counts.events >= step.least(8 * EACH, again)
    # No connection is closed for it.
    assert {sample.users for sample in step.samples if sample.phase == "window"} == {8}
    assert sum(sample.counts.reconnects for sample in step.samples) == 0
    assert (step.end.reason, step.end.tally.in_flight, step.end.tally.waiting) == ("stopped", 0, 0)


@pytest.mark.slow
def test_users_that_think_rest_as_well(target: dict[str, Any]) -> None:
    arrival = {"kind": "closed", "think_s": 0.05}
    with Steering(a_plan(target, users=6, arrival=arrival)) as step:
        step.until(lambda sample: sample.counts.events > 0)
        step.job.set_users(1)
        alone = step.whole_second()
    assert 0 < alone.counts.events <= alone.seconds / 0.07 + 1
    assert alone.tally.in_flight <= 1


@pytest.mark.slow
def test_a_rate_holds_from_the_moment_on_that_it_is_set(target: dict[str, Any]) -> None:
    shards = 2
    arrival = {"kind": "open", "rate": 100, "gaps": "uniform", "max_backlog": 1000}
    with Steering(a_plan(target, users=32, shards=shards, arrival=arrival)) as step:
        due = {100: step.whole_second().counts.due}
        for rate in (400, 40):
            step.job.set_rate(rate)
            due[rate] = step.whole_second().counts.due
    assert all(abs(found - rate) <= shards for rate, found in due.items()), due


@pytest.mark.slow
def test_fewer_users_of_an_open_loop_let_events_wait(target: dict[str, Any]) -> None:
    arrival = {"kind": "open", "rate": 200, "gaps": "uniform", "max_backlog": 1000}
    with Steering(a_plan(target, users=16, arrival=arrival)) as step:
        step.until(lambda sample: sample.counts.events > 0)
        step.job.set_users(1)
        # A user does at most fifty events a second: of two hundred users, three in four wait.
        alone = step.whole_second()
        step.job.set_users(16)
        step.until(lambda sample: sample.tally.waiting < alone.tally.waiting / 2)
    assert alone.tally.waiting > 100
    assert alone.tally.in_flight == 1


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "scripted"), [(2, False), (1, True)], ids=["ours", "script"])
def test_while_a_closed_loop_is_held_no_event_begins(
    target: dict[str, Any], tmp_path: Path, shards: int, scripted: bool
) -> None:
    plan = a_plan(target, users=8, shards=shards)
    if scripted:
        plan = script_of(tmp_path / "event.lua", plan)
    with Steering(plan) as step:
        step.until(lambda sample: sample.counts.events > 0)
        step.job.hold(True)
        held = step.whole_second()
        step.job.hold(False)
        again = step.whole_second()
    assert (held.counts.events, held.tally.in_flight) == (0, 0)
    assert again.counts.events >= step.least(8 * EACH, again)
    assert {sample.users for sample in step.samples if sample.phase == "window"} == {8}


@pytest.mark.slow
def test_while_an_open_loop_is_held_what_is_due_is_skipped_and_nothing_bursts(
    target: dict[str, Any],
) -> None:
    arrival = {"kind": "open", "rate": 100, "gaps": "uniform", "max_backlog": 1000}
    with Steering(a_plan(target, users=32, shards=2, arrival=arrival)) as step:
        step.until(lambda sample: sample.counts.events > 0)
        step.job.hold(True)
        held = step.whole_second()
        step.job.hold(False)
        again = step.whole_second()
    assert abs(held.counts.due - 100) <= 2
    assert (held.counts.events, held.counts.skipped) == (0, held.counts.due)
    assert held.tally.waiting == 0
    # Events that were due before and not done would come now.
    assert abs(again.counts.events - 100) <= 4 + 100 * step.watch.kept_s
    assert step.end.tally.skipped >= held.counts.skipped


def test_what_a_step_cannot_be_driven_with_is_refused(target: dict[str, Any]) -> None:
    closed = engine.start(json.dumps(a_plan(target, users=8, stop=seconds(20.0))))
    with pytest.raises(PlanRefused, match="1 to 8 in this step"):
        closed.set_users(9)
    with pytest.raises(PlanRefused, match="1 to 8 in this step"):
        closed.set_users(0)
    with pytest.raises(PlanRefused, match="a closed loop has none"):
        closed.set_rate(10.0)
    closed.stop()
    arrival = {"kind": "open", "rate": 200, "gaps": "uniform", "max_backlog": 1000}
    plan = a_plan(target, users=8, shards=2, arrival=arrival, stop=seconds(20.0))
    opened = engine.start(json.dumps(plan))
    with pytest.raises(PlanRefused, match="2 to 8 in this step"):
        opened.set_users(1)
    for rate in (0.0, -1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(PlanRefused, match="rate"):
            opened.set_rate(rate)
    opened.stop()
