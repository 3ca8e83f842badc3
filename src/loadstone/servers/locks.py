"""Named locks on a server: a client that cannot take one learns who holds it.

A lock ends with its connection, so a killed program leaves none behind.
"""

from __future__ import annotations

import time

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.servers.errors import TargetError

GRACE_S = 5.0
"""A killed client's lock remains until the server notices, which takes a busy server longer."""

TRY_EVERY_S = 0.1
"""Interval between attempts to take a lock."""


class NoLocks(TargetError):
    """The server has no named locks."""


class Holder(Frozen):
    """The connection that holds a lock, as far as this account may see it."""

    connection: int
    user: str | None = None
    host: str | None = None
    since_s: float | None = None
    """When the connection became idle, in seconds since 1970 by this machine's clock."""
    right: str = ""
    """The privilege that this account needs to see the holder."""

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> Message:
        """A message that names the holder."""
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
