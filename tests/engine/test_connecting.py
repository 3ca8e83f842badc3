"""How connections are opened, as the server's side sees it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.between import Between, Way
from engine.conftest import on_mariadb
from engine.driving import (
    Document,
    Driving,
    Loading,
    a_load,
    a_plan,
    connecting,
    drive,
    events,
    seconds,
    tcp,
    workload,
)
from engine.servers import account, asked, variables
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server


GENEROUS_S = 20.0
"""Seconds for what takes one at most: a test that waits wrongly takes a minute."""


def wait_for(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 2 * GENEROUS_S
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def through(between: Between, target: Document) -> Document:
    return target | {"port": between.port}


@on_mariadb
@pytest.mark.parametrize("shards", [1, 3])
def test_never_more_than_so_many_logins_are_under_way(quiet: Sandbox, shards: int) -> None:
    with Between(quiet.port, hold_s=0.02) as between:
        plan = a_plan(
            through(between, tcp(quiet)), users=24, shards=shards, stop=seconds(0.2),
            connect=connecting(at_once=4),
        )  # fmt: skip
        outcome = drive(plan).finished()
        assert outcome.connected is not None
        assert outcome.connected.users == 24
        assert outcome.connected.seconds > 24 / 4 * 0.02
        assert 3 <= between.open_at_most <= 4


@on_mariadb
def test_one_at_a_time_is_one_over_all_shards(quiet: Sandbox) -> None:
    with Between(quiet.port, hold_s=0.01) as between:
        plan = a_plan(
            through(between, tcp(quiet)), users=9, shards=3, stop=seconds(0.2),
            connect=connecting(at_once=1),
        )  # fmt: skip
        drive(plan).finished()
        assert between.open_at_most == 1


@on_mariadb
def test_a_server_that_does_not_greet_is_a_timeout_after_its_retries(quiet: Sandbox) -> None:
    with Between(quiet.port, hold_s=60) as between:
        began = time.monotonic()
        plan = a_plan(
            through(between, tcp(quiet)), users=500,
            connect=connecting(timeout_s=0.2, retries=2, backoff_s=0.05, at_once=2),
        )  # fmt: skip
        with Driving(plan) as step:
            pass
        took = time.monotonic() - began
        outcome = step.outcome
        assert outcome.failure == ("timed_out", 110)
        # 0.2 s three times and the pauses, not until all of 500 have had their first try.
        assert 0.7 < took < GENEROUS_S
        assert outcome.connect_failures()["110"] >= 3


@on_mariadb
def test_attempts_that_fail_are_counted_once_and_those_that_pass_do_not_fail_the_step(
    quiet: Sandbox,
) -> None:
    with Between(quiet.port) as between:
        between.shut = True
        plan = a_plan(
            through(between, tcp(quiet)), users=3, stop=seconds(0.3),
            connect=connecting(retries=20),
        )  # fmt: skip
        with Driving(plan) as step:
            wait_for(lambda: between.accepted >= 3)
            between.shut = False
        outcome = step.outcome.finished()
    refused = between.accepted - 3
    assert outcome.connected is not None
    assert outcome.connected.connect_failures == {"2013": refused}
    assert outcome.connect_failures() == {"2013": refused}
    assert outcome.of_target(0, "connect_failures") == 0
    assert outcome.samples[0].users == 3


@on_mariadb
def test_the_pauses_between_attempts_grow(quiet: Sandbox) -> None:
    with Between(quiet.port) as between:
        between.shut = True
        began = time.monotonic()
        plan = a_plan(through(between, tcp(quiet)), connect=connecting(retries=4, backoff_s=0.05))
        outcome = drive(plan)
        took = time.monotonic() - began
    assert outcome.failure == ("unreachable", 2013)
    assert between.accepted == 5
    assert outcome.connect_failures() == {"2013": 5}
    # Each user waits between a half and all of a pause, so that not all try again together.
    assert (0.05 + 0.1 + 0.2 + 0.4) / 2 <= took < GENEROUS_S


def test_a_connection_that_breaks_while_others_log_in_is_not_counted_twice(
    quiet: Sandbox,
) -> None:
    with Between(quiet.port, hold_s=60, free=4) as between:
        plan = a_plan(
            through(between, tcp(quiet, "required")), users=12, stop=seconds(0.5),
            connect=connecting(at_once=2, retries=5, timeout_s=60),
        )  # fmt: skip
        with Driving(plan) as step:
            # Then two wait to be let in: the four are through, and logged in or nearly so.
            wait_for(lambda: between.accepted >= 6)
            cut = between.cut(1)
            between.let_in()
            outcome = step.until_samples(1)
        connected = outcome.connected
        assert connected is not None
        assert (connected.users, connected.encrypted_users) == (12, 12)
        assert sum(connected.connect_failures.values()) == cut == 1
        assert [sample.users for sample in outcome.samples[:1]] == [12]
        assert outcome.outages == []


@on_mariadb
def test_a_door_that_lets_all_in_and_drops_them_is_not_stormed(quiet: Sandbox) -> None:
    """A proxy without a server behind it, for example."""
    with Between(quiet.port) as between:
        plan = a_plan(
            through(between, tcp(quiet)), users=4, stop=seconds(1.5), on_error="continue",
            connect=connecting(backoff_s=0.2), arrival={"kind": "closed", "think_s": 0.05},
        )  # fmt: skip
        with Driving(plan) as step:
            step.until_connected()
            over = threading.Event()

            def keep_cutting() -> None:
                while not over.wait(0.002):
                    between.cut()

            cutter = threading.Thread(target=keep_cutting)
            cutter.start()
            step.until(lambda outcome: outcome.end is not None)
            over.set()
            cutter.join()
    # Pauses of 0.2, 0.4, 0.8 and 1 s, restarted where a user finished an event before it was cut.
    # Without a pause it would be a thousand.
    assert between.accepted < 100


@contextmanager
def full_socket(folder: Path) -> Iterator[Path]:
    """A unix socket that listens, whose queue stays full."""
    path = folder / "full.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(path))
            yield path


@on_mariadb
def test_a_unix_socket_with_a_full_queue_is_a_timeout(quiet: Sandbox, tmp_path: Path) -> None:
    with full_socket(tmp_path) as path:
        target = tcp(quiet) | {"socket": str(path)}
        began = time.monotonic()
        plan = a_plan(target, connect=connecting(timeout_s=0.3, retries=1), users=3)
        assert drive(plan).failure == ("timed_out", 110)
        assert time.monotonic() - began < GENEROUS_S


def test_a_tls_handshake_that_is_cut_is_tried_again(quiet: Sandbox) -> None:
    with CutAfterTheGreeting(quiet.port) as between:
        plan = a_plan(
            through(between, tcp(quiet, "required")), connect=connecting(retries=2, backoff_s=0.01)
        )
        outcome = drive(plan).finished()
        assert outcome.connect_failures() == {"2013": 2}
        # More than the attempts: the quit of the first connection may still arrive.
        between.left = 10
        assert drive(plan).failure == ("tls_failed", 2013)


class CutAfterTheGreeting(Between):
    """Cuts the first connections as soon as the client has answered the greeting."""

    left = 2

    def _pass_on(self, way: Way) -> bool:
        if way.to_server and self.left > 0:
            way.source.recv(65536)
            self.left -= 1
            return False
        return super()._pass_on(way)


@on_mariadb
class TestStopping:
    """Attempts that are under way would take a minute."""

    def test_while_users_connect(self, quiet: Sandbox) -> None:
        with Between(quiet.port, hold_s=60) as between:
            plan = a_plan(through(between, tcp(quiet)), users=10, connect=connecting(timeout_s=60))
            with Driving(plan) as step:
                wait_for(lambda: between.accepted > 0)
                began = time.monotonic()
                step.stop()
            assert time.monotonic() - began < GENEROUS_S
            assert step.outcome.connected is None
            assert step.outcome.last.reason == "stopped"

    @pytest.mark.parametrize("think_s", [0.0, 3600.0])
    def test_while_the_load_runs(self, quiet: Sandbox, think_s: float) -> None:
        arrival = {"kind": "closed", "think_s": think_s}
        with Driving(
            a_plan(tcp(quiet), users=5, shards=2, arrival=arrival, stop=seconds(60))
        ) as step:
            step.until_samples(1)
            began = time.monotonic()
            step.stop()
        assert time.monotonic() - began < GENEROUS_S
        end = step.outcome.last
        assert end.reason == "stopped"
        assert end.tally.in_flight == end.tally.waiting == end.tally.failed == 0
        assert step.outcome.total().events == end.tally.succeeded > 0

    def test_while_a_load_connects(self, quiet: Sandbox) -> None:
        with Between(quiet.port, hold_s=60) as between:
            plan = a_load(through(between, tcp(quiet)), connect=connecting(timeout_s=60))
            with Loading(plan) as loading:
                wait_for(lambda: between.accepted > 0)
                began = time.monotonic()
                loading.stop()
            assert time.monotonic() - began < GENEROUS_S
            assert loading.loaded.last.reason == "stopped"


@pytest.mark.parametrize(
    ("mode", "protocol"), [("disabled", "prepared"), ("disabled", "text"), ("required", "prepared")]
)
def test_a_way_that_chops_everything_into_crumbs_changes_nothing(
    quiet: Sandbox, protocol: str, mode: str
) -> None:
    with Between(quiet.port, pieces=True) as between:
        plan = a_plan(
            through(between, tcp(quiet, mode)), protocol=protocol, users=2, stop=events(4),
            workload=workload("oltp_read_write", range_size=5), shards=2,
        )  # fmt: skip
        outcome = drive(plan).finished()
    assert outcome.last.tally.succeeded == 4
    assert outcome.errors() == {}
    counts = outcome.total()
    if mode == "disabled":
        # Between also forwarded the logins, which are not part of the load.
        assert 0 < between.to_server - counts.bytes_out < 2 * 500
        assert 0 < between.from_server - counts.bytes_in < 2 * 500


def test_what_is_cut_on_the_way_is_an_outage_that_ends(quiet: Sandbox) -> None:
    with Between(quiet.port) as between:
        plan = a_plan(
            through(between, tcp(quiet)), users=6, shards=2, stop=seconds(60),
            workload=workload("oltp_read_only"),
        )  # fmt: skip
        with Driving(plan) as step:
            step.until_samples(1)
            cut = between.cut(4)
            step.until(lambda outcome: bool(outcome.outages))
            step.until_samples(len(step.outcome.samples) + 1)
            step.stop()
        outcome = step.outcome
        assert (outcome.last.reason, outcome.last.error) == ("stopped", None)
        counts = outcome.total()
        assert cut == counts.reconnects == counts.failed == outcome.errors()["2013"] == 4
        assert sum(outage.users for outage in outcome.outages) >= 1
        assert all(outage.to_s is not None for outage in outcome.outages)
        assert outcome.samples[-1].users == 6
        assert between.accepted == 6 + 4


@pytest.fixture
def plain(shared: Sandbox) -> Iterator[Document]:
    """A user without the privilege for the extra connection that administrators have."""
    with account(shared, "plain", may="SELECT ON *.*"):
        yield tcp(shared) | {"user": "plain", "password": ""}


def test_too_many_connections_are_tried_again_and_then_told_with_their_number(
    shared: Sandbox, plain: Document
) -> None:
    with variables(shared, max_connections=10):
        began = time.monotonic()
        outcome = drive(a_plan(plain, users=30, connect=connecting(retries=3)))
        took = time.monotonic() - began
        assert outcome.failure == ("too_many_connections", 1040)
        assert outcome.connect_failures()["1040"] >= 4
        assert outcome.of_target(0, "connect_failures") >= 4
        assert (0.05 + 0.1 + 0.2) / 2 <= took < GENEROUS_S


def test_a_full_server_that_gets_room_is_waited_for(shared: Sandbox, plain: Document) -> None:
    plan = a_plan(plain, users=30, connect=connecting(retries=60), stop=seconds(0.3))
    refused = "SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'"
    with variables(shared, max_connections=10) as connection:
        ((_, before),) = asked(connection, refused)
        with Driving(plan) as step:
            wait_for(lambda: asked(connection, refused)[0][1] != before)
            # Over the existing connection: the users may have taken all others.
            asked(connection, "SET GLOBAL max_connections = 200")
            step.until_connected()
            step.until(lambda outcome: outcome.end is not None)
    outcome = step.outcome.finished()
    assert outcome.connected is not None
    assert outcome.connected.connect_failures["1040"] > 0
    assert outcome.connect_failures() == outcome.connected.connect_failures
