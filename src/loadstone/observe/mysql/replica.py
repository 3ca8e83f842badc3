"""How far a replica is behind, as it reports itself."""

from __future__ import annotations

from typing import Any

import pymysql

from loadstone.model.observed import SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.replica import Behind
from loadstone.observe.replica_source import ReplicaSource
from loadstone.servers.connection import Connection

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


def replica_source(name: SourceName, endpoint: Endpoint) -> ReplicaSource:
    """A source that reads the replica's lag repeatedly."""
    return ReplicaSource(name, endpoint, behind)
