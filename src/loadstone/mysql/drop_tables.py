"""Drops tables, after a last check that they are the intended ones.

Between the reading of a schema and a DROP, somebody may rename a table, or recreate one. A name
alone is therefore not enough: each table is locked, which keeps everybody else's statements out,
checked once more, and dropped only if it is unchanged. MySQL and MariaDB both let a session drop a
table that it has locked for writing, and information_schema can be read without a lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pymysql

from loadstone.model.message import say
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import number_in
from loadstone.mysql.facts import quoted, tables_of
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.facts import TableFacts
from loadstone.servers.guard import LIST_TABLE, CleanupDecision, SchemaState
from loadstone.servers.tpcc_tables import in_order_of_dropping

_NO_SUCH_TABLE = 1146
_DENIED = (1044, 1142)
# Errors of clusters that do not allow table locks (Percona XtraDB Cluster in strict mode).
_NO_LOCKS_HERE = (1105, 1235)


def drop_tables(
    connection: Connection, target: Target, state: SchemaState, decision: CleanupDecision
) -> None:
    """Drop the chosen tables, and remove each from the list afterwards; an empty list goes last.

    Raises:
        GuardError: a table is no longer the one in `state`; it is kept, and so are those after it.
        TargetError: the server refused.
    """
    schema = state.schema_name
    seen = {table.name: table for table in state.tables}
    for name in in_order_of_dropping(decision.drops):
        _drop(connection, target, schema, seen[name])
        _forget(connection, target, state, [name])
    _forget(connection, target, state, decision.forgets)
    _drop_empty_list(connection, target, state)


def _drop(connection: Connection, target: Target, schema: str, table: TableFacts) -> None:
    place = f"{quoted(schema)}.{quoted(table.name)}"
    with _locked(connection, target, place) as is_there, statement_errors(target):
        if not is_there:
            return
        if tables_of(connection, target, schema, table.name) != (table,):
            raise GuardError(
                "table_in_the_way",
                say(
                    "table {table} of schema {schema} was recreated, changed or renamed while"
                    " cleanup was running: it is left alone",
                    table=table.name,
                    schema=schema,
                ),
                say("look at it, then run cleanup again"),
            )
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {place}")


@contextlib.contextmanager
def _locked(connection: Connection, target: Target, place: str) -> Iterator[bool]:
    """Lock a table against all other sessions; gives whether the table exists."""
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLES {place} WRITE")
    except TargetError as error:
        if number_in(error) == _NO_SUCH_TABLE:
            yield False
            return
        if number_in(error) in _DENIED:
            hint = say(
                "to drop exactly what was looked at and nothing else: GRANT LOCK TABLES to this"
                " user"
            )
            raise TargetError(error.kind, error.message, hint, error.code) from error
        if number_in(error) not in _NO_LOCKS_HERE:
            raise
    try:
        yield True
    finally:
        # A lost connection holds no lock; what ended it has already been reported.
        with contextlib.suppress(pymysql.MySQLError), connection.cursor() as cursor:
            cursor.execute("UNLOCK TABLES")


def _forget(
    connection: Connection, target: Target, state: SchemaState, names: Sequence[str]
) -> None:
    if not _has_list(state):
        return
    with statement_errors(target), connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DELETE FROM {_list_of(state)} WHERE table_name = %s", (name,))


def _drop_empty_list(connection: Connection, target: Target, state: SchemaState) -> None:
    if not _has_list(state):
        return
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {_list_of(state)}")
        row = cursor.fetchone()
    if row is not None and row[0] == 0:
        (table,) = (each for each in state.tables if each.name == LIST_TABLE)
        _drop(connection, target, state.schema_name, table)


def _has_list(state: SchemaState) -> bool:
    return any(table.name == LIST_TABLE for table in state.tables)


def _list_of(state: SchemaState) -> str:
    return f"{quoted(state.schema_name)}.{LIST_TABLE}"
