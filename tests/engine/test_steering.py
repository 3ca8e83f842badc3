"""Rate and users changed while a step runs, against a server that answers when told to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.driving import a_plan, seconds
from loadstone import engine
from loadstone.engine import PlanRefused, StepJob
from loadstone.model.null_server import NullServerSettings
from loadstone.model.records import End, Sample

PATIENCE_S = 40.0
SERVICE_US = 20_000
"""Of each statement: a user does fifty events a second, and a shard is bored."""

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


Turn = Callable[[StepJob], None]


def steered(plan: dict[str, Any], turns: dict[int, Turn]) -> tuple[list[Sample], End]:
    """All samples of a step that is told something after its n-th one; both laws hold in each."""
    job = engine.start(json.dumps(plan))
    samples: list[Sample] = []
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        record = job.next(1.0)
        if isinstance(record, Sample):
            assert record.tally.balances()
            samples.append(record)
            if turn := turns.get(len(samples)):
                turn(job)
        if isinstance(record, End):
            assert record.tally.balances()
            return samples, record
    raise AssertionError("the step did not end")


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
    plan = a_plan(target, users=8, shards=shards, stop=seconds(5.0))
    if scripted:
        plan = script_of(tmp_path / "event.lua", plan)
    turns: dict[int, Turn] = {
        1: lambda job: job.set_users(3),
        3: lambda job: job.set_users(8),
    }
    samples, end = steered(plan, turns)
    assert end.reason == "finished"
    flying = [sample.tally.in_flight for sample in samples if sample.phase == "window"]
    # The second after a word is of both; the one behind it is of the new number alone.
    assert [flying[at] for at in (0, 2, 4)] == [8, 3, 8]
    rates = [sample.counts.events for sample in samples]
    assert rates[2] < 0.6 * rates[4]
    # Nobody is disconnected for it.
    assert {sample.users for sample in samples if sample.phase == "window"} == {8}
    assert sum(sample.counts.reconnects for sample in samples) == 0
    assert (end.tally.in_flight, end.tally.waiting) == (0, 0)


@pytest.mark.slow
def test_users_that_think_rest_as_well(target: dict[str, Any]) -> None:
    arrival = {"kind": "closed", "think_s": 0.05}
    plan = a_plan(target, users=6, arrival=arrival, stop=seconds(3.0))
    samples, _ = steered(plan, {1: lambda job: job.set_users(1)})
    events = [sample.counts.events for sample in samples if sample.phase == "window"]
    assert events[2] < 0.5 * events[0]
    assert samples[2].tally.in_flight <= 1


@pytest.mark.slow
def test_a_rate_holds_from_the_moment_on_that_it_is_set(target: dict[str, Any]) -> None:
    shards = 2
    arrival = {"kind": "open", "rate": 100, "gaps": "uniform", "max_backlog": 1000}
    plan = a_plan(target, users=32, shards=shards, arrival=arrival, stop=seconds(5.0))
    turns: dict[int, Turn] = {1: lambda job: job.set_rate(400), 3: lambda job: job.set_rate(40)}
    samples, end = steered(plan, turns)
    due = [sample.counts.due for sample in samples if sample.phase == "window"]
    assert end.reason == "finished"
    for second, rate in ((0, 100), (2, 400), (4, 40)):
        assert abs(due[second] - rate) <= shards, due


@pytest.mark.slow
def test_fewer_users_of_an_open_loop_let_events_wait(target: dict[str, Any]) -> None:
    arrival = {"kind": "open", "rate": 200, "gaps": "uniform", "max_backlog": 1000}
    plan = a_plan(target, users=16, arrival=arrival, stop=seconds(4.0))
    # One user does fifty events a second at most: of two hundred, three in four wait.
    samples, _ = steered(plan, {1: lambda job: job.set_users(1), 3: lambda job: job.set_users(16)})
    waiting = [sample.tally.waiting for sample in samples if sample.phase == "window"]
    assert waiting[2] > 100
    assert samples[2].tally.in_flight == 1
    assert waiting[3] < waiting[2]


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "scripted"), [(2, False), (1, True)], ids=["ours", "script"])
def test_while_a_closed_loop_is_held_no_event_begins(
    target: dict[str, Any], tmp_path: Path, shards: int, scripted: bool
) -> None:
    plan = a_plan(target, users=8, shards=shards, stop=seconds(5.0))
    if scripted:
        plan = script_of(tmp_path / "event.lua", plan)
    turns: dict[int, Turn] = {1: lambda job: job.hold(True), 3: lambda job: job.hold(False)}
    samples, end = steered(plan, turns)
    assert end.reason == "finished"
    events = [sample.counts.events for sample in samples if sample.phase == "window"]
    # The second after a word is of both; in the one behind it nothing is done at all.
    assert events[2] == 0
    assert events[4] > 0.7 * events[0]
    assert samples[2].tally.in_flight == 0
    assert {sample.users for sample in samples if sample.phase == "window"} == {8}


@pytest.mark.slow
def test_while_an_open_loop_is_held_what_is_due_is_skipped_and_nothing_bursts(
    target: dict[str, Any],
) -> None:
    arrival = {"kind": "open", "rate": 100, "gaps": "uniform", "max_backlog": 1000}
    plan = a_plan(target, users=32, shards=2, arrival=arrival, stop=seconds(5.0))
    turns: dict[int, Turn] = {1: lambda job: job.hold(True), 3: lambda job: job.hold(False)}
    samples, end = steered(plan, turns)
    inside = [sample for sample in samples if sample.phase == "window"]
    assert abs(inside[2].counts.due - 100) <= 2
    assert (inside[2].counts.events, inside[2].counts.skipped) == (0, inside[2].counts.due)
    assert inside[2].tally.waiting == 0
    assert abs(inside[4].counts.events - 100) <= 4
    assert end.tally.skipped >= inside[2].counts.skipped


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
