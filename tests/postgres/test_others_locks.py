"""Locks of another client's session are not taken for the load's, on a real PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.families import connect
from loadstone.model.finding import Finding
from loadstone.model.observed import SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.postgresql.activity import MOST_LOCKS
from loadstone.observe.postgresql.server import ServerSource
from postgres.diagnosed import diagnosed
from postgres.server import Server
from postgres.sessions import DEADLINE_S, did
from postgres.test_commands import only_run, url
from postgres.test_family import endpoint, local

pytestmark = [pytest.mark.server, pytest.mark.slow]

SLOW = """
dialect = ["postgresql"]
[table.counter]
rows = 1
[table.counter.columns]
id = { type = "INT NOT NULL", sequence = true }
n = { type = "INT NOT NULL", constant = 0 }
[transaction.count]
statements = [ "UPDATE counter SET n = n + 1 WHERE id = 1", "SELECT pg_sleep(0.02)" ]
"""
"""All want one row, which each keeps for a while."""

MANY = 40
FEW = 5
TABLES = ", ".join(f"shop_{number}" for number in range(MANY))
SOME = ", ".join(f"shop_{number}" for number in range(FEW))


def most_of_a_session(at: Endpoint) -> float:
    source = ServerSource(SourceName(role="server"), at)
    try:
        return source.read().gauges[MOST_LOCKS]
    finally:
        source.close()


@contextmanager
def locked(at: Endpoint, tables: str) -> Iterator[None]:
    """A transaction that has read these tables, and stays open."""
    with connect(at) as session:
        did(session, "BEGIN")
        did(session, f"LOCK TABLE {tables} IN ACCESS SHARE MODE")
        yield
        did(session, "ROLLBACK")


def test_a_backup_of_another_account_or_database_is_no_session_of_the_load(
    server: Server, database: str
) -> None:
    made = "".join(f"CREATE TABLE shop_{number} (id INT);" for number in range(MANY))
    server.asked(f"{made} GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC", database)
    elsewhere = f"{database}_other"
    server.asked(f"CREATE DATABASE {elsewhere}")
    try:
        server.asked(made, elsewhere)
        ours = local(server, database)
        with locked(endpoint(server, database), TABLES), locked(local(server, elsewhere), TABLES):
            assert most_of_a_session(ours) == 0.0
            with locked(ours, SOME):
                assert most_of_a_session(ours) == FEW
            # Who logs in as the other one has those locks.
            assert most_of_a_session(endpoint(server, database)) == MANY
    finally:
        server.asked(f"DROP DATABASE {elsewhere} WITH (FORCE)")


HELD_S = 7.0
"""Longer than any transaction of a load, and shorter than the run."""


@contextmanager
def rows_held(at: Endpoint) -> Iterator[None]:
    """Another session's transaction keeps all rows from now on, for a while."""
    over, taken = threading.Event(), threading.Event()

    def hold() -> None:
        with connect(at) as session:
            did(session, "BEGIN")
            did(session, "SELECT count(*) FROM (SELECT FROM sbtest1 FOR UPDATE) AS x")
            taken.set()
            over.wait(HELD_S)
            did(session, "ROLLBACK")

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(DEADLINE_S)
    try:
        yield
    finally:
        over.set()
        thread.join(DEADLINE_S)


def row_locks(folder: Path) -> Finding:
    found, _ = diagnosed(only_run(folder))
    assert [one.cause for one in found][:1] == ["row-locks"], [one.sentence for one in found]
    return found[0]


@pytest.mark.nightly
def test_rows_that_another_client_keeps_are_told_from_those_that_the_load_wants(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = ("--target", url(server, database))
    users = ("--yes", "--concurrency", "4", "--warmup", "1")
    for name in ("others", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "own/slow.toml").write_text(SLOW)
    few = ("--tables", "1", "--table-size", "200")
    called("prepare", *target, *few, folder=tmp_path / "others")
    called("prepare", "slow.toml", *target, folder=tmp_path / "own")
    with rows_held(local(server, database)):
        load = ("run", "oltp_update_non_index", *target, *few, *users)
        called(*load, "--duration", "9", folder=tmp_path / "others")
    called("run", "slow.toml", *target, *users, "--duration", "4", folder=tmp_path / "own")
    theirs, ours = (row_locks(tmp_path / name) for name in ("others", "own"))
    assert str(theirs.remedy).startswith("End the transaction that has been open for ")
    assert "pg_blocking_pids" in str(theirs.remedy)
    assert str(ours.remedy).startswith("Spread the changes over more rows")
