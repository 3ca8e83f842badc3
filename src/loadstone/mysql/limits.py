"""How many connections a server still gives to a user."""

from __future__ import annotations

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.servers.connection import Connection

_LIMITS = ("max_connections", "max_user_connections")


def free_connections(connection: Connection, target: Target) -> int:
    """How many connections this user may have there, including the one that asks."""
    # SHOW, because a SELECT would be counted among those of a test.
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SHOW VARIABLES WHERE Variable_name IN {_LIMITS}")
        limits = {str(name).lower(): int(str(value)) for name, value in cursor.fetchall()}
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        ((_, connected),) = cursor.fetchall()
    free = limits["max_connections"] - int(connected) + 1
    of_user = limits["max_user_connections"]
    return min(free, of_user) if of_user else free
