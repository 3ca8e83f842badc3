"""A new connection after each N events: all of them are counted, and none is an outage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.driving import (
    Document,
    a_plan,
    connecting,
    drive,
    events,
    local,
    seconds,
    tcp,
    workload,
)
from engine.servers import counters, wait_until_nobody
from engine.truth import null_target
from loadstone.sandbox import Sandbox

OPEN: Document = {"kind": "open", "rate": 300, "gaps": "uniform", "max_backlog": 1000}


def renewing(target: Document, after: int, **changes: Any) -> Document:
    return a_plan(target, **changes) | {"reconnect_after": after}


@pytest.mark.parametrize("after", [1, 3, 100])
def test_a_user_connects_when_the_event_after_so_many_is_due(after: int) -> None:
    with null_target() as (server, target):
        plan = renewing(target, after, stop=events(10), workload=workload("oltp_read_only"))
        outcome = drive(plan).finished()
        counted = server.stats()
    counts = outcome.total()
    # The last event's connection is the last: none is opened for an event that never comes.
    assert counts.connects == -(-10 // after) - 1
    assert counted.logins == 1 + counts.connects
    assert (counts.events, counts.reconnects, outcome.outages) == (10, 0, [])
    # Each connection prepares again; statements are as many as the server answered.
    assert counted.statements == counts.queries == 16 * 10
    assert outcome.latency().get("connect", counts.connects) is not None


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("arrival", [{"kind": "closed", "think_s": 0.001}, OPEN])
def test_connections_are_as_many_as_the_server_took(arrival: Document, shards: int) -> None:
    users = 6
    with null_target() as (server, target):
        plan = renewing(target, 1, users=users, shards=shards, arrival=arrival, stop=seconds(1))
        outcome = drive(plan).finished()
        counted = server.stats()
    counts, tally = outcome.total(), outcome.last.tally
    assert counts.connects > users
    # The server alone counts an attempt that the end of the window cuts off.
    assert 0 <= counted.logins - users - counts.connects <= users
    assert counted.statements == counts.queries == tally.succeeded
    assert outcome.latency()["connect"].count == counts.connects
    # Users between two connections still count as users.
    assert {sample.users for sample in outcome.samples if sample.phase == "window"} == {users}
    assert outcome.outages == []


Ends = set[tuple[str, str]]


def closed_first(port: int) -> tuple[Ends, Ends]:
    """The connections to this port that are in TIME-WAIT: at the server's end, at a client's."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ends = [line.split()[1:4] for line in lines]
    waiting = {(near, far) for near, far, state in ends if state == "06"}
    of_port = f":{port:04X}"
    return (
        {(near, far) for near, far in waiting if near.endswith(of_port)},
        {(near, far) for near, far in waiting if far.endswith(of_port)},
    )


@pytest.mark.server
@pytest.mark.parametrize("tls", ["disabled", "required"])
def test_the_server_closes_first_so_that_no_port_of_ours_is_used_up(
    shared: Sandbox, tls: str
) -> None:
    users = 4
    theirs, ours = closed_first(shared.port)
    plan = renewing(tcp(shared, tls), 1, users=users, stop=events(200))
    plan["session"]["init_sql"] = []
    plan["workload"] = workload("oltp_point_select")
    connects = drive(plan).finished().total().connects
    assert connects > 100
    # The last connections, and those that a busy server had not closed yet, are closed with the
    # step.
    after_theirs, after_ours = closed_first(shared.port)
    assert len(after_ours - ours) < connects / 4
    if tls == "disabled":
        # An end of TLS that nobody reads makes it a reset, which keeps no port at all. A port that
        # is taken again, in this test or after an earlier one, counts once.
        assert len(after_theirs - theirs) > connects / 2


def test_the_event_waits_for_its_connection_and_its_service_does_not_count_it() -> None:
    script = {"accept": {"greeting_us": 150_000}}
    with null_target(json.dumps(script)) as (_, target):
        outcome = drive(renewing(target, 1, stop=events(6))).finished()
    latency = outcome.latency()
    assert latency["connect"].min > 145_000_000
    assert latency["response"].p90 > 145_000_000
    assert latency["service"].p50 < 145_000_000


def test_failures_to_connect_are_counted_and_are_outages_until_it_works() -> None:
    refused = {"refuse": [{"kind": "within", "at_s": 0.3, "for_s": 0.4, "errno": 1040}]}
    with null_target() as (server, target):
        policy = connecting(retries=0, backoff_s=0.05)
        server.set_script(json.dumps(refused))
        plan = renewing(target, 1, users=2, connect=policy, stop=seconds(1.2))
        outcome = drive(plan).finished()
        counted = server.stats()
    counts = outcome.total()
    failed = outcome.connect_failures()
    assert failed["1040"] == counted.refused > 0
    assert 0 <= counted.logins - 2 - counts.connects - counts.reconnects <= 2
    # A user whose reconnect was refused has no connection until it is back.
    assert 1 <= counts.reconnects <= 2
    assert outcome.outages[0].reason.startswith("1040 ")
    assert all(outage.to_s is not None for outage in outcome.outages)


@pytest.mark.server
@pytest.mark.parametrize(
    ("over", "protocol"), [("tls", "prepared"), ("tcp", "text"), ("socket", "prepared")]
)
def test_a_real_server_sees_the_same_logins_and_no_aborted_client(
    quiet: Sandbox, over: str, protocol: str
) -> None:
    target = (
        local(quiet)
        if over == "socket"
        else tcp(quiet, "required" if over == "tls" else "disabled")
    )
    plan = renewing(
        target, 2, users=3, protocol=protocol, stop=events(40),
        workload=workload("oltp_read_only"),
    )  # fmt: skip
    before = counters(quiet)
    outcome = drive(plan).finished()
    wait_until_nobody(quiet)
    after = counters(quiet)
    counts = outcome.total()
    assert counts.events == 40
    assert 15 <= counts.connects <= 20
    # Those that look at the counters, and at the connections, connect as well: few, and at the end.
    grew = after["Connections"] - before["Connections"]
    assert 3 + counts.connects <= grew <= 3 + counts.connects + 40
    assert after["Aborted_clients"] == before["Aborted_clients"]
    assert after["Com_begin"] - before["Com_begin"] == 40
