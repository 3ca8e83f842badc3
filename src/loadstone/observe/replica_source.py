"""Reads a replica's lag, and for how long it has not been replicating."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from loadstone.families import connect, family_of
from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.replica import LAG, Behind
from loadstone.observe.source import SourceError
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_TIMEOUTS = Timeouts(connect_s=3, statement_s=5)


@dataclass
class ReplicaSource:
    """Reads a replica's lag: once stopped, at least the time since it last replicated."""

    name: SourceName
    endpoint: Endpoint
    behind: Callable[[Connection], Behind | None]
    """Asks a server of the family how far it is behind."""
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
            told = self.behind(connection)
        except (TargetError, family_of(self.endpoint.target).Error, OSError) as error:
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
            with contextlib.suppress(family_of(self.endpoint.target).Error, OSError):
                connection.close()
