"""Whether a pooler gives the server's session behind a connection to other clients, too.

A pooler with `pool_mode=transaction` or `statement` does so between any two transactions: what is
set for the session, and an advisory lock, then stays with a session that others use next. Nothing
needs a right to be found out: a server's session that two of our connections get, one after the
other, while both are logged in, is shared.

Source: https://www.pgbouncer.org/features.html
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from loadstone.postgresql.administration import Administration
from loadstone.postgresql.line import LineError

_ROUNDS = 3
"""Other clients of a busy pooler may get the session in between."""

_LONGEST_S = 5.0
"""A pooler that keeps sessions apart may have none left for the second connection."""


def is_pooled(connection: Administration) -> bool:
    """Whether there is a pooler in between: it gives its clients numbers of its own.

    Raises:
        pg8000.Error: the server refused, or the connection was lost.
    """
    return _session_of(connection) != connection.number


def shares_sessions(connection: Administration, reach: Callable[[], Administration]) -> bool:
    """Whether others may get the session of a pooler's connection; `reach` logs in once more.

    Raises:
        pg8000.Error: the server refused, or the connection was lost.
        TargetError: the second login was refused.
    """
    with closing(reach()) as other:
        other.statement_s = _LONGEST_S
        return any(_has_moved(connection, other) for _ in range(_ROUNDS))


def _has_moved(connection: Administration, other: Administration) -> bool:
    """Whether the other connection gets the idle one's session, or the idle one another."""
    before = _session_of(connection)
    try:
        taken = _session_of(other)
    except LineError:
        # There was none for it: the idle connection has kept its own.
        return False
    return taken == before or _session_of(connection) != before


def _session_of(connection: Administration) -> int:
    """The number of the server's process that executes this statement."""
    return int(connection.run("SELECT pg_backend_pid()").rows[0][0])
