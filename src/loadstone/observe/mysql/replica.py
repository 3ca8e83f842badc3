"""How far a replica is behind, as it reports, and for how long it has not been replicating."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import pymysql

from loadstone.families import connect
from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.replica import LAG, Behind
from loadstone.observe.source import SourceError
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_TIMEOUTS = Timeouts(connect_s=3, statement_s=5)
_STATEMENTS = ("SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
"""For MariaDB, with all its sources; for MySQL 8.0.22 and later; for older MySQL."""

_BEHIND = ("Seconds_Behind_Source", "Seconds_Behind_Master")
_SYNTAX = 1064


def behind(connection: Connection) -> Behind | None:
    """Ask a server how far it is behind; `None` if it is not a replica.

    Raises:
        pymysql.MySQLError: it does not answer, or the user lacks the privilege (1227).
    """
    own: Any = connection
    for statement in _STATEMENTS:
        with own.cursor(pymysql.cursors.DictCursor) as cursor:
            try:
                cursor.execute(statement)
            except pymysql.MySQLError as error:
                if error.args and error.args[0] == _SYNTAX:
                    continue
                raise
            rows = list(cursor.fetchall())
        told = [row[name] for row in rows for name in _BEHIND if name in row]
        if not told:
            return None
        known = [float(str(seconds)) for seconds in told if seconds is not None]
        return Behind(max(known) if len(known) == len(told) else None)
    return None


@dataclass
class ReplicaSource:
    """Reads a replica's lag: once stopped, at least the time since it last replicated."""

    name: SourceName
    endpoint: Endpoint
    _connection: Connection | None = None
    _lag_s: float = 0.0
    _at_s: float | None = None
    """When it was last seen replicating, or the time of the first reading if it never was."""

    def read(self) -> Reading:
        """Read the current lag; empty if the server is no longer a replica.

        Raises:
            SourceError: it cannot be reached, or does not report its lag.
        """
        try:
            connection = self._connection
            if connection is None:
                connection = self._connection = connect(self.endpoint, _TIMEOUTS, database=None)
            told = behind(connection)
        except (TargetError, pymysql.MySQLError, OSError) as error:
            self.close()
            said = error.message if isinstance(error, TargetError) else str(error)
            raise SourceError(say("{source}: {why}", source=str(self.name), why=said)) from error
        now = time.monotonic()
        if told is None:
            return Reading(at_s=now)
        if told.seconds is not None or self._at_s is None:
            self._lag_s, self._at_s = told.seconds or 0.0, now
        return Reading(at_s=now, gauges={LAG: self._lag_s + (now - self._at_s)})

    def close(self) -> None:
        """Say goodbye."""
        connection, self._connection = self._connection, None
        if connection:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                connection.close()
