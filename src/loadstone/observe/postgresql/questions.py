"""Asks a server the same statements over and over: it plans each of them once.

Planning a statement over many views costs the server ten times as much as executing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadstone.postgresql.activity import number_of
from loadstone.servers.connection import Connection


class Questions:
    """The statements of one connection; all methods raise pg8000's errors."""

    def __init__(self, connection: Connection) -> None:
        """Find out whether the connection is the server's own: a pooler's may be others' next."""
        self.connection = connection
        ((pid,),) = rows_of(connection, "SELECT pg_backend_pid()")
        self.pid = int(pid)
        """The server's process for the connection."""
        self.is_direct = number_of(connection) == self.pid
        self._names: dict[str, str] = {}

    def rows(self, statement: str) -> Sequence[Sequence[Any]]:
        """All rows of its answer."""
        if not self.is_direct:
            return rows_of(self.connection, statement)
        name = self._names.get(statement)
        if name is None:
            name = f"loadstone_{len(self._names)}"
            with self.connection.cursor() as cursor:
                cursor.execute(f"PREPARE {name} AS {statement}")
            self._names[statement] = name
        return rows_of(self.connection, f"EXECUTE {name}")


def rows_of(connection: Connection, statement: str) -> Sequence[Sequence[Any]]:
    """All rows of an answer; raises pg8000's errors."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()
