"""Servers that die, stall, shut down and kill connections, while the load goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from engine.conftest import on_mariadb
from engine.driving import (
    Driving,
    Loading,
    Outcome,
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
from engine.servers import QUICK, account, asked, loaders, stopped, variables
from kept import Stopwatch
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def graveyard() -> Iterator[Callable[[str], Sandbox]]:
    """A server of each kind that tests may kill; it is restarted for the next one."""
    known: dict[str, Sandbox] = {}
    with ExitStack() as stack:

        def of_kind(kind: str) -> Sandbox:
            if kind not in known:
                spec = SandboxSpec(server=kind, settings=QUICK)
                known[kind] = stack.enter_context(start_sandbox(spec))
                load(a_load(local(known[kind]))).finished()
            elif not known[kind].is_running():
                known[kind].start_again()
            return known[kind]

        yield of_kind


@pytest.fixture
def mortal(server: str, graveyard: Callable[[str], Sandbox]) -> Sandbox:
    """A server that the test may kill, with `sbtest1` and `sbtest2`."""
    return graveyard(server)


@pytest.mark.parametrize(
    ("server", "over"),
    [("mariadb", "socket"), pytest.param("mysql", "tcp", marks=pytest.mark.mysql)],
    indirect=["server"],
)
def test_a_server_killed_and_started_again_is_one_outage(mortal: Sandbox, over: str) -> None:
    target = tcp(mortal) if over == "tcp" else local(mortal)
    users = 24
    plan = a_plan(
        target, users=users, shards=2, stop=seconds(60), workload=workload("oltp_read_write"),
    )  # fmt: skip
    with Driving(plan) as step:
        step.until_samples(1)
        mortal.kill()
        # Long enough that each user finds no server.
        time.sleep(1)
        mortal.start_again()
        # How long a server takes to come back depends on it and on the machine.
        step.until(lambda outcome: bool(outcome.outages))
        step.until_samples(len(step.outcome.samples) + 2)
        step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    (outage,) = outcome.outages
    assert outage.users == users
    assert outage.to_s is not None
    assert 0.9 < outage.from_s < outage.to_s
    assert outage.to_s - outage.from_s > 1
    assert outage.reason.startswith("2013 ")

    counts, tally = outcome.total(), outcome.last.tally
    assert counts.reconnects == users
    # Every user had an event in flight; the other failures are deadlocks, which are restarted.
    assert outcome.errors()["2013"] == tally.failed == counts.failed == users
    refused = outcome.connect_failures()
    assert refused["2003" if over == "tcp" else "2002"] >= users
    assert tally.due == tally.succeeded + tally.failed
    assert tally.in_flight == tally.waiting == tally.skipped == 0

    assert outcome.samples[-1].users == users
    assert any(sample.users == 0 for sample in outcome.samples)
    # They are at work again; how fast depends on the server, which has just started.
    after = [sample.counts.events for sample in outcome.samples if sample.to_s > outage.to_s]
    assert sum(after) > 0


@on_mariadb
def test_a_server_that_does_not_come_back_leaves_what_waits_as_skipped(mortal: Sandbox) -> None:
    with Driving(a_plan(tcp(mortal), users=5, stop=seconds(2))) as step:
        step.until_samples(1)
        mortal.kill()
    outcome = step.outcome.finished()
    (outage,) = outcome.outages
    assert (outage.users, outage.to_s) == (5, None)
    tally = outcome.last.tally
    assert (tally.failed, tally.skipped, tally.waiting, tally.in_flight) == (5, 5, 0, 0)


def test_sessions_that_are_killed_come_back_and_the_others_stay(quiet: Sandbox) -> None:
    plan = a_plan(
        tcp(quiet), users=8, stop=seconds(60), workload=workload("oltp_read_only"),
    )  # fmt: skip
    with Driving(plan) as step:
        step.until_samples(1)
        chosen = [number for number, _ in loaders(quiet)][:3]
        with quiet.connect() as connection:
            for number in chosen:
                asked(connection, f"KILL CONNECTION {number}")
        step.until(lambda outcome: outcome.total().reconnects == 3)
        step.until_samples(len(step.outcome.samples) + 1)
        step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    counts = outcome.total()
    assert counts.reconnects == counts.failed == 3
    assert sum(outcome.errors().values()) == 3
    assert set(outcome.errors()) <= {"1927", "1053", "1317", "2013"}
    assert outcome.samples[-1].users == 8
    assert 1 <= len(outcome.outages) <= 3
    assert all(outage.to_s is not None and outage.users <= 3 for outage in outcome.outages)


@on_mariadb
def test_a_stall_is_latency_and_no_outage(shared: Sandbox) -> None:
    plan = a_plan(
        tcp(shared), users=4, stop=seconds(60), workload=workload("oltp_read_only"),
    )  # fmt: skip
    with Driving(plan) as step:
        step.until_samples(1)
        began, watch = time.monotonic(), Stopwatch(shared.pid)
        with stopped(shared):
            time.sleep(2.1)
        lasted_ns = 1e9 * (time.monotonic() - began)
        step.until(lambda outcome: none_in_some(outcome) and outcome.samples[-1].counts.events > 0)
        step.stop()
    outcome = step.outcome
    assert outcome.outages == []
    assert outcome.errors() == {}
    assert outcome.total().reconnects == 0
    slowest = max(sample.latency_ns.response.max or 0 for sample in outcome.samples)
    # An answer may have been on its way when the server was stopped, and arrive behind others.
    # The signal stops a thread when it next gets a core.
    assert 2e9 - 1e9 * (0.1 + watch.kept_s) < slowest < lasted_ns + 1e9 * (1 + watch.kept_s)
    assert none_in_some(outcome)


def none_in_some(outcome: Outcome) -> bool:
    """Whether there was a second without any event."""
    return any(sample.counts.events == 0 for sample in outcome.samples)


@on_mariadb
class TestStalledForGood:
    """A server that does not answer any more must not keep anything from ending."""

    def test_a_step_ends_after_the_longest_drain(self, shared: Sandbox) -> None:
        # Long enough that the server is stopped before the step ends.
        plan = a_plan(tcp(shared), users=4, stop=seconds(4))
        watch = Stopwatch()
        with ExitStack() as after, Driving(plan) as step:
            step.until_connected()
            after.enter_context(stopped(shared))
        outcome = step.outcome.finished()
        assert outcome.last.tally.in_flight == 4
        assert outcome.samples[-1].phase == "drain"
        assert 9 <= outcome.last.seconds < 9.5 + watch.kept_s

    @pytest.mark.parametrize("over", ["tcp", "socket"])
    def test_a_step_that_cannot_log_in_says_so(self, shared: Sandbox, over: str) -> None:
        target = tcp(shared) if over == "tcp" else local(shared)
        with stopped(shared):
            plan = a_plan(target, users=300, connect=connecting(timeout_s=0.3, retries=1))
            assert drive(plan).failure == ("timed_out", 110)

    @pytest.mark.parametrize("method", ["infile", "insert"])
    def test_a_load_can_be_stopped(self, shared: Sandbox, schema: str, method: str) -> None:
        layout = a_layout(1, 200_000)
        plan = a_load(local(shared, database=schema), layout=layout, method=method)
        with ExitStack() as after, Loading(plan) as loading:
            loading.until(lambda loaded: bool(loaded.progress))
            after.enter_context(stopped(shared))
            time.sleep(0.7)
            watch = Stopwatch()
            loading.stop()
            loading.until(lambda loaded: loaded.end is not None)
        assert watch.judged_s < 10
        assert loading.loaded.last.reason == "stopped"


def test_a_shutdown_is_an_outage(mortal: Sandbox) -> None:
    with Driving(a_plan(tcp(mortal), users=6, stop=seconds(60))) as step:
        step.until_samples(1)
        os.kill(mortal.pid, signal.SIGTERM)
        # It takes a while, and is gone once it accepts no connection any more.
        step.until(lambda outcome: outcome.connect_failures()["2003"] >= 6)
        step.until(lambda outcome: outcome.samples[-1].users == 0)
        step.stop()
    mortal.kill()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    (outage,) = outcome.outages
    assert (outage.users, outage.to_s) == (6, None)
    assert set(outcome.errors()) <= {"1053", "1927", "2013"}
    assert sum(outcome.errors().values()) == outcome.last.tally.failed == 6


def test_fewer_connections_than_users_after_an_outage_is_counted_and_survived(
    shared: Sandbox,
) -> None:
    target = tcp(shared) | {"user": "plain", "password": ""}
    plan = a_plan(target, users=16, stop=seconds(60))
    with account(shared, "plain", may="SELECT ON *.*"), Driving(plan) as step:
        step.until_samples(1)  # a connection that is lost before the load begins ends the step
        numbers = [number for number, _ in loaders(shared)]
        with variables(shared, max_connections=10) as connection:
            for number in numbers:
                asked(connection, f"KILL CONNECTION {number}")
            step.until(lambda outcome: outcome.connect_failures()["1040"] > 0)
        step.until(lambda outcome: outcome.samples[-1].users == 16)
        step.stop()
    outcome = step.outcome
    assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
    assert outcome.total().reconnects == 16
    assert outcome.samples[-1].users == 16


def test_shards_that_lose_everything_at_once_agree_on_one_outage(quiet: Sandbox) -> None:
    plan = a_plan(tcp(quiet), users=10, shards=3, stop=seconds(60))
    with Driving(plan) as step:
        step.until_samples(1)
        numbers = [number for number, _ in loaders(quiet)]
        with quiet.connect() as connection:
            for number in numbers:
                asked(connection, f"KILL CONNECTION {number}")
        step.until(lambda outcome: outcome.total().reconnects == 10)
        step.stop()
    outcome = step.outcome
    assert max(outage.users for outage in outcome.outages) <= 10
    assert sum(outage.users for outage in outcome.outages) >= 1
    assert outcome.samples[-1].users == 10
