"""Connections of the page's server: so many, and each only as long as it is used.

uvicorn waits for ever for a request that somebody has begun and does not end, and keeps what a
client does not fetch. Here a connection without a request goes, and where there are too many the
oldest of those goes first: whoever looks at a run keeps their place, whatever others open.
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
"""A connection on which for so long no request was whole and none was being answered is closed."""

UNREAD_S = 30.0
"""How long a client may leave unread what was sent to it; one that is gone is noticed as soon."""


class Bounded(H11Protocol):
    """HTTP/1.1 with limits on who may wait for how long."""

    _asked: RequestResponseCycle | None = None
    """The request that was the last one when it was looked at before."""
    _looking: asyncio.TimerHandle | None = None
    _began: float

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected."""
        super().connection_made(transport)
        self._began = time.monotonic()
        bound = transport.get_extra_info("socket")
        with suppress(OSError):  # a socket of another kind has no such option
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_S * 1000))
        self._looking = self.loop.call_later(IDLE_S, self._look)
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone, or was let go."""
        if self._looking:
            self._looking.cancel()
        super().connection_lost(exc)

    @property
    def is_answering(self) -> bool:
        """Whether a request is under way."""
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
        # There is one at least: this has not asked yet.
        oldest = min(idle, key=lambda each: each._began)
        oldest.transport.abort()
        # It would go when the loop comes round, and more may come before that.
        others.discard(oldest)
