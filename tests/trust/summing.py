"""A schema's whole content, as values to compare: other people's data must not change."""

from __future__ import annotations

import re
from typing import Any

from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection
from trust.tally import COUNTS

Sums = dict[str, tuple[Any, ...]]
"""By table: its definition, its creation time, and the sum of its rows."""

_MARK = re.compile(r" COMMENT='loadstone [0-9a-f]{16}'")


def execute(server: Sandbox, *statements: str) -> None:
    """Execute a statement as another client would, over a connection of its own."""
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def sums_of(server: Sandbox, schema: str) -> Sums:
    """The sums of every table and view of a schema; empty if the schema does not exist."""
    with server.connect() as connection:
        found = _asked(
            connection,
            "SELECT table_name, table_type, create_time FROM information_schema.tables"
            f" WHERE table_schema = '{schema}'",
        )
        if found:
            COUNTS["tables compared"] += len(found)
        return {name: _sum(connection, f"`{schema}`.`{name}`", *rest) for name, *rest in found}


def rows_of(server: Sandbox, schema: str) -> dict[str, tuple[str, int]]:
    """The definitions of the tables of sbtest without their random marks, and sums of rows."""
    return {
        name: (_MARK.sub("", each[1]), each[3])
        for name, each in sums_of(server, schema).items()
        if name.startswith("sbtest")
    }


def _sum(connection: Connection, place: str, kind: str, made: object) -> tuple[Any, ...]:
    ((_, definition, *_),) = _asked(connection, f"SHOW CREATE TABLE {place}")
    if kind == "VIEW":
        return (kind, definition)
    ((_, checksum),) = _asked(connection, f"CHECKSUM TABLE {place} EXTENDED")
    return (kind, definition, made, checksum)


def _asked(connection: Connection, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
