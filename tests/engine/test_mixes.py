"""Several workloads at once: each is counted by itself, and together they are the step."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.driving import Document, Outcome, a_plan, drive, events, seconds, tcp, workload
from engine.servers import counters, wait_until_nobody
from engine.truth import null_target
from loadstone.model.records import MemberCounts
from loadstone.sandbox import Sandbox


def member(name: str, works: str, tables: int = 2, **changes: Any) -> Document:
    options = changes.pop("options", {})
    return {"name": name, "workload": workload(works, tables, **options)} | changes


def mixed(target: Document, *members: Document, **changes: Any) -> Document:
    plan = a_plan(target, **changes) | {"members": list(members)}
    del plan["workload"]
    return plan


def total_of(outcome: Outcome, name: str, *phases: str) -> MemberCounts:
    """A member's counts in these phases; in all of them if none is named."""
    seen = [
        member.counts
        for sample in outcome.samples
        if not phases or sample.phase in phases
        for member in sample.members
        if member.name == name
    ]
    fields = MemberCounts.model_fields
    return MemberCounts(**{field: sum(getattr(each, field) for each in seen) for field in fields})


READS = member("reads", "oltp_point_select", weight=3)
WRITES = member("writes", "oltp_update_index", weight=1)
REPORT = member("report", "oltp_read_only", users=2, options={"skip_trx": True})


@pytest.mark.parametrize("protocol", ["prepared", "text"])
@pytest.mark.parametrize("shards", [1, 2])
def test_events_are_drawn_by_weight_and_statements_belong_to_their_member(
    shards: int, protocol: str
) -> None:
    with null_target() as (server, target):
        plan = mixed(
            target,
            READS,
            WRITES,
            users=8,
            shards=shards,
            protocol=protocol,
            stop=events(4000),
        )
        outcome = drive(plan).finished()
        counted = server.stats()
    reads, writes, both = total_of(outcome, "reads"), total_of(outcome, "writes"), outcome.total()
    assert reads.events + writes.events == 4000
    # Binomial with 1/4: 27 is one standard deviation.
    assert abs(writes.events - 1000) < 6 * 27
    assert (reads.reads, reads.writes) == (reads.events, 0)
    assert (writes.reads, writes.writes) == (0, writes.events)
    assert counted.statements == both.queries
    latency = outcome.latency()
    assert latency["response-of-reads"].count == reads.events
    assert latency["service-of-writes"].count == writes.events
    assert latency["response"].count == 4000


def test_users_of_its_own_do_nothing_else_and_think_as_long_as_they_are_told() -> None:
    slow = {"service": {"kind": "constant", "us": 2_000}}
    thinking = REPORT | {"think_s": 0.2, "workload": workload("oltp_point_select")}
    with null_target(json.dumps(slow)) as (_, target):
        plan = mixed(target, READS, thinking, users=3, stop=seconds(1.0))
        outcome = drive(plan).finished()
    report, reads = total_of(outcome, "report"), total_of(outcome, "reads")
    # Two users, at most an event each 0.2 s; the only user of the others never rests.
    assert 2 < report.due <= 12
    assert reads.events > 5 * report.events
    users = {sample.users for sample in outcome.samples if sample.phase == "window"}
    assert users == {3}


@pytest.mark.parametrize("shards", [1, 3])
def test_an_open_loop_has_its_rate_whatever_runs_beside_it(shards: int) -> None:
    open_loop = {"kind": "open", "rate": 400, "gaps": "uniform", "max_backlog": 1000}
    with null_target() as (server, target):
        plan = mixed(
            target, REPORT, READS, WRITES, users=10, shards=shards, arrival=open_loop,
            stop=seconds(1.0),
        )  # fmt: skip
        outcome = drive(plan).finished()
        counted = server.stats()
    due = total_of(outcome, "reads").due + total_of(outcome, "writes").due
    assert due == 400
    assert total_of(outcome, "report").events > 0
    assert counted.statements == outcome.total().queries


def test_events_that_nobody_takes_are_counted_where_they_were_due() -> None:
    stalled = {"service": {"kind": "constant", "us": 500_000}}
    open_loop = {"kind": "open", "rate": 200, "gaps": "uniform", "max_backlog": 50}
    with null_target(json.dumps(stalled)) as (_, target):
        plan = mixed(target, READS, WRITES, users=2, arrival=open_loop, stop=seconds(1.0))
        outcome = drive(plan).finished()
    tallies = {member.name: member.tally for member in outcome.samples[-1].members}
    assert sum(tally.due for tally in tallies.values()) == 200
    assert all(tally.skipped > 0 and tally.waiting == 0 for tally in tallies.values())


@pytest.mark.server
def test_a_real_server_counts_the_same_of_each(quiet: Sandbox) -> None:
    plan = mixed(
        tcp(quiet), member("shop", "oltp_read_write", weight=1), REPORT,
        member("stock", "oltp_update_non_index", weight=1), users=4, stop=events(200),
        shards=2,
    )  # fmt: skip
    before = counters(quiet)
    outcome = drive(plan | {"reconnect_after": 7, "idle": 5}).finished()
    wait_until_nobody(quiet)
    after = counters(quiet)
    shop, report, stock = (total_of(outcome, name) for name in ("shop", "report", "stock"))
    assert shop.events + report.events + stock.events + shop.failed + stock.failed == 200
    assert after["Com_commit"] - before["Com_commit"] == shop.events
    assert report.reads == 14 * report.events
    assert (report.writes, stock.reads) == (0, 0)
    if not outcome.errors():
        assert shop.reads == 14 * shop.events
        assert after["Com_delete"] - before["Com_delete"] == shop.events
