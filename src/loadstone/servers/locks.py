"""Locks that a server keeps by name: the client that comes second learns who holds it.

A lock goes with its connection, so that nothing is left of a program that was killed.
"""

from __future__ import annotations

import time

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.servers.errors import TargetError

GRACE_S = 5.0
"""What was just killed holds its lock until the server notices, which a busy one does late."""

TRY_EVERY_S = 0.1
"""How soon it is noticed that a lock is free."""


class NoLocks(TargetError):
    """The server keeps no locks by names."""


class Holder(Frozen):
    """The connection that holds a lock, as far as this account may see it."""

    connection: int
    user: str | None = None
    host: str | None = None
    since_s: float | None = None
    """In seconds since 1970 by this machine's clock: since then the connection is silent."""
    right: str = ""
    """What this account must be granted to see whose it is."""

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> Message:
        """Who that is."""
        if self.user is None:
            return say(
                "connection {connection}, which this account may not see ({right})",
                connection=self.connection,
                right=self.right,
            )
        host = self.host or say("this host")
        if self.since_s is None:
            return say(
                "{user} from {host} (connection {connection})",
                user=self.user,
                host=host,
                connection=self.connection,
            )
        return say(
            "{user} from {host} (connection {connection}, since {time})",
            user=self.user,
            host=host,
            connection=self.connection,
            time=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since_s)),
        )
