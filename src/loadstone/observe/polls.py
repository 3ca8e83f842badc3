"""What processes wait for that wait for events: their client, or somebody else's signal.

A process of PostgreSQL waits for both by epoll, each with a set of events of its own (latch.c). Its
list of sessions is read a moment later, when a short wait may be over; the set stays what it is.
"""

from __future__ import annotations

from loadstone.observe.locks import Locks
from loadstone.observe.sessions import NAMED, Says, Seat
from loadstone.observe.threads import Doing

_PROCESSES_KEPT = 20_000
"""Those that have left are forgotten."""


class Polls:
    """Which set of events of each process is that of its client."""

    def __init__(self) -> None:
        self._clients: dict[int, int] = {}
        self._waits = Locks()

    def seat(self, thread: int, doing: Doing, says: Says, *, is_settled: bool) -> Seat | None:
        """Where a session is whose process waits for events; `None`: that is not known.

        `is_settled`: what the list says of it has been so since before the process was looked at.
        """
        if says == "waits for the client" and is_settled:
            if len(self._clients) > _PROCESSES_KEPT:
                self._clients.clear()
            self._clients[thread] = doing.address
        client = self._clients.get(thread)
        if client == doing.address:
            return "sending" if says == "sends" else "client"
        seat: Seat | None = NAMED.get(says)
        if client is None and says == "waits for the client":
            # As long as no set is known to be the client's, the most frequent name is taken.
            seat = "client"
        return self._waits.named(doing.address, seat)
