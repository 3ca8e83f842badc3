"""Programs that use the same schema know of each other."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from loadstone.families import connect
from loadstone.lab.protection.company import Alone, beside_others
from loadstone.model.target import Endpoint, Target
from loadstone.mysql.processlist import number_of
from loadstone.observe import presence
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError
from pooled import KINDS, Pool

pytestmark = pytest.mark.server


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Endpoint]:
    with pool.schema(request.param) as sandbox:
        yield sandbox.tcp


@pytest.fixture
def elsewhere(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """The connection of a program that is none of ours."""
    monkeypatch.setattr(presence, "_own", set())
    monkeypatch.setattr("loadstone.servers.locks.GRACE_S", 1.0)
    with connect(server) as connection:
        yield connection


def another_process(target: Target, connection: Connection) -> None:
    """What this process holds counts as somebody else's from now on."""
    presence._own.clear()


@pytest.mark.parametrize("schema", ["shop", "s" * 64])
def test_one_prepare_at_a_time_and_the_second_is_told_whose_it_is(
    server: Endpoint, elsewhere: Connection, schema: str
) -> None:
    target = server.target
    number = number_of(elsewhere)
    wanted = (
        rf"^schema {schema} is in use by prepare, cleanup or an experiment of {target.user} "
        rf"from (localhost|127.0.0.1):\d+ \(connection {number}, since [-0-9]+ [:0-9]+\)$"
    )
    with connect(server) as connection:
        with presence.alone(elsewhere, target, schema):
            another_process(target, elsewhere)
            with (
                pytest.raises(GuardError, match=wanted) as refused,
                presence.alone(connection, target, schema),
            ):
                pytest.fail("both are at work")
        assert refused.value.exit_code == 7
        with presence.alone(connection, target, schema):
            pass


def test_runs_go_on_side_by_side_and_nobody_drops_their_tables(
    server: Endpoint, elsewhere: Connection
) -> None:
    target = server.target
    with connect(server) as connection, connect(server) as third:
        with presence.beside(elsewhere, target, "shop") as alone_so_far:
            another_process(target, elsewhere)
            with presence.beside(connection, target, "shop") as others:
                assert alone_so_far == ()
                (one,) = others
                number = number_of(elsewhere)
                holder = one.holder
                assert (one.does, holder.connection, holder.user) == ("run", number, target.user)
                another_process(target, connection)
                with (
                    pytest.raises(GuardError, match=r"a run of .*; a run of "),
                    presence.alone(third, target, "shop"),
                ):
                    pytest.fail("its tables could go")
                with presence.alone(third, target, "another"):
                    pass
        with presence.alone(third, target, "shop"):
            another_process(target, third)
            with (
                pytest.raises(GuardError, match="prepare, cleanup or an experiment of "),
                presence.beside(connection, target, "shop"),
            ):
                pytest.fail("its tables may be half made")


def test_an_experiment_prepares_under_its_own_lock(server: Endpoint, elsewhere: Connection) -> None:
    with connect(server) as inner:
        with presence.alone(elsewhere, server.target, "shop"):
            with presence.alone(inner, server.target, "shop"):
                pass
            assert len(presence.at_work(inner, server.target, "shop")) == 1
        assert presence.at_work(inner, server.target, "shop") == ()


def test_nothing_is_left_of_a_program_that_was_killed(
    server: Endpoint, elsewhere: Connection
) -> None:
    lost = connect(server)
    held = presence.alone(lost, server.target, "shop")
    held.__enter__()
    another_process(server.target, lost)
    lost._sock.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
    until = time.monotonic() + 10
    while presence.at_work(elsewhere, server.target, "shop") and time.monotonic() < until:
        time.sleep(0.05)
    with presence.alone(elsewhere, server.target, "shop"):
        pass


def test_a_busy_server_is_given_time_to_notice_who_was_killed(
    server: Endpoint, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was killed holds its lock, or its place, for some seconds more."""
    monkeypatch.setattr("loadstone.servers.locks.GRACE_S", 30.0)
    target = server.target
    ways = {presence.alone: (presence.alone, presence.beside), presence.beside: (presence.alone,)}
    with connect(server) as connection:
        for held, tried in ways.items():
            for taken in tried:
                with contextlib.ExitStack() as dying:
                    dying.enter_context(held(elsewhere, target, "shop"))
                    another_process(target, elsewhere)
                    after = threading.Timer(2.5, dying.pop_all().close)
                    began = time.monotonic()
                    after.start()
                    with taken(connection, target, "shop"):
                        assert time.monotonic() - began > 2
                    after.join()


def lose(server: Endpoint, admin: Connection) -> None:
    """End whatever holds the schema's lock or a place in it, and wait until it is gone."""
    target, schema = server.target, server.target.database or ""
    presence._own.clear()
    with admin.cursor() as cursor:
        for one in presence.at_work(admin, target, schema):
            cursor.execute(f"KILL {one.holder.connection}")
    until = time.monotonic() + 20
    while presence.at_work(admin, target, schema):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_run_that_others_could_not_know_of_any_more_tells_them_again(
    server: Endpoint, elsewhere: Connection
) -> None:
    target, schema = server.target, server.target.database or ""
    with beside_others([server]) as company:
        assert (company.notes, company.renew()) == ([], [])
        lose(server, elsewhere)
        (note,) = company.renew()
        assert "was lost with its connection, and taken again" in note
        assert len(presence.at_work(elsewhere, target, schema)) == 1
        assert company.renew() == []
    assert presence.at_work(elsewhere, target, schema) == ()


def test_a_schema_that_is_not_ours_any_more_is_taken_again_or_left(
    server: Endpoint, elsewhere: Connection
) -> None:
    target, schema = server.target, server.target.database or ""
    alone = Alone(server)
    try:
        assert alone.renew() is None
        lose(server, elsewhere)
        assert "taken again" in (alone.renew() or "")
        assert len(presence.at_work(elsewhere, target, schema)) == 1
        lose(server, elsewhere)
        with presence.beside(elsewhere, target, schema):
            another_process(target, elsewhere)
            with pytest.raises(GuardError, match="schema .* is in use by a run of "):
                alone.renew()
    finally:
        alone.close()
    assert presence.at_work(elsewhere, target, schema) == ()
