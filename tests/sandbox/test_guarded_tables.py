"""The guard on real schemas: what it lists, finds, drops and leaves alone."""

import pytest

from loadstone.model.target import Target
from loadstone.mysql.drop_tables import drop_tables
from loadstone.mysql.facts import count_rows, tables_of
from loadstone.mysql.schemas import create_schema, list_tables, mark_ready, read_schema
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from loadstone.servers.guard import LIST_TABLE, Consent, ListedTable, decide_cleanup, decide_prepare

pytestmark = pytest.mark.server

# The columns, types and key that sysbench's documentation gives its tables.
SBTEST = (
    "CREATE TABLE {} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL,"
    " c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
)
HOT = "CREATE TABLE hot_row1 (product INT PRIMARY KEY, stock BIGINT, sold BIGINT)"


def placed(schema: Sandbox) -> tuple[Target, str]:
    """The target and the schema of the guarded tables."""
    target = schema.local.target
    assert target.database
    return target, target.database


def carry_out(connection: Connection, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_cleanup_drops_ours_and_sysbenchs_and_leaves_the_rest(schema: Sandbox) -> None:
    target, name = placed(schema)
    with schema.connect() as connection:
        ours = ListedTable(name="hot_row1", layout="hot", rows=1, seed=2**64 - 1, state="loading")
        list_tables(connection, target, name, [ours])
        carry_out(
            connection,
            HOT,
            SBTEST.format("sbtest1"),
            SBTEST.format("sbtest10"),
            SBTEST.format("sbtest2"),
            "CREATE TABLE sbtest3 (id INT PRIMARY KEY, salary INT)",
            "CREATE TABLE orders (id INT PRIMARY KEY)",
            "CREATE VIEW sbtest4 AS SELECT * FROM sbtest1",
        )
        mark_ready(connection, target, name, ["hot_row1"])
        state = read_schema(connection, target, name)
        assert state.of("ours") == ("hot_row1",)
        assert state.of("sysbench") == ("sbtest1", "sbtest2", "sbtest10")
        decision = decide_cleanup(state, target, Consent(sandbox=True), of_sysbench=True)
        drop_tables(connection, target, state, decision)
        left = [table.name for table in tables_of(connection, target, name)]
    assert left == ["orders", "sbtest3", "sbtest4"]


def test_a_table_made_anew_by_somebody_else_is_no_longer_ours(schema: Sandbox) -> None:
    target, name = placed(schema)
    with schema.connect() as connection:
        ours = ListedTable(name="hot_row1", layout="hot", rows=1, seed=1, state="loading")
        list_tables(connection, target, name, [ours])
        carry_out(connection, HOT)
        mark_ready(connection, target, name, ["hot_row1"])
        carry_out(connection, "DROP TABLE hot_row1", "CREATE TABLE hot_row1 (id INT, price INT)")
        state = read_schema(connection, target, name)
        decision = decide_cleanup(state, target, Consent(yes=True))
        drop_tables(connection, target, state, decision)
        left = [table.name for table in tables_of(connection, target, name)]
    assert left == ["hot_row1"]


def test_a_schema_that_is_not_there_is_made_by_prepare(schema: Sandbox) -> None:
    here = Consent(elsewhere=None)
    target = schema.local.target
    with schema.connect() as connection:
        state = read_schema(connection, target, "not there`yet")
        assert decide_prepare(state, ["sbtest1"], target, here).creates_schema
        create_schema(connection, target, "not there`yet")
        state = read_schema(connection, target, "not there`yet")
        assert not decide_prepare(
            state, ["sbtest1"], target, Consent(elsewhere=None)
        ).creates_schema
        assert LIST_TABLE not in [table.name for table in state.tables]
        carry_out(connection, "DROP DATABASE `not there``yet`")


def test_rows_are_counted_or_where_that_takes_too_long_estimated_by_id(schema: Sandbox) -> None:
    target, name = placed(schema)
    with schema.connect() as connection:
        carry_out(connection, SBTEST.format("sbtest1"))
        carry_out(connection, "INSERT INTO sbtest1 (k) VALUES (1), (2), (3)")
        for _ in range(14):
            carry_out(connection, "INSERT INTO sbtest1 (k) SELECT k FROM sbtest1")
        counted = count_rows(connection, target, "sbtest1")
        assert (counted.rows, counted.exact) == (3 * 2**14, True)
        hurried = count_rows(connection, target, "sbtest1", limit_s=0.001)
        assert hurried.exact or hurried.rows >= counted.rows
        (table,) = [each for each in tables_of(connection, target, name) if each.number == 1]
        assert table.layout == "sbtest"
        assert table.engine == "InnoDB"
