"""The engine loads and drives a real PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import (
    Document,
    Driving,
    a_layout,
    a_load,
    a_plan,
    connecting,
    drive,
    events,
    load,
    seconds,
    session,
    workload,
)
from postgres.server import PASSWORD, Server

pytestmark = [pytest.mark.server, pytest.mark.slow]

OLTP = (
    "oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_delete",
    "oltp_update_index", "oltp_update_non_index", "oltp_insert", "select_random_points",
    "select_random_ranges",
)  # fmt: skip


def over_tcp(server: Server, database: str, user: str = "by_scram", **changes: Any) -> Document:
    tls = {"mode": "disabled", "ca": None, "cert": None, "key": None}
    target: Document = {
        "family": "postgresql", "host": "127.0.0.1", "port": server.port, "socket": None,
        "user": user, "password": PASSWORD, "database": database, "tls": tls,
        "server_public_key": None,
    }  # fmt: skip
    return target | changes


def encrypted(server: Server, database: str, **changes: Any) -> Document:
    ca = str(server.authority)
    tls = {"mode": "verify-ca", "ca": ca, "cert": None, "key": None}
    return over_tcp(server, database, tls=tls, **changes)


def local(server: Server, database: str) -> Document:
    socket = str(server.folder / f".s.PGSQL.{server.port}")
    return over_tcp(server, database, socket=socket)


@pytest.mark.parametrize("over", [over_tcp, encrypted, local])
@pytest.mark.parametrize("method", ["auto", "insert"])
def test_rows_are_loaded_as_they_are_anywhere(
    server: Server, database: str, over: Any, method: str
) -> None:
    target = over(server, database)
    end = load(a_load(target, method=method, layout=a_layout(2, 30_000))).finished().last
    assert (end.rows, end.rows_loaded) == (60_000, 60_000)
    assert end.method == ("copy" if method == "auto" else "insert")
    shape = "SELECT count(*), min(id), max(id), min(length(c)), min(length(pad)) FROM sbtest1"
    assert server.asked(shape, database) == [["30000", "1", "30000", "119", "59"]]
    assert server.asked("SELECT nextval('sbtest1_id_seq')", database) == [["30001"]]
    indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'sbtest2'"
    assert server.asked(indexes, database) == [["2"]]


def test_rows_are_the_same_by_copy_and_by_insert(server: Server, database: str) -> None:
    content = "SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM sbtest1 t"
    loaded = []
    for method in ("auto", "insert"):
        load(a_load(over_tcp(server, database), method=method, layout=a_layout(1, 3000))).finished()
        loaded.append(server.asked(content, database))
        server.asked("DROP TABLE sbtest1", database)
    assert loaded[0] == loaded[1]


def test_a_load_goes_on_where_rows_are_missing(server: Server, database: str) -> None:
    target = over_tcp(server, database)
    plan = a_load(target, layout=a_layout(1, 60_000), marks={"sbtest1": "mine"})
    load(plan).finished()
    content = "SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM sbtest1 t"
    before = server.asked(content, database)
    server.asked("DELETE FROM sbtest1 WHERE id BETWEEN 26000 AND 26100", database)
    end = load(plan).finished().last
    assert 0 < end.rows_loaded < 60_000
    assert server.asked(content, database) == before
    server.asked("COMMENT ON TABLE sbtest1 IS 'somebody else''s'", database)
    refused = load(plan).last
    assert refused.error is not None
    assert refused.error.kind == "table_in_the_way"


@pytest.mark.parametrize("protocol", ["prepared", "text", "extended", "pipelined"])
@pytest.mark.parametrize("name", OLTP)
def test_each_workload_runs_on_it(server: Server, database: str, name: str, protocol: str) -> None:
    target = over_tcp(server, database)
    load(a_load(target)).finished()
    step = drive(
        a_plan(target, workload=workload(name), protocol=protocol, users=4, stop=events(200))
    ).finished()
    assert step.last.tally.succeeded == 200
    assert not step.errors().keys() - {"23505", "40P01"}


@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_errors_have_the_states_of_sql_and_a_deadlock_is_tried_again(
    server: Server, database: str, protocol: str
) -> None:
    target = over_tcp(server, database)
    load(a_load(target, layout=a_layout(1, 10))).finished()
    few = workload("oltp_write_only", tables=1, table_size=10, index_updates=5)
    step = drive(
        a_plan(
            target, workload=few, users=8, protocol=protocol, stop=events(20),
        )
    ).finished()  # fmt: skip
    assert set(step.errors()) <= {"40P01", "23505"}, step.errors()
    assert step.errors()["40P01"] > 0
    found = step.errors_said["40P01"]
    assert (found.family, found.message) == ("postgresql", "deadlock detected")


@pytest.mark.parametrize("over", [over_tcp, encrypted])
@pytest.mark.parametrize("user", ["by_scram", "by_md5", "by_trust"])
def test_users_log_in(server: Server, user: str, over: Any) -> None:
    target = over(server, "postgres", user=user)
    one = workload("oltp_point_select", tables=1, table_size=1)
    table = session("CREATE TEMP TABLE sbtest1 (id INT, c INT)")
    connected = drive(a_plan(target, workload=one, session=table)).finished().connected
    assert connected is not None
    assert connected.encrypted_users == (over is encrypted)


def test_users_come_back_after_their_sessions_were_ended(server: Server, database: str) -> None:
    target = over_tcp(server, database)
    load(a_load(target)).finished()
    plan = a_plan(target, users=4, stop=seconds(3), on_error="restart", connect=connecting())
    with Driving(plan) as step:
        step.until_samples(1)
        ended = server.asked(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            f" WHERE datname = '{database}' AND application_name = 'loadstone'"
        )
    outcome = step.outcome.finished()
    assert ended == [["4"]]
    counts, tally = outcome.total(), outcome.last.tally
    assert counts.reconnects == 4
    # Who was between two statements has lost none.
    assert tally.failed <= 4
    assert outcome.errors().keys() <= {"57P01", "08006"}
    assert outcome.samples[-1].users == 4


def test_a_wrong_password_is_said_in_the_servers_words(server: Server) -> None:
    end = drive(a_plan(over_tcp(server, "postgres", password="wrong"))).last
    assert end.error is not None
    assert (end.error.kind, end.error.code) == ("login_refused", "28P01")
    assert "password authentication failed" in end.error.message


def test_a_session_is_as_the_plan_says(server: Server, database: str) -> None:
    settings = ("work_mem", "transaction_isolation", "application_name")
    values = ", ".join(f"current_setting('{name}') AS {name}" for name in settings)
    statements = ("SET work_mem = '77kB'", f"CREATE TABLE seen AS SELECT {values}")
    target = over_tcp(server, database)
    load(a_load(target)).finished()
    drive(a_plan(target, session=session(*statements, isolation="SERIALIZABLE"))).finished()
    assert server.asked("SELECT * FROM seen", database) == [["77kB", "serializable", "loadstone"]]
