"""Whose the connections of a server are: ours, those of other loads, or of clients to protect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loadstone.observe import presence
from loadstone.observe.others import (
    LOADS_OF_OWN,
    LOADS_UNSEEN,
    OTHERS_CONNECTED,
    OTHERS_RUNNING,
    OWN_CONNECTED,
    OWN_RUNNING,
    OthersAsked,
)
from loadstone.servers.connection import Connection
from loadstone.servers.processes import host_of


@dataclass
class Loads:
    """Other load generators at one server: they never count as clients to protect."""

    asked: OthersAsked
    _places: tuple[int, ...] = ()
    """Connections by which load generators announce themselves, as of the last reading."""
    _accounts: frozenset[tuple[str, str]] = frozenset()
    """Accounts of other load generators, as far as the server shows them."""
    _unseen: int = 0

    def look(self, connection: Connection) -> dict[str, float]:
        """Look for them; returns how many there are.

        Raises:
            TargetError: the connection was lost.
        """
        target = self.asked.endpoint.target
        places = tuple(
            number
            for schema in self.asked.schemas
            for number in presence.places_taken(connection, target, schema)
        )
        # Finding their accounts takes the list of all connections, so only do it after a change.
        if places != self._places:
            self._find(connection)
            self._places = places
        own = sum(self._is_own(*each) for each in self._accounts)
        return {LOADS_OF_OWN: float(own), LOADS_UNSEEN: float(self._unseen)}

    def forget(self) -> None:
        """Look at all of them again: the server may have been restarted."""
        self._places = ()

    def accounts(self, rows: Iterable[tuple[str, str, float, float]]) -> dict[str, float]:
        """Connections of ours and of others; nothing about others if only our own are shown.

        `rows`: user, host, connections at work, and all, of each account.
        """
        found = dict.fromkeys((OWN_RUNNING, OTHERS_RUNNING, OWN_CONNECTED, OTHERS_CONNECTED), 0.0)
        for user, host, running, connected in rows:
            own = self._is_own(user, host)
            if not own and (user, host) in self._accounts:
                continue
            found[OWN_RUNNING if own else OTHERS_RUNNING] += running
            found[OWN_CONNECTED if own else OTHERS_CONNECTED] += connected
        if not self.asked.others.sees_all:
            del found[OTHERS_RUNNING], found[OTHERS_CONNECTED]
        return found

    def is_other_client(self, user: str, host: str) -> bool:
        """Whether the account is neither ours nor that of a load."""
        return (user, host) not in self._accounts and not self._is_own(user, host)

    def _find(self, connection: Connection) -> None:
        loads = [
            one.holder
            for schema in self.asked.schemas
            for one in presence.runs_of_others(connection, self.asked.endpoint.target, schema)
        ]
        seen = [(one.user, host_of(one.host or "")) for one in loads if one.user is not None]
        self._accounts, self._unseen = frozenset(seen), len(loads) - len(seen)

    def _is_own(self, user: str, host: str) -> bool:
        own_user, own_host = self.asked.others.account
        return user == own_user and (self.asked.by_user or host == own_host)
