"""The server as PyMySQL sees it, and as Loadstone's own check of a target does."""

from __future__ import annotations

from decimal import Decimal

import pymysql
import pytest

from loadstone.families import connect
from loadstone.lab.tables.discover import Wanted, find_data
from loadstone.model.target import Endpoint
from loadstone.model.target_url import parse_target_url
from loadstone.mysql.facts import describe_server
from null_server.conftest import Starter

pytestmark = pytest.mark.timeout(600)  # the program may have to be built first


@pytest.mark.parametrize("by_socket", [False, True])
@pytest.mark.parametrize("auth", ["mysql_native_password", "caching_sha2_password"])
@pytest.mark.parametrize("version", ["5.5.5-10.11.14-MariaDB", "8.4.0"])
def test_anybody_may_log_in(start: Starter, by_socket: bool, auth: str, version: str) -> None:
    server = start(None, "--auth", auth, "--version-text", version)
    for database in (None, "sbtest"):
        with server.connect(by_socket=by_socket, database=database) as session:
            assert session.get_server_info() == version  # type: ignore[no-untyped-call]
            session.ping()
            session.select_db("other")
    assert server.status()["logins"] == 3


def test_load_is_answered_with_rows_of_its_columns(start: Starter) -> None:
    server = start(None, "--range-rows", "100")
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SELECT c FROM sbtest1 WHERE id=5")
        ((c,),) = cursor.fetchall()
        assert len(c) == 119
        assert cursor.execute("SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100") == 100
        assert cursor.execute("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 9") == 1
        assert isinstance(cursor.fetchall()[0][0], Decimal)
        cursor.execute("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (1, 2)")
        ((number, k, c, pad),) = cursor.fetchall()
        assert (type(number), type(k), len(c), len(pad)) == (int, int, 119, 59)
        assert cursor.execute("UPDATE sbtest1 SET k=k+1 WHERE id=5") == 1
        assert cursor.execute("COMMIT") == 0
    status = server.status()
    assert (status["queries"], status["answered"], status["executes"]) == (6, 6, 0)


def test_loadstone_finds_a_server_with_tables(start: Starter) -> None:
    server = start(None, "--tables", "3", "--table-size", "700")
    target, _ = parse_target_url(f"mysql://u@127.0.0.1:{server.port}/sbtest")
    with connect(Endpoint(target=target)) as connection:
        facts = describe_server(connection, target)
        data = find_data(connection, target, Wanted(workload="oltp_read_write", layout="sbtest"))
    assert (facts.flavour, facts.connected, facts.cipher) == ("mariadb", 1, "")
    assert (facts.max_connections or 0) >= 10_000
    assert (data.tables, data.table_size, data.notes) == (3, 700, ())


def test_a_transaction_shows_in_the_status_of_answers(start: Starter) -> None:
    in_transaction = pymysql.constants.SERVER_STATUS.SERVER_STATUS_IN_TRANS
    with start().connect() as session, session.cursor() as cursor:
        seen = []
        for statement in ("BEGIN", "SELECT c FROM sbtest1 WHERE id=1", "COMMIT"):
            cursor.execute(statement)
            result = session._result  # type: ignore[attr-defined]
            seen.append(bool((result.server_status or 0) & in_transaction))
    assert seen[0] and not seen[2]


def test_a_statement_of_two_packets_is_answered(start: Starter) -> None:
    long = "x" * (17 << 20)
    with start().connect(max_allowed_packet=64 << 20) as session, session.cursor() as cursor:
        assert cursor.execute(f"INSERT INTO sbtest1 (c) VALUES ('{long}')") == 1
        assert cursor.execute("SELECT c FROM sbtest1 WHERE id=1") == 1


def test_bytes_that_are_no_login_are_shown_the_door(start: Starter) -> None:
    server = start()
    with server.connect() as session:
        session._write_bytes(b"\x00\x00\x00\x00")  # type: ignore[attr-defined]
        with pytest.raises(pymysql.err.OperationalError):
            session.ping(reconnect=False)
    assert server.status()["garbled"] == 1


def test_counters_and_log_begin_anew_when_flushed(start: Starter) -> None:
    server = start()
    for _ in range(3):
        server.ask("SELECT c FROM sbtest1 WHERE id=1")
    assert server.status()["queries"] == 3
    server.ask("FLUSH NULL STATUS")
    assert server.status()["queries"] == 0
    server.ask("SELECT c FROM sbtest1 WHERE id=1")
    assert len(server.stamps("query")) == 1
