"""What a session of a real PostgreSQL has set is read, tried, and set back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadstone.families import connect
from loadstone.model.plan import READ_ONLY, Session
from loadstone.model.target import Endpoint, Target
from loadstone.postgresql import session_state
from loadstone.postgresql.session import session_statements
from loadstone.postgresql.session_state import attempt, named, set_back, shown, undo
from loadstone.servers.connection import Connection
from postgres.server import Server

pytestmark = [pytest.mark.server, pytest.mark.slow]

ISOLATION = session_statements(Session(isolation="serializable"))[1][2]


@pytest.fixture
def target(server: Server, database: str) -> Target:
    return Target(
        family="postgresql",
        socket=server.folder / f".s.PGSQL.{server.port}",
        user="postgres",
        database=database,
    )


@pytest.fixture
def begun(target: Target) -> Iterator[Connection]:
    """A session with a transaction."""
    with connect(Endpoint(target=target, server_is_here=True)) as connection:
        connection.begin()
        yield connection


def test_a_limit_of_statements_is_none_for_reading(
    begun: Connection, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly = f"{session_state._SETTINGS}, pg_sleep(0.4)"
    monkeypatch.setattr(session_state, "_SETTINGS", slowly)
    own = shown(begun, target, [])["statement_timeout"]
    assert attempt(begun, target, "SET statement_timeout = '200ms'") is None
    for _ in range(2):
        assert shown(begun, target, [])["statement_timeout"] == "200ms"
    undo(begun, target, {})
    begun.begin()
    assert shown(begun, target, [])["statement_timeout"] == own


def test_what_the_server_does_not_set_back_keeps_nothing_else(
    begun: Connection, target: Target
) -> None:
    assert attempt(begun, target, "SET work_mem = '9MB'") is None
    assert shown(begun, target, [])["work_mem"] == "9216"
    left = set_back(begun, target, {"no_such_setting": None, "work_mem": None})
    assert left == ["no_such_setting"]
    assert shown(begun, target, [])["work_mem"] != "9216"


@pytest.mark.parametrize(
    "statement",
    [READ_ONLY["postgresql"], ISOLATION, "SET TIME ZONE 'UTC'", "SET ROLE postgres"],
)
def test_what_statements_name_is_what_a_session_shows(
    begun: Connection, target: Target, statement: str
) -> None:
    before = shown(begun, target, [statement])
    assert attempt(begun, target, statement) is None
    after = shown(begun, target, [statement])
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= named(statement)
    assert named(statement) & set(after)


def test_a_refusal_is_quoted_and_the_transaction_goes_on(begun: Connection, target: Target) -> None:
    refused = attempt(begun, target, "SET no_such_thing = 1")
    assert refused is not None and "no_such_thing" in refused.message
    assert shown(begun, target, [])
