"""The state of a database, and the list in it of the tables that Loadstone made.

What other families call a schema is a database here, the one in the target's URL: there sysbench
has its tables, in the schema that the user's search_path has first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import pg8000

from loadstone.model.target import Target
from loadstone.postgresql.administration import Administration, Rows
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.facts import database_exists, quoted, schema_of, tables_of
from loadstone.servers.connection import Connection
from loadstone.servers.facts import TableFacts
from loadstone.servers.guard import (
    LIST_TABLE,
    MADE_COLUMN,
    ListedTable,
    SchemaState,
    hash_of_columns,
    is_list,
)

_CREATE_LIST = (
    "CREATE TABLE IF NOT EXISTS {place} ("
    " table_name VARCHAR(64) NOT NULL PRIMARY KEY,"
    " layout VARCHAR(32) NOT NULL,"
    " row_count BIGINT NOT NULL,"
    " seed BIGINT NOT NULL,"
    " created_at TIMESTAMP NOT NULL,"
    " state VARCHAR(16) NOT NULL,"
    " columns_hash CHAR(16) NULL,"
    f" {MADE_COLUMN} BIGINT NULL)"
)


def read_schema(connection: Connection, target: Target, schema: str) -> SchemaState:
    """Read the state of a database; it need not be the connection's.

    Raises:
        TargetError: the server refused.
    """
    if not database_exists(connection, target, schema):
        return SchemaState(schema_name=schema, exists=False)
    at = of(connection).at(schema)
    schema_of(at, target)  # it must have one
    tables = tables_of(at, target)
    listed: tuple[ListedTable, ...] = ()
    if any(table.name == LIST_TABLE and is_list(table) for table in tables):
        listed = _read_list(at, target)
    return SchemaState(schema_name=schema, exists=True, tables=tables, listed=listed)


def create_schema(connection: Connection, target: Target, schema: str) -> None:
    """Create the database; only `prepare` does, and says so."""
    if database_exists(connection, target, schema):
        return
    with statement_errors(target), of(connection).elsewhere(schema).cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {quoted(schema)}")


def drop_schema(connection: Connection, target: Target, schema: str) -> None:
    """Drop the database with all its content: only for throwaway servers."""
    databases = of(connection)
    databases.leave(schema)
    with statement_errors(target), databases.elsewhere(schema).cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {quoted(schema)}")


def forget_when_made(connection: Connection, target: Target) -> None:
    """Do nothing: servers do not say when a table was made, so that no list has it."""


def list_tables(
    connection: Connection, target: Target, schema: str, tables: Iterable[ListedTable]
) -> None:
    """Add tables to the list, *before* they are created: a crash then leaves none unlisted."""
    rows = [
        (line.name, line.layout, line.rows, line.seed, line.state, line.columns_hash)
        for line in tables
    ]
    at = of(connection).at(schema)
    place = place_of(LIST_TABLE, at, target)
    with statement_errors(target), at.cursor() as cursor:
        cursor.execute(_CREATE_LIST.format(place=place))
    with transaction(at, target) as cursor:
        cursor.executemany(
            f"INSERT INTO {place}"
            " (table_name, layout, row_count, seed, created_at, state, columns_hash)"
            " VALUES (%s, %s, %s, %s, now() AT TIME ZONE 'UTC', %s, %s)"
            " ON CONFLICT (table_name) DO UPDATE SET layout = excluded.layout,"
            " row_count = excluded.row_count, seed = excluded.seed,"
            " created_at = excluded.created_at, state = excluded.state,"
            f" columns_hash = excluded.columns_hash, {MADE_COLUMN} = NULL",
            rows,
        )


def mark_ready(connection: Connection, target: Target, schema: str, names: Iterable[str]) -> None:
    """Record that these tables are complete, with their indexes, and what identifies them.

    A table that is not the listed one has replaced it since: its row is not changed.
    """
    wanted = set(names)
    at = of(connection).at(schema)
    found = [table for table in tables_of(at, target) if table.name in wanted]
    place = place_of(LIST_TABLE, at, target)
    with transaction(at, target) as cursor:
        cursor.executemany(
            f"UPDATE {place} SET state = 'ready', columns_hash = %s WHERE table_name = %s"
            " AND (columns_hash IN (%s, %s) OR columns_hash IS NULL AND layout = %s)",
            [_ready(table) for table in found],
        )


def _ready(table: TableFacts) -> tuple[object, ...]:
    known = hash_of_columns(table)
    return known, table.name, known, table.mark or known, table.layout or ""


def place_of(table: str, at: Administration, target: Target) -> str:
    """A table's name with its schema, quoted for SQL."""
    return f"{quoted(schema_of(at, target))}.{quoted(table)}"


@contextlib.contextmanager
def transaction(at: Administration, target: Target) -> Iterator[Rows]:
    """A transaction that is rolled back if anything fails."""
    with statement_errors(target), at.cursor() as cursor:
        at.run("BEGIN")
        try:
            yield cursor
        except BaseException:
            with contextlib.suppress(pg8000.Error):
                at.run("ROLLBACK")
            raise
        at.run("COMMIT")


def _read_list(at: Administration, target: Target) -> tuple[ListedTable, ...]:
    with statement_errors(target), at.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, layout, row_count, seed, state, columns_hash"
            f" FROM {place_of(LIST_TABLE, at, target)}"
        )
        return tuple(
            ListedTable(
                name=name, layout=layout, rows=rows, seed=seed, state=state, columns_hash=columns
            )
            for name, layout, rows, seed, state, columns in cursor.fetchall()
        )
