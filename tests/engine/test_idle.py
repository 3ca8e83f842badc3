"""Idle connections alongside users that are at work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_plan,
    connecting,
    drive,
    seconds,
    session,
    tcp,
)
from engine.servers import execute, loaders, wait_until_nobody
from engine.truth import null_target
from loadstone.model.records import IdleCounts
from loadstone.sandbox import Sandbox


def beside(target: Document, idle: int, **changes: Any) -> Document:
    return a_plan(target, **changes) | {"idle": idle}


@pytest.mark.parametrize("shards", [1, 2])
def test_they_are_held_and_nothing_is_asked_on_them(shards: int) -> None:
    users, idle = 3, 200
    with null_target() as (server, target):
        plan = beside(target, idle, users=users, shards=shards, stop=seconds(60))
        with Driving(plan) as step:
            connected = step.until_connected().connected
            assert connected is not None
            assert (connected.users, connected.idle) == (users, idle)
            assert server.stats().open == users + idle
            step.until_samples(1)
            step.stop()
        outcome = step.outcome
        counted = server.stats()
    assert counted.logins == users + idle
    assert counted.statements == outcome.total().queries
    window = [sample for sample in outcome.samples if sample.phase == "window"]
    assert all(sample.idle == IdleCounts(open=idle) for sample in window)
    assert {sample.users for sample in window} == {users}


def test_no_more_are_opened_at_once_than_the_plan_allows() -> None:
    slow = {"accept": {"greeting_us": 20_000}}
    with null_target(json.dumps(slow)) as (server, target):
        policy = connecting(at_once=4, retries=0)
        outcome = drive(beside(target, 59, connect=policy, stop=seconds(0.2))).finished()
        assert server.stats().logins == 60
    # Fifteen rounds of four, each of which waits for its greeting.
    assert outcome.connected is not None
    assert outcome.connected.seconds > 0.28


def test_where_the_server_has_no_room_for_them_the_step_does_not_begin() -> None:
    full = {"refuse": [{"kind": "first", "connects": 1000, "errno": 1040}]}
    with null_target(json.dumps(full)) as (_, target):
        outcome = drive(beside(target, 5, connect=connecting(retries=1), stop=seconds(1)))
    assert outcome.failure == ("too_many_connections", 1040)


@pytest.mark.server
def test_those_that_the_server_ends_are_counted_and_opened_again(quiet: Sandbox) -> None:
    idle = 12
    # Users send all the time: only idle connections exceed the server's timeout.
    quiet_for = session("SET SESSION wait_timeout = 1")
    plan = beside(tcp(quiet), idle, users=2, session=quiet_for, stop=seconds(60))
    with Driving(plan) as step:
        step.until(lambda seen: sum(s.idle.lost for s in seen.samples if s.idle) >= idle)
        step.stop()
    outcome = step.outcome
    wait_until_nobody(quiet)
    seen = [sample.idle for sample in outcome.samples if sample.idle]
    # A connection lost right before the end may not be back.
    missing = idle - seen[-1].open
    assert sum(each.opened for each in seen) == sum(each.lost for each in seen) - missing
    assert (outcome.total().reconnects, outcome.outages) == (0, [])
    assert outcome.errors() == {}
    assert any("idle connection" in error.message for error in outcome.errors_said.values())


@pytest.mark.server
def test_killed_ones_come_back_and_users_lose_nothing(quiet: Sandbox) -> None:
    idle = 8
    with Driving(beside(tcp(quiet), idle, users=1, stop=seconds(60))) as step:
        step.until_samples(1)
        sleeping = [number for number, state in loaders(quiet) if state == "Sleep"]
        execute(quiet, *(f"KILL {number}" for number in sorted(sleeping)[-4:]))

        def all_are_back(seen: Outcome) -> bool:
            lost = sum(sample.idle.lost for sample in seen.samples if sample.idle)
            last = seen.samples[-1]
            back = last.idle is not None and last.idle.open == idle and last.users == 1
            return back and lost + seen.total().reconnects == 4

        step.until(all_are_back)
        step.stop()
    assert step.outcome.last.error is None
