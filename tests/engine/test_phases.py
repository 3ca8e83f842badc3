"""How many users are at work, or how many events are due, from second to second."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.driving import Document, Outcome, a_plan, drive, seconds, workload
from engine.truth import null_target
from loadstone import engine
from loadstone.engine import PlanRefused
from loadstone.model.records import Sample

SERVICE_US = 5_000
SHARDS = 2
"""More than one, so that a number is divided among them; the members below have one."""


def phase(length: float, begin: float, end: float | None = None) -> Document:
    return {"seconds": length, "from": begin, "to": begin if end is None else end}


def phased(target: Document, *phases: Document, **changes: Any) -> Document:
    return a_plan(target, **changes) | {"phases": list(phases)}


def in_window(outcome: Outcome) -> list[Sample]:
    return [sample for sample in outcome.samples if sample.phase != "drain"]


@pytest.mark.slow
def test_so_many_users_are_at_work_as_the_phase_says() -> None:
    slow = {"service": {"kind": "constant", "us": SERVICE_US}}
    with null_target(json.dumps(slow)) as (server, target):
        plan = phased(
            target, phase(1, 2), phase(1, 16), phase(2, 4, 8), phase(1, 0), phase(1, 1),
            users=16, shards=SHARDS, stop=seconds(5.0, 1.0),
        )  # fmt: skip
        outcome = drive(plan).finished()
        counted = server.stats()
    flying = [sample.tally.in_flight for sample in in_window(outcome)]
    # At the end of a second a user may be between two events, but not in one that it may not start.
    most = [2, 16, 6, 8, 0, 1]
    assert all(seen <= allowed for seen, allowed in zip(flying, most, strict=True)), flying
    assert all(seen >= allowed - 2 for seen, allowed in zip(flying, most, strict=True)), flying
    events = [sample.counts.events for sample in in_window(outcome)]
    assert events[1] > 3 * events[0]
    # Once all users have to rest, what is in flight is finished, and nothing starts.
    assert events[4] < events[3] / 2
    assert counted.logins == 16
    assert counted.statements == outcome.total().queries
    assert [sample.phase for sample in in_window(outcome)] == ["warmup", *["window"] * 5]


@pytest.mark.slow
def test_so_many_events_are_due_as_the_phase_says() -> None:
    arrival = {"kind": "open", "rate": 1, "gaps": "uniform", "max_backlog": 1000}
    with null_target() as (_, target):
        plan = phased(
            target, phase(1, 100), phase(1, 400), phase(2, 0, 800), phase(1, 0), phase(1, 50),
            users=16, shards=SHARDS, arrival=arrival, stop=seconds(6.0),
        )  # fmt: skip
        outcome = drive(plan).finished()
    due = [sample.counts.due for sample in in_window(outcome)]
    # After t seconds of the ramp 200 t^2 events were due.
    for seen, wanted in zip(due, [100, 400, 200, 600, 0, 50], strict=True):
        assert abs(seen - wanted) <= SHARDS, due


@pytest.mark.slow
def test_members_with_users_of_their_own_work_through_all_phases() -> None:
    slow = {"service": {"kind": "constant", "us": SERVICE_US}}
    often = {"name": "often", "weight": 1, "workload": workload("oltp_point_select")}
    steady = {"name": "steady", "users": 2, "workload": workload("oltp_point_select")}
    with null_target(json.dumps(slow)) as (_, target):
        plan = phased(target, phase(1, 0), phase(2, 6), users=8, stop=seconds(3.0))
        plan |= {"members": [often, steady]}
        del plan["workload"]
        outcome = drive(plan).finished()
    first, *_, last = in_window(outcome)
    events = {member.name: member.counts.events for member in first.members}
    assert events["often"] == 0 < events["steady"]
    events = {member.name: member.counts.events for member in last.members}
    assert events["often"] > events["steady"] > 0


def test_nobody_else_changes_such_a_step() -> None:
    with null_target() as (_, target):
        job = engine.start(json.dumps(phased(target, phase(9, 1), stop=seconds(9.0))))
        with pytest.raises(PlanRefused, match="by its phases"):
            job.set_users(1)
        job.stop()
