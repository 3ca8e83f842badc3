"""How many connections a server still gives to a user."""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.postgresql.activity import OF_CLIENTS
from loadstone.postgresql.errors import statement_errors
from loadstone.servers.connection import Connection


def free_connections(connection: Connection, target: Target) -> int:
    """How many connections this user may have there, including the one that asks."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int - count(*) + 1"
            f" FROM pg_stat_activity WHERE {OF_CLIENTS}"
        )
        ((free,),) = cursor.fetchall()
    return int(free)
