"""The sessions of a server, as it lists them for any client.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW
"""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.target import Target
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.pooling import is_pooled
from loadstone.servers.connection import Connection
from loadstone.servers.processes import Process

SEE_OTHERS = "GRANT pg_read_all_stats"
"""The right to see what sessions of other users do, and from where."""

HIDDEN = "<insufficient privilege>"
"""The query of a session that this user may not see: its user is shown, its address is not."""

AT_WORK = ("active", "fastpath function call")
"""States of sessions that execute a statement."""

OF_CLIENTS = (
    "datid IS NOT NULL AND usesysid IS NOT NULL AND (backend_type = 'client backend'"
    f" OR backend_type IS NULL AND query = '{HIDDEN}')"
)
"""Sessions of clients; the type of those that this user may not see is not shown, nor that of a
parallel worker that is about to end."""


def processes(
    connection: Connection, target: Target, numbers: Sequence[int]
) -> tuple[Process, ...]:
    """Those of these sessions that this account may see.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target), of(connection).home.cursor() as cursor:
        cursor.execute(
            "SELECT pid, coalesce(usename, ''), coalesce(host(client_addr) || ':' || client_port,"
            " ''), coalesce(state, ''),"
            " extract(epoch FROM clock_timestamp() - state_change)::bigint,"
            " pid = pg_backend_pid() FROM pg_stat_activity"
            " WHERE pid = ANY(%s) AND query IS DISTINCT FROM %s",
            (list(numbers), HIDDEN),
        )
        return tuple(Process(*row) for row in cursor.fetchall())


def is_passed_on(connection: Connection, target: Target) -> bool:
    """Whether there is a pooler in between: it gives its clients numbers of its own.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target):
        return is_pooled(of(connection).home)


def is_readdressed(connection: Connection, target: Target) -> bool:
    """Whether the server sees this connection at another port than the one that it comes from.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    if target.socket is not None:
        return False
    home = of(connection).home
    with statement_errors(target), home.cursor() as cursor:
        cursor.execute("SELECT inet_client_port()")
        (seen,) = cursor.fetchone()
    return seen is not None and int(seen) != home.line.socket.getsockname()[1]


def number_of(connection: Connection) -> int:
    """The number of the server's process for the connection, as the login said it."""
    return of(connection).home.number
