"""How a run treats the tables that it finds, on made-up schemas and on a real server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal

import pytest

from loadstone.families import connect
from loadstone.lab.tables.discover import Wanted, find_data, refuse_unfinished, without_index
from loadstone.lab.tables.load import _refuse_another_load, layout_for
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.target import Endpoint, Target
from loadstone.mysql import schemas
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.facts import TableFacts
from loadstone.servers.guard import Consent, ListedTable, SchemaState, decide_prepare
from pooled import KINDS, Pool

SBTEST = (("id", "int"), ("k", "int"), ("c", "char(120)"), ("pad", "char(60)"))
CREATE = (
    "CREATE TABLE {} (id INT NOT NULL PRIMARY KEY, k INT NOT NULL DEFAULT 0,"
    " c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
)
TARGET = Target(host="127.0.0.1", port=3306, user="bench", database="shop")
WANTED = Wanted(workload="oltp_read_write", layout="sbtest")
TABLES = tuple(
    TableFacts(name=f"sbtest{number}", engine="InnoDB", columns=SBTEST) for number in (1, 2, 3)
)


def line(name: str, state: Literal["loading", "ready"] = "loading") -> ListedTable:
    return ListedTable(name=name, layout="sbtest", rows=5000, seed=9, state=state)


def a_schema(*lines: ListedTable) -> SchemaState:
    return SchemaState(schema_name="shop", exists=True, tables=TABLES, listed=lines)


def test_a_table_that_is_not_fully_loaded_is_not_measured() -> None:
    state = a_schema(line("sbtest1", "ready"), line("sbtest2"), line("sbtest3"))
    with pytest.raises(TargetError, match="^sbtest2 is not fully loaded") as refused:
        refuse_unfinished(TARGET, WANTED, state, TABLES)
    assert refused.value.exit_code == 3
    assert refused.value.hint == (
        f"loadstone prepare --target {TARGET.url} --tables 3 --table-size 5000 --seed 9"
    )


def test_an_unfinished_table_beyond_those_asked_for_does_not_matter() -> None:
    state = a_schema(line("sbtest1", "ready"), line("sbtest2", "ready"), line("sbtest3"))
    refuse_unfinished(TARGET, WANTED, state, TABLES[:2])


def test_a_missing_index_is_told() -> None:
    assert without_index(TABLES, {table.name for table in TABLES}) == ()
    (note,) = without_index(TABLES, {"sbtest2", "sbtest3"})
    assert note.startswith("sbtest1 has no index on k: its selects by k read the whole table")
    (note,) = without_index(TABLES, {"sbtest2"})
    assert note.startswith("sbtest1 and 1 more have no index on k: their selects by k")


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Endpoint:
    """The pool's."""
    return pool.server(request.param).endpoint()


@pytest.fixture
def connection(server: Endpoint) -> Iterator[Connection]:
    """A connection to it, with an empty schema `shop`."""
    with connect(server, database=None) as made:
        execute(made, "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", "USE shop")
        yield made
        execute(made, "DROP DATABASE shop")


def execute(connection: Connection, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def made(connection: Connection, target: Target, rows: int = 5000) -> None:
    """Table sbtest1 as `prepare` leaves it, with one row less than the list says."""
    listed = line("sbtest1").model_copy(update={"rows": rows})
    schemas.list_tables(connection, target, "shop", [listed])
    execute(connection, CREATE.format("sbtest1"), "CREATE INDEX k_1 ON sbtest1(k)")
    execute(connection, "INSERT INTO sbtest1 (id) VALUES (1), (2)")
    schemas.mark_ready(connection, target, "shop", ["sbtest1"])


@pytest.mark.server
def test_a_table_made_anew_is_counted_and_not_prepared(
    server: Endpoint, connection: Connection
) -> None:
    target = server.target.model_copy(update={"database": "shop"})
    made(connection, target)
    assert find_data(connection, target, WANTED).table_size == 5000
    execute(connection, "DROP TABLE sbtest1", "DO SLEEP(1.1)", CREATE.format("sbtest1"))
    execute(connection, "INSERT INTO sbtest1 (id) VALUES (1), (2), (3)")
    found = find_data(connection, target, WANTED)
    assert found.table_size == 3
    assert any("sbtest1 has no index on k" in note for note in found.notes)
    state = schemas.read_schema(connection, target, "shop")
    with pytest.raises(GuardError, match="recreated or changed"):
        decide_prepare(state, ["sbtest1"], target, Consent(yes=True))


@pytest.mark.server
def test_a_table_smaller_than_the_keys_is_refused_unless_rows_were_deleted(
    server: Endpoint, connection: Connection
) -> None:
    target = server.target.model_copy(update={"database": "shop"})
    execute(connection, CREATE.format("sbtest1"), "CREATE INDEX k_1 ON sbtest1(k)")
    execute(connection, "INSERT INTO sbtest1 (id) VALUES (1), (2), (100)")
    for size, said in ((2, "--table-size 2, and sbtest1 has 3 rows"), (100, "--table-size 100")):
        found = find_data(connection, target, WANTED.model_copy(update={"table_size": size}))
        assert found.table_size == size
        assert found.notes[0].startswith(said)
    with pytest.raises(TargetError, match="has only 3 rows: keys beyond them") as refused:
        find_data(connection, target, WANTED.model_copy(update={"table_size": 101}))
    assert str(refused.value.hint).startswith("--table-size 3 uses the tables as they are")


@pytest.mark.parametrize("state", ["loading", "ready"])
@pytest.mark.parametrize(("size", "is_refused"), [(4999, True), (5000, False), (5001, True)])
def test_a_load_of_another_size_is_refused_in_both_directions(
    state: Literal["loading", "ready"], size: int, is_refused: bool
) -> None:
    layout = layout_for("sbtest", 1, size)
    plan = LoadPlan(layout=layout, seed=9)
    refused = (
        pytest.raises(GuardError, match="made with 5000 rows")
        if is_refused
        else contextlib.nullcontext()
    )
    with refused:
        _refuse_another_load(a_schema(line("sbtest1", state)), ["sbtest1"], plan)


@pytest.mark.server
def test_a_list_from_before_is_read_and_gets_its_column(
    server: Endpoint, connection: Connection
) -> None:
    target = server.target.model_copy(update={"database": "shop"})
    made(connection, target)
    execute(connection, "ALTER TABLE loadstone_tables DROP COLUMN made_s")
    state = schemas.read_schema(connection, target, "shop")
    assert (state.of("ours"), state.listed[0].made_s) == (("sbtest1",), None)
    schemas.list_tables(connection, target, "shop", [line("sbtest1")])
    with pytest.raises(TargetError, match="sbtest1 is not fully loaded"):
        find_data(connection, target, WANTED)
    schemas.mark_ready(connection, target, "shop", ["sbtest1"])
    (listed,) = schemas.read_schema(connection, target, "shop").listed
    assert (listed.state, listed.made_s is not None) == ("ready", True)


@pytest.mark.server
def test_many_tables_are_listed_in_few_statements(server: Endpoint, connection: Connection) -> None:
    def replaced() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SHOW SESSION STATUS LIKE 'Com_replace'")
            return int(dict(cursor.fetchall())["Com_replace"])

    before = replaced()
    lines = [line(f"sbtest{number}") for number in range(1, 1202)]
    schemas.list_tables(connection, server.target, "shop", lines)
    assert replaced() - before == 3
    assert len(schemas.read_schema(connection, server.target, "shop").listed) == 1201
