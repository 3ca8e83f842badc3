"""Bulk loading: every method, interrupted and continued, guarded and repaired."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from engine.between import Between
from engine.conftest import Start, on_mariadb
from engine.driving import (
    Document,
    Loading,
    a_layout,
    a_load,
    connecting,
    load,
    local,
    once,
    tcp,
)
from engine.servers import asked, execute, one, rows, variables
from kept import Stopwatch
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server

RANGE = 25_000
"""How many rows one statement loads."""


each_in_its_way = pytest.mark.parametrize(
    ("server", "method"),
    [("mariadb", "infile"), pytest.param("mysql", "insert", marks=pytest.mark.mysql)],
    indirect=["server"],
)


@pytest.fixture
def target(shared: Sandbox, schema: str) -> Document:
    return local(shared, database=schema)


def count(sandbox: Sandbox, schema: str, table: str = "sbtest1") -> int:
    return int(one(sandbox, f"SELECT COUNT(*) FROM {table}", schema))


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
@pytest.mark.parametrize("method", ["auto", "infile", "insert"])
def test_all_rows_are_there_by_each_method_over_each_transport(
    shared: Sandbox, schema: str, method: str, over: str
) -> None:
    target = (
        local(shared, database=schema) if over == "socket"
        else tcp(shared, "required" if over == "tls" else "disabled", database=schema)
    )  # fmt: skip
    plan = a_load(target, method=method, layout=a_layout(3, 2345), parallel=2)
    end = load(plan).finished().last
    assert (end.rows, end.rows_loaded) == (3 * 2345, 3 * 2345)
    assert end.method == ("insert" if method == "insert" else "infile")
    assert end.cpu_us > 0
    for number in (1, 2, 3):
        shape = "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MIN(LENGTH(pad)) FROM"
        assert rows(shared, f"{shape} sbtest{number}", schema) == [(2345, 1, 2345, 119, 59)]
        assert len(rows(shared, f"SHOW INDEX FROM sbtest{number}", schema)) == 2


@pytest.mark.parametrize("method", ["auto", "infile"])
def test_a_server_that_lets_no_file_through(shared: Sandbox, target: Document, method: str) -> None:
    with variables(shared, local_infile=0):
        end = load(a_load(target, method=method)).last
    if method == "auto":
        assert (end.reason, end.method, end.rows_loaded) == ("finished", "insert", 2000)
    else:
        assert end.reason == "failed"
        assert end.error is not None
        assert (end.error.kind, end.error.code) == ("not_supported", "3948")
        assert "local_infile" in end.error.message


@pytest.mark.parametrize(
    "made",
    [
        ("hot", "hot_row1", 30),
        ("products", "hot_product1", 30),
        ("orders", "hot_order1", 0),
        ("bulk", "sbtest1", 0),
    ],
)
def test_other_layouts_have_their_rows_too(
    shared: Sandbox, target: Document, schema: str, made: tuple[str, str, int]
) -> None:
    kind, table, expected = made
    end = load(a_load(target, layout=a_layout(1, 30, kind=kind))).finished().last
    assert end.rows == count(shared, schema, table) == expected


def test_orders_stay_when_their_table_is_asked_for_again(
    shared: Sandbox, target: Document, schema: str
) -> None:
    plan = a_load(target, layout=a_layout(1, 30, kind="orders"))
    load(plan).finished()
    execute(
        shared, "INSERT INTO hot_order1 (product, buyer, pieces) VALUES (1, 2, 1)", database=schema
    )
    assert load(plan).finished().last.reason == "finished"
    assert count(shared, schema, "hot_order1") == 1


def test_a_second_load_finds_everything_there(shared: Sandbox, target: Document) -> None:
    plan = a_load(target)
    load(plan).finished()
    again = load(plan).finished().last
    assert (again.rows, again.rows_loaded) == (2000, 0)


@on_mariadb
def test_ranges_that_are_there_in_part_are_loaded_again(
    shared: Sandbox, target: Document, schema: str
) -> None:
    size = 2 * RANGE + 500
    plan = a_load(target, layout=a_layout(1, size))
    load(plan).finished()
    whole = rows(shared, "CHECKSUM TABLE sbtest1", schema)
    execute(
        shared,
        f"DELETE FROM sbtest1 WHERE id BETWEEN {RANGE + 10} AND {RANGE + 20}",
        f"DELETE FROM sbtest1 WHERE id > {2 * RANGE}",
        database=schema,
    )
    end = load(plan).finished().last
    assert (end.rows, end.rows_loaded) == (size, RANGE + 500)
    assert rows(shared, "CHECKSUM TABLE sbtest1", schema) == whole


@each_in_its_way
def test_a_load_that_was_stopped_is_taken_up_where_it_was(
    shared: Sandbox, target: Document, schema: str, method: str
) -> None:
    # So many that a load is not over before a busy machine lets somebody stop it.
    whole = 2 * 12 * RANGE
    plan = a_load(target, layout=a_layout(2, whole // 2), parallel=2, method=method)
    with Loading(plan) as loading:
        loading.until(lambda loaded: any(each.rows >= RANGE for each in loaded.progress))
        watch = Stopwatch(shared.pid)
        loading.stop()
        loading.until(lambda loaded: loaded.end is not None)
        assert watch.judged_s < 5
    stopped = loading.loaded.last
    assert stopped.reason == "stopped"
    assert 0 < stopped.rows_loaded < whole
    assert stopped.rows == stopped.rows_loaded
    again = load(plan).finished().last
    assert again.rows == whole
    # The server may have finished what was given up: at most one range for each.
    missing = whole - stopped.rows_loaded
    assert missing - 2 * RANGE <= again.rows_loaded <= missing
    assert count(shared, schema) == count(shared, schema, "sbtest2") == whole // 2


def test_a_larger_table_is_refused_and_left_as_it_is(
    shared: Sandbox, target: Document, schema: str
) -> None:
    load(a_load(target, layout=a_layout(1, 500))).finished()
    before = rows(shared, "CHECKSUM TABLE sbtest1", schema)
    end = load(a_load(target, layout=a_layout(1, 400))).last
    assert end.reason == "failed"
    assert end.error is not None
    assert "sbtest1 has rows up to id 500 where 400 were asked for" in end.error.message
    assert rows(shared, "CHECKSUM TABLE sbtest1", schema) == before
    assert end.rows_loaded == 0


def test_a_table_of_another_kind_is_refused_and_left_as_it_is(
    shared: Sandbox, target: Document, schema: str
) -> None:
    execute(
        shared, "CREATE TABLE sbtest1 (name TEXT)", "INSERT INTO sbtest1 VALUES ('dear')",
        database=schema,
    )  # fmt: skip
    end = load(a_load(target, layout=a_layout(1, 400))).last
    assert end.reason == "failed"
    assert rows(shared, "SELECT * FROM sbtest1", schema) == [("dear",)]


@each_in_its_way
def test_a_server_that_dies_in_the_middle_is_waited_for(start: Start, method: str) -> None:
    sandbox = start({"innodb_flush_log_at_trx_commit": "1"})
    plan = a_load(
        local(sandbox), layout=a_layout(1, 4 * RANGE), parallel=2, method=method,
        connect=connecting(retries=5, backoff_s=0.1),
    )  # fmt: skip
    with Loading(plan) as loading:
        loading.until(lambda loaded: any(each.rows >= RANGE for each in loaded.progress))
        sandbox.kill()
        time.sleep(0.5)
        sandbox.start_again()
    end = loading.loaded.finished().last
    assert end.rows == 4 * RANGE
    assert count(sandbox, "sbtest") == 4 * RANGE


@pytest.mark.parametrize("method", ["infile", "insert"])
def test_a_row_that_comes_between_is_no_loss(
    shared: Sandbox, target: Document, schema: str, method: str
) -> None:
    """A statement of a lost connection may end much later; here another session plays it."""
    plan = a_load(target, layout=a_layout(1, 2000), method=method, parallel=1)
    load(plan).finished()
    whole = rows(shared, "CHECKSUM TABLE sbtest1", schema)
    execute(shared, "DELETE FROM sbtest1", database=schema)
    with shared.connect() as other, other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(f"INSERT INTO {schema}.sbtest1 (id) VALUES (1000)")
        with Loading(plan) as loading:
            loading.until(lambda loaded: any(each.phase == "rows" for each in loaded.progress))
            cursor.execute("COMMIT")
    assert loading.loaded.finished().last.rows_loaded == 2000
    assert rows(shared, "CHECKSUM TABLE sbtest1", schema) == whole


def test_connections_that_break_are_opened_again(shared: Sandbox, schema: str) -> None:
    with Between(shared.port) as between:
        target = tcp(shared, database=schema) | {"port": between.port}
        with Loading(a_load(target, layout=a_layout(1, 4 * RANGE), parallel=2)) as loading:
            loading.until(lambda loaded: bool(loaded.progress))
            assert between.cut() >= 1
    assert loading.loaded.finished().last.rows == 4 * RANGE
    assert count(shared, schema) == 4 * RANGE


def test_a_way_that_chops_everything_into_crumbs_changes_nothing(
    shared: Sandbox, schema: str
) -> None:
    with Between(shared.port, pieces=True) as between:
        target = tcp(shared, database=schema) | {"port": between.port}
        load(a_load(target, layout=a_layout(1, 200))).finished()
    assert count(shared, schema) == 200


@pytest.mark.parametrize(
    ("changes", "kind", "code"),
    [
        ({"password": "wrong"}, "login_refused", "1045"),
        ({"database": "no_such_schema"}, "unknown_database", "1049"),
        ({"socket": "/no/such/socket"}, "unreachable", "2002"),
    ],
)
def test_what_stands_in_the_way_is_told_at_once(
    shared: Sandbox, target: Document, changes: Document, kind: str, code: str
) -> None:
    watch = Stopwatch(shared.pid)
    # A statement that the server refuses is not retried: the retry would come after ten minutes.
    policy = connecting(retries=2) if kind == "unreachable" else once()
    plan = a_load(target | changes, connect=policy)
    end = load(plan).last
    assert watch.judged_s < 2
    assert end.error is not None
    assert (end.reason, end.error.kind, end.error.code) == ("failed", kind, code)


def test_an_engine_that_the_server_does_not_have_is_told_with_the_statement(
    shared: Sandbox, target: Document
) -> None:
    end = load(a_load(target, layout=a_layout(1, 10, storage_engine="nonesuch"))).last
    assert end.error is not None
    assert (end.error.kind, end.error.code) == ("statement_failed", "1286")
    assert "CREATE TABLE sbtest1" in (end.error.statement or "")


def test_progress_grows_to_the_whole(shared: Sandbox, target: Document) -> None:
    loaded = load(a_load(target, layout=a_layout(2, RANGE))).finished()
    seen = [each.rows for each in loaded.progress]
    assert seen == sorted(seen)
    assert {each.rows_total for each in loaded.progress} == {2 * RANGE}
    order = ["tables", "rows", "indexes", "verify"]
    phases = [order.index(each.phase) for each in loaded.progress]
    assert phases == sorted(phases)


def order_of_work(sandbox: Sandbox, plan: Document) -> list[str]:
    """What a load does with its tables, in the order in which the server is asked for it."""
    execute(sandbox, "TRUNCATE mysql.general_log")
    with variables(sandbox, log_output="TABLE", general_log=1):
        load(plan).finished()
    kinds = {"LOAD DATA": "rows", "CREATE INDEX": "index", "SELECT COUNT": "count"}
    said = rows(
        sandbox,
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE command_type = 'Query' AND argument LIKE '%sbtest%'",
    )
    found = (
        (kind, re.search(r"sbtest(\d)", text))
        for (text,) in said
        for start, kind in kinds.items()
        if text.startswith(start) and "information_schema" not in text
    )
    return [f"{kind} {table[1]}" for kind, table in found if table]


@on_mariadb
def test_a_table_has_its_index_when_its_own_rows_are_there_and_is_not_counted(
    shared: Sandbox, target: Document, schema: str
) -> None:
    plan = a_load(target, layout=a_layout(3, 2 * RANGE), parallel=1, method="infile")
    whole = [f"{what} {table}" for table in (1, 2, 3) for what in ("rows", "rows", "index")]
    assert order_of_work(shared, plan) == whole
    # What was there before is counted: before it is continued, and after.
    execute(shared, f"DELETE FROM sbtest2 WHERE id > {RANGE}", database=schema)
    again = order_of_work(shared, plan)
    assert [each for each in again if each.startswith("rows")] == ["rows 2"]
    assert again[-3:] == ["count 1", "count 2", "count 3"]
    assert [count(shared, schema, f"sbtest{table}") for table in (1, 2, 3)] == [2 * RANGE] * 3


@on_mariadb
def test_several_connections_load_as_many_tables_at_a_time(
    shared: Sandbox, target: Document
) -> None:
    plan = a_load(target, layout=a_layout(4, 2 * RANGE), parallel=2, method="infile")
    done = order_of_work(shared, plan)
    pieces = [f"{what} {table}" for table in (1, 2, 3, 4) for what in ("rows", "rows", "index")]
    assert sorted(done) == sorted(pieces)
    # Even a connection that does all the work begins with these.
    assert {each[-1] for each in done[:4]} == {"1", "2"}


def test_the_server_cannot_ask_a_driving_connection_for_a_file(
    shared: Sandbox, tmp_path: Path
) -> None:
    """Only the loader's connections announce that they can send files."""
    from engine.driving import a_plan, drive, session

    secret = tmp_path / "secret"
    secret.write_text("1\n")
    told = session(f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE sbtest1 (id)")
    outcome = drive(a_plan(local(shared), session=told))
    assert outcome.last.reason == "failed"
    assert outcome.last.error is not None
    assert outcome.last.error.code in ("1148", "3948", "4166", "2027")
    with shared.connect() as connection:
        assert asked(connection, "SELECT 1") == [(1,)]
