"""Limits on the connections of the page's server: how many, and how long each may be idle.

uvicorn waits forever for a request that was started and never completed, and keeps what a client
does not read. Here a connection without a request is closed, the oldest first where there are too
many, so the viewers of a run keep their connections, whatever others open.
"""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST_CONNECTIONS = 256
IDLE_S = 10.0
"""A connection is closed after this long without a complete request or an answer under way."""

UNREAD_S = 30.0
"""How long a client may leave sent data unread; a vanished client is noticed after the same time.
"""


class Bounded(H11Protocol):
    """HTTP/1.1 with limits on the number of connections and on how long they may wait."""

    _asked: RequestResponseCycle | None = None
    """The most recent request at the previous check."""
    _looking: asyncio.TimerHandle | None = None
    _began: float

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register a new connection, and close the oldest idle one if there are too many."""
        super().connection_made(transport)
        self._began = time.monotonic()
        bound = transport.get_extra_info("socket")
        with suppress(OSError):  # a socket of another kind does not have this option
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_S * 1000))
        self._looking = self.loop.call_later(IDLE_S, self._look)
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove a connection that was closed by either side."""
        if self._looking:
            self._looking.cancel()
        super().connection_lost(exc)

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _look(self) -> None:
        if not self.is_answering and self.cycle is self._asked:
            self.transport.abort()
            return
        self._asked = self.cycle
        self._looking = self.loop.call_later(IDLE_S, self._look)

    def _make_room(self) -> None:
        others = cast("set[Any]", self.connections)
        idle = [each for each in others if isinstance(each, Bounded) and not each.is_answering]
        # There is at least one: this connection has sent no request yet.
        oldest = min(idle, key=lambda each: each._began)
        oldest.transport.abort()
        # Otherwise removed only at the loop's next turn, and more connections may come before that.
        others.discard(oldest)
