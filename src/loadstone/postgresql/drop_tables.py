"""Drops tables, after a last check that they are the intended ones.

Between the reading of a database and a DROP, somebody may rename a table, or recreate one. A name
alone is therefore not enough: in one transaction each table is locked, which keeps everybody else's
statements out, looked at once more, and dropped only if it is unchanged; its row in the list goes
in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.message import say
from loadstone.model.target import Target
from loadstone.postgresql.administration import Administration, Rows
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import code_of, statement_errors
from loadstone.postgresql.facts import tables_of
from loadstone.postgresql.schemas import place_of, transaction
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.facts import TableFacts
from loadstone.servers.guard import LIST_TABLE, CleanupDecision, SchemaState
from loadstone.servers.tpcc_tables import in_order_of_dropping

_NO_SUCH_TABLE = "42P01"


def drop_tables(
    connection: Connection, target: Target, state: SchemaState, decision: CleanupDecision
) -> None:
    """Drop the chosen tables, each with its row in the list; an empty list goes last.

    Raises:
        GuardError: a table is no longer the one in `state`; it is kept, and so are those after it.
        TargetError: the server refused.
    """
    at = of(connection).at(state.schema_name)
    seen = {table.name: table for table in state.tables}
    for name in in_order_of_dropping(decision.drops):
        _drop(at, target, state, seen[name])
    if LIST_TABLE in seen:
        with transaction(at, target) as cursor:
            _forget(at, target, cursor, decision.forgets)
        _drop_empty_list(at, target, state, seen[LIST_TABLE])


def _drop(at: Administration, target: Target, state: SchemaState, table: TableFacts) -> None:
    place = place_of(table.name, at, target)
    has_list = any(each.name == LIST_TABLE for each in state.tables)
    try:
        with transaction(at, target) as cursor:
            cursor.execute(f"LOCK TABLE {place} IN ACCESS EXCLUSIVE MODE")
            _refuse_another(tables_of(at, target, table.name), table, state.schema_name)
            cursor.execute(f"DROP TABLE {place}")
            if has_list and table.name != LIST_TABLE:
                _forget(at, target, cursor, [table.name])
    except TargetError as error:
        if code_of(error) != _NO_SUCH_TABLE:
            raise
        if has_list and table.name != LIST_TABLE:
            with transaction(at, target) as cursor:
                _forget(at, target, cursor, [table.name])


def _refuse_another(found: tuple[TableFacts, ...], table: TableFacts, schema: str) -> None:
    if found != (table,):
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


def _forget(at: Administration, target: Target, cursor: Rows, names: Sequence[str]) -> None:
    if names:
        cursor.execute(
            f"DELETE FROM {place_of(LIST_TABLE, at, target)} WHERE table_name = ANY(%s)",
            (list(names),),
        )


def _drop_empty_list(
    at: Administration, target: Target, state: SchemaState, table: TableFacts
) -> None:
    with statement_errors(target), at.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {place_of(LIST_TABLE, at, target)}")
        (count,) = cursor.fetchone()
    if count == 0:
        _drop(at, target, state, table)
