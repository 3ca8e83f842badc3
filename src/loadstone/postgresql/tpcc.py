"""Asks a server for violations of the consistency conditions of TPC-C."""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.postgresql.errors import statement_errors
from loadstone.servers import tpcc_conditions
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
