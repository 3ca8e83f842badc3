"""Servers that die, stall, shut down and throw users out, while the load goes on."""

from __future__ import annotations

import os
import signal
import time

import pytest

from engine.conftest import Start, on_mariadb
from engine.driving import (
    Driving,
    Loading,
    a_layout,
    a_load,
    a_plan,
    connecting,
    drive,
    load,
    local,
    seconds,
    tcp,
    workload,
)
from engine.servers import asked, execute, loaders, variables
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server


@pytest.mark.parametrize(
    ("server", "over"),
    [("mariadb", "socket"), pytest.param("mysql", "tcp", marks=pytest.mark.mysql)],
    indirect=["server"],
)
def test_a_server_killed_and_started_again_is_one_outage(start: Start, over: str) -> None:
    sandbox = start()
    load(a_load(local(sandbox))).finished()
    target = tcp(sandbox) if over == "tcp" else local(sandbox)
    users = 24
    plan = a_plan(
        target, concurrency=users, shards=2, stop=seconds(60), workload=workload("oltp_read_write"),
    )  # fmt: skip
    with Driving(plan) as step:
        step.until_samples(2)
        sandbox.kill()
        time.sleep(1)
        sandbox.start_again()
        # How long a server takes to come back is its own matter, and the machine's.
        step.until(lambda outcome: bool(outcome.outages))
        step.until_samples(len(step.outcome.samples) + 2)
        step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    (outage,) = outcome.outages
    assert outage.users == users
    assert outage.to_s is not None
    assert 1.5 < outage.from_s < outage.to_s
    assert outage.to_s - outage.from_s > 1
    assert outage.reason.startswith("2013 ")

    counts, tally = outcome.total(), outcome.last.tally
    assert counts.reconnects == users
    # Every user had an event in flight; what failed else are deadlocks, which are restarted.
    assert outcome.errors()["2013"] == tally.failed == counts.failed == users
    refused = outcome.connect_failures()
    assert refused["2003" if over == "tcp" else "2002"] >= users
    assert tally.due == tally.succeeded + tally.failed
    assert tally.in_flight == tally.waiting == tally.skipped == 0

    assert outcome.samples[-1].users == users
    assert any(sample.users == 0 for sample in outcome.samples)
    # They are at work again; how fast, is the matter of a server that has just begun.
    after = [sample.counts.events for sample in outcome.samples if sample.to_s > outage.to_s]
    assert sum(after) > 0


@on_mariadb
def test_a_server_that_does_not_come_back_leaves_what_waits_as_skipped(start: Start) -> None:
    sandbox = start()
    load(a_load(local(sandbox))).finished()
    with Driving(a_plan(tcp(sandbox), concurrency=5, stop=seconds(2))) as step:
        step.until_samples(1)
        sandbox.kill()
    outcome = step.outcome.finished()
    (outage,) = outcome.outages
    assert (outage.users, outage.to_s) == (5, None)
    tally = outcome.last.tally
    assert (tally.failed, tally.skipped, tally.waiting, tally.in_flight) == (5, 5, 0, 0)


def test_sessions_that_are_killed_come_back_and_the_others_stay(quiet: Sandbox) -> None:
    plan = a_plan(
        tcp(quiet), concurrency=8, stop=seconds(1.2), workload=workload("oltp_read_only"),
    )  # fmt: skip
    with Driving(plan) as step:
        step.until_connected()
        time.sleep(0.3)
        chosen = [number for number, _ in loaders(quiet)][:3]
        with quiet.connect() as connection:
            for number in chosen:
                asked(connection, f"KILL CONNECTION {number}")
    outcome = step.outcome.finished()
    counts = outcome.total()
    assert counts.reconnects == counts.failed == 3
    assert sum(outcome.errors().values()) == 3
    assert set(outcome.errors()) <= {"1927", "1053", "1317", "2013"}
    assert outcome.samples[-1].users == 8
    assert 1 <= len(outcome.outages) <= 3
    assert all(outage.to_s is not None and outage.users <= 3 for outage in outcome.outages)


@on_mariadb
def test_a_stall_is_latency_and_no_outage(start: Start) -> None:
    sandbox = start()
    load(a_load(local(sandbox))).finished()
    plan = a_plan(
        tcp(sandbox), concurrency=4, stop=seconds(3), workload=workload("oltp_read_only"),
    )  # fmt: skip
    with Driving(plan) as step:
        step.until_connected()
        time.sleep(0.5)
        os.kill(sandbox.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(sandbox.pid, signal.SIGCONT)
    outcome = step.outcome.finished()
    assert outcome.outages == []
    assert outcome.errors() == {}
    assert outcome.total().reconnects == 0
    slowest = max(sample.latency_ns.response.max or 0 for sample in outcome.samples)
    assert 1.4e9 < slowest < 2.9e9
    assert any(sample.counts.events == 0 for sample in outcome.samples)


@on_mariadb
class TestStalledForGood:
    """A server that does not answer any more must not keep anything from ending."""

    @pytest.fixture
    def stalled(self, start: Start) -> Sandbox:
        sandbox = start()
        load(a_load(local(sandbox))).finished()
        return sandbox

    def test_a_step_ends_after_the_longest_drain(self, stalled: Sandbox) -> None:
        plan = a_plan(tcp(stalled), concurrency=4, stop=seconds(0.6))
        with Driving(plan) as step:
            step.until_connected()
            time.sleep(0.2)
            os.kill(stalled.pid, signal.SIGSTOP)
            began = time.monotonic()
        took = time.monotonic() - began
        os.kill(stalled.pid, signal.SIGCONT)
        assert 4 < took < 8
        outcome = step.outcome.finished()
        assert outcome.last.tally.in_flight == 4
        assert outcome.samples[-1].phase == "drain"

    @pytest.mark.parametrize("over", ["tcp", "socket"])
    def test_a_step_that_cannot_log_in_says_so(self, stalled: Sandbox, over: str) -> None:
        target = tcp(stalled) if over == "tcp" else local(stalled)
        os.kill(stalled.pid, signal.SIGSTOP)
        try:
            plan = a_plan(target, concurrency=300, connect=connecting(timeout_s=0.3, retries=1))
            assert drive(plan).failure == ("timed_out", 110)
        finally:
            os.kill(stalled.pid, signal.SIGCONT)

    @pytest.mark.parametrize("method", ["infile", "insert"])
    def test_a_load_can_be_stopped(self, stalled: Sandbox, method: str) -> None:
        execute(stalled, "CREATE DATABASE big")
        layout = a_layout(1, 200_000)
        plan = a_load(local(stalled, database="big"), layout=layout, method=method)
        with Loading(plan) as loading:
            loading.until(lambda loaded: bool(loaded.progress))
            os.kill(stalled.pid, signal.SIGSTOP)
            time.sleep(0.7)
            began = time.monotonic()
            loading.stop()
            try:
                loading.until(lambda loaded: loaded.end is not None, 8)
            finally:
                os.kill(stalled.pid, signal.SIGCONT)
        assert time.monotonic() - began < 4
        assert loading.loaded.last.reason == "stopped"


def test_a_shutdown_is_an_outage(start: Start) -> None:
    sandbox = start()
    load(a_load(local(sandbox))).finished()
    with Driving(a_plan(tcp(sandbox), concurrency=6, stop=seconds(3))) as step:
        step.until_samples(1)
        os.kill(sandbox.pid, signal.SIGTERM)
    outcome = step.outcome.finished()
    (outage,) = outcome.outages
    assert (outage.users, outage.to_s) == (6, None)
    assert set(outcome.errors()) <= {"1053", "1927", "2013"}
    assert sum(outcome.errors().values()) == outcome.last.tally.failed == 6


def test_fewer_connections_than_users_after_an_outage_is_counted_and_survived(
    shared: Sandbox,
) -> None:
    execute(
        shared,
        "CREATE USER IF NOT EXISTS plain@'%' IDENTIFIED BY ''",
        "GRANT SELECT ON *.* TO plain@'%'",
    )
    target = tcp(shared) | {"user": "plain", "password": ""}
    with Driving(a_plan(target, concurrency=16, stop=seconds(3))) as step:
        step.until_connected()
        numbers = [number for number, _ in loaders(shared)]
        with variables(shared, max_connections=10) as connection:
            for number in numbers:
                asked(connection, f"KILL CONNECTION {number}")
            step.until(lambda outcome: outcome.connect_failures()["1040"] > 0)
    outcome = step.outcome.finished()
    assert outcome.total().reconnects == 16
    assert outcome.samples[-1].users == 16


def test_two_shards_that_lose_everything_at_once_agree_on_one_outage(quiet: Sandbox) -> None:
    plan = a_plan(tcp(quiet), concurrency=10, shards=3, stop=seconds(1))
    with Driving(plan) as step:
        step.until_connected()
        time.sleep(0.3)
        numbers = [number for number, _ in loaders(quiet)]
        with quiet.connect() as connection:
            for number in numbers:
                asked(connection, f"KILL CONNECTION {number}")
    outcome = step.outcome.finished()
    assert outcome.total().reconnects == 10
    assert max(outage.users for outage in outcome.outages) <= 10
    assert sum(outage.users for outage in outcome.outages) >= 1
    assert outcome.samples[-1].users == 10
