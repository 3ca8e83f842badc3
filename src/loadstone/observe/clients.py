"""Other clients of a server."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from loadstone.model.message import Joined, Message, counted, say
from loadstone.servers.sanitize import plain

_SHOWN = 3


@dataclass(frozen=True)
class Account:
    """Connections of one user from one host."""

    user: str
    host: str
    connections: int
    at_work: int

    @property
    def message(self) -> Message:
        """The account, and its number of connections."""
        at = f"@{plain(self.host)}" if self.host else ""
        who, connections = f"{plain(self.user)}{at}", self.connections
        if not self.at_work:
            return say("{who} ({connections})", who=who, connections=connections)
        return say(
            "{who} ({connections}, {active} active)",
            who=who,
            connections=connections,
            active=self.at_work,
        )


@dataclass(frozen=True)
class Clients:
    """All clients of a server other than this user on this host."""

    accounts: tuple[Account, ...] = ()
    replicas: int = 0
    """Connections that read the server's binary log."""
    hidden: int = 0
    """Connections that exist but are not shown to this user."""
    members: int = 0
    """Other members of its cluster (Galera), which apply the same writes."""
    right: str = ""
    """The privilege that this user needs to see the hidden connections."""

    def __bool__(self) -> bool:
        return any((self.accounts, self.replicas, self.hidden, self.members))

    def __str__(self) -> str:
        return str(self._said)

    def at(self, place: str) -> Message:
        """A sentence about the server at that place; call it only if there are other clients."""
        return say("{place} {said}", place=place, said=self._said)

    @property
    def _said(self) -> Message:
        """What the server does for other clients, as a clause without a subject."""
        found = []
        if self.accounts:
            found.append(say("has connections of {who}", who=Joined(self._accounts())))
        if self.hidden:
            found.append(
                counted(
                    "has a connection that this user may not see ({right})",
                    "has {number} connections that this user may not see ({right})",
                    self.hidden,
                    right=self.right,
                )
            )
        if self.replicas:
            found.append(counted("feeds 1 replica", "feeds {number} replicas", self.replicas))
        if self.members:
            found.append(say("is one of {number} servers of a cluster", number=self.members + 1))
        return functools.reduce(_and, found)

    def _accounts(self) -> list[Message]:
        most = sorted(self.accounts, key=lambda one: -one.connections)
        shown = [one.message for one in most[:_SHOWN]]
        if len(most) > _SHOWN:
            shown.append(counted("1 more account", "{number} more accounts", len(most) - _SHOWN))
        return shown


def _and(first: Message, second: Message) -> Message:
    return say("{first} and {second}", first=first, second=second)
