"""Asks a server for violations of the consistency conditions of TPC-C."""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.postgresql.errors import statement_errors
from loadstone.servers import tpcc_conditions, tpcc_tables
from loadstone.servers.connection import Connection


def broken_places(
    connection: Connection, target: Target, condition: int, most: int
) -> list[dict[str, str | None]]:
    """Columns and values of the first rows for which a condition does not hold.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        return tpcc_conditions.broken_places(cursor, condition, most)


def count_foreign_keys(connection: Connection, target: Target) -> int:
    """The number of foreign keys of TPC-C's tables whose rows the server has checked.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated"
            " AND conrelid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)",
            (list(tpcc_tables.NAMES),),
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
