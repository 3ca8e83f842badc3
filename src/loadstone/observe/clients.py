"""Who else uses a server."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.servers.sanitize import plain

_SHOWN = 3


@dataclass(frozen=True)
class Account:
    """Connections of one user from one host."""

    user: str
    host: str
    connections: int
    at_work: int

    def __str__(self) -> str:
        place = f" from {plain(self.host)}" if self.host else ""
        busy = f", {self.at_work} at work" if self.at_work else ""
        return f"{plain(self.user)}{place} ({self.connections}{busy})"


@dataclass(frozen=True)
class Clients:
    """All who use a server beside this user on this host."""

    accounts: tuple[Account, ...] = ()
    replicas: int = 0
    """Connections that read the server's binary log."""
    hidden: int = 0
    """Connections that it has, and does not show to this user."""
    members: int = 0
    """Others of its cluster (Galera), which carry out what it does."""
    right: str = ""
    """What this user must be granted to be shown those that are hidden."""

    def __bool__(self) -> bool:
        return any((self.accounts, self.replicas, self.hidden, self.members))

    def __str__(self) -> str:
        said = []
        if self.accounts:
            most = sorted(self.accounts, key=lambda one: -one.connections)
            shown = [str(one) for one in most[:_SHOWN]]
            more = len(most) - _SHOWN
            shown += [f"{more} accounts more"] if more > 0 else []
            said.append(f"has connections of {', '.join(shown)}")
        if self.hidden:
            some = "a connection" if self.hidden == 1 else f"{self.hidden} connections"
            said.append(f"has {some} that this user may not see ({self.right})")
        if self.replicas:
            said.append(f"feeds {self.replicas} replica{'s' if self.replicas > 1 else ''}")
        if self.members:
            said.append(f"is one of {self.members + 1} servers of a cluster")
        return " and ".join(said)
