"""Asks a server for violations of the consistency conditions of TPC-C."""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
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
    """The number of foreign keys of TPC-C's tables.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.table_constraints"
            " WHERE constraint_type = 'FOREIGN KEY' AND table_schema = DATABASE()"
            " AND table_name IN %s",
            (tpcc_tables.NAMES,),
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
