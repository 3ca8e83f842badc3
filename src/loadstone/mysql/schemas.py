"""The state of a schema, and the list in it of the tables that Loadstone made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import pymysql

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.facts import quoted, schema_exists, tables_of
from loadstone.servers.connection import Connection, Cursor
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import TableFacts
from loadstone.servers.guard import (
    LIST_TABLE,
    MADE_COLUMN,
    ListedTable,
    SchemaState,
    hash_of_columns,
    is_list,
)

_LINES_A_STATEMENT = 500
_CREATE_LIST = (
    f"CREATE TABLE IF NOT EXISTS {LIST_TABLE} ("
    " table_name VARCHAR(64) NOT NULL PRIMARY KEY,"
    " layout VARCHAR(32) NOT NULL,"
    " row_count BIGINT NOT NULL,"
    " seed BIGINT UNSIGNED NOT NULL,"
    " created_at DATETIME NOT NULL,"
    " state VARCHAR(16) NOT NULL,"
    " columns_hash CHAR(16) NULL,"
    " made_s BIGINT NULL)"
)


def read_schema(connection: Connection, target: Target, schema: str) -> SchemaState:
    """Read the state of a schema; it need not be the connection's.

    Raises:
        TargetError: the server refused.
    """
    if not schema_exists(connection, target, schema):
        return SchemaState(schema_name=schema, exists=False)
    tables = tables_of(connection, target, schema)
    listed: tuple[ListedTable, ...] = ()
    if found := [table for table in tables if table.name == LIST_TABLE and is_list(table)]:
        listed = _read_list(connection, target, schema, with_made=_has_made(found[0]))
    return SchemaState(schema_name=schema, exists=True, tables=tables, listed=listed)


def create_schema(connection: Connection, target: Target, schema: str) -> None:
    """Create the schema; only `prepare` does, and says so."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(schema)}")


def drop_schema(connection: Connection, target: Target, schema: str) -> None:
    """Drop the schema with all its content: only for throwaway servers."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {quoted(schema)}")


def list_tables(
    connection: Connection, target: Target, schema: str, tables: Iterable[ListedTable]
) -> None:
    """Add tables to the list, *before* they are created: a crash then leaves none unlisted."""
    rows = [
        (line.name, line.layout, line.rows, line.seed, line.state, line.columns_hash)
        for line in tables
    ]
    place = f"{quoted(schema)}.{LIST_TABLE}"
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_CREATE_LIST.replace(LIST_TABLE, place, 1))
    _add_made(connection, target, schema)
    with _transaction(connection, target) as cursor:
        for start in range(0, len(rows), _LINES_A_STATEMENT):
            batch = rows[start : start + _LINES_A_STATEMENT]
            values = ", ".join(["(%s, %s, %s, %s, UTC_TIMESTAMP(), %s, %s)"] * len(batch))
            cursor.execute(
                f"REPLACE INTO {place}"
                " (table_name, layout, row_count, seed, created_at, state, columns_hash)"
                f" VALUES {values}",
                [value for row in batch for value in row],
            )


def mark_ready(connection: Connection, target: Target, schema: str, names: Iterable[str]) -> None:
    """Record that these tables are complete, with their indexes, and what identifies them.

    A table that is not the listed one has replaced it since: its row is not changed.
    """
    wanted = set(names)
    found = [table for table in tables_of(connection, target, schema) if table.name in wanted]
    with _transaction(connection, target) as cursor:
        cursor.executemany(
            f"UPDATE {quoted(schema)}.{LIST_TABLE} SET state = 'ready', columns_hash = %s,"
            f" {MADE_COLUMN} = %s WHERE table_name = %s"
            " AND (columns_hash IN (%s, %s) OR columns_hash IS NULL AND layout = %s)",
            [_ready(table) for table in found],
        )


def forget_when_made(connection: Connection, target: Target) -> None:
    """Remove from all lists when each table was made: a copy of the data folder has other times."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_schema FROM information_schema.tables WHERE table_name = %s",
            (LIST_TABLE,),
        )
        for (schema,) in cursor.fetchall():
            cursor.execute(f"UPDATE {quoted(schema)}.{LIST_TABLE} SET {MADE_COLUMN} = NULL")


def _ready(table: TableFacts) -> tuple[object, ...]:
    known = hash_of_columns(table)
    return known, table.created_s, table.name, known, table.mark, table.layout


@contextlib.contextmanager
def _transaction(connection: Connection, target: Target) -> Iterator[Cursor]:
    with statement_errors(target), connection.cursor() as cursor:
        connection.begin()
        try:
            yield cursor
        except BaseException:
            with contextlib.suppress(pymysql.MySQLError):
                connection.rollback()
            raise
        connection.commit()


def tables_listed(connection: Connection, target: Target, schema: str) -> frozenset[str]:
    """The names of the tables in Loadstone's list; none where there is no list to read."""
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"SELECT table_name FROM {quoted(schema)}.{LIST_TABLE}")
            return frozenset(str(name) for (name,) in cursor.fetchall())
    except TargetError:
        return frozenset()


def _add_made(connection: Connection, target: Target, schema: str) -> None:
    """Add the missing column to a list of an older version."""
    lists = [table for table in tables_of(connection, target, schema) if table.name == LIST_TABLE]
    if all(_has_made(table) for table in lists):
        return
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            f"ALTER TABLE {quoted(schema)}.{LIST_TABLE} ADD COLUMN {MADE_COLUMN} BIGINT NULL"
        )


def _read_list(
    connection: Connection, target: Target, schema: str, *, with_made: bool
) -> tuple[ListedTable, ...]:
    made_column = MADE_COLUMN if with_made else "NULL"
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT table_name, layout, row_count, seed, state, columns_hash, {made_column}"
            f" FROM {quoted(schema)}.{LIST_TABLE}"
        )
        return tuple(
            ListedTable(
                name=name,
                layout=layout,
                rows=rows,
                seed=seed,
                state=state,
                columns_hash=columns,
                made_s=made,
            )
            for name, layout, rows, seed, state, columns, made in cursor.fetchall()
        )


def _has_made(table: TableFacts) -> bool:
    return any(name == MADE_COLUMN for name, _ in table.columns)
