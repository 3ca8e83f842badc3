"""Runs an ASGI application on a socket, in this process, until it is to end."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from loadstone.web.access import Keys, own_names
from loadstone.web.address import Address, marked
from loadstone.web.app import page_app
from loadstone.web.begin.offers import Offers
from loadstone.web.hub import Hub
from loadstone.web.judge import findings_apart
from loadstone.web.limits import IDLE_S, Bounded
from loadstone.web.tls import TlsFiles

GRACE_S = 2
"""How long requests under way at the end may still take."""

Until = Callable[[Hub], Awaitable[None]]
"""Returns when the server should end; the hub knows whether there are viewers."""

_Ends = Callable[[], Awaitable[None]]


def serve_page(
    runs: Path,
    listening: tuple[socket.socket, Address],
    keys: Keys,
    until: Until | None = None,
    offers: Offers | None = None,
) -> None:
    """Serve the live page of a folder of runs until Ctrl-C, SIGTERM, or until `until` returns.

    `offers`: what those who may begin runs can choose from.

    Raises:
        StoreError: there is no such folder and none can be made.
        TlsRefused: the files of the address's TLS cannot be used.
    """
    bound, address = listening
    # What has been imported stays: collections need not look at it each time.
    gc.collect()
    gc.freeze()
    hub = Hub(runs, findings_apart)
    app = page_app(hub, keys, own_names(address), offers)
    ends = partial(until, hub) if until else None
    with marked(runs, address, keys.shown):
        _run(_serve(app, bound, ends, hub.close, address.tls))


def serve(app: ASGIApp, bound: socket.socket, until: _Ends) -> None:
    """Serve any application; ends as `serve_page` does."""
    _run(_serve(app, bound, until, lambda: None))


def _run(serving: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(serving)


class _Loop(asyncio.SelectorEventLoop):
    """Limits how long a client may take for its TLS handshake, which uvicorn has no setting for."""

    async def create_server(self, *args: Any, **named: Any) -> Any:
        """A server, as `asyncio` makes it."""
        limits = {"ssl_handshake_timeout": IDLE_S} if named.get("ssl") else {}
        made: Any = super()
        return await made.create_server(*args, **named, **limits)


async def _serve(
    app: ASGIApp,
    bound: socket.socket,
    until: _Ends | None,
    close: Callable[[], None],
    tls: TlsFiles | None = None,
) -> None:
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=Bounded,
        ws="none",
        lifespan="on",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        ssl_context_factory=(lambda config, default: tls.context()) if tls else None,
    )
    server = _Server(config, close)
    ending = asyncio.create_task(_end(server, until)) if until else None
    try:
        await server.serve(sockets=[bound])
    finally:
        if ending:
            ending.cancel()
            with suppress(asyncio.CancelledError):
                await ending


class _Server(uvicorn.Server):
    """Ends streams first: they would never finish by themselves."""

    def __init__(self, config: uvicorn.Config, close: Callable[[], None]) -> None:
        super().__init__(config)
        self._close = close

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close()
        await super().shutdown(sockets)


async def _end(server: uvicorn.Server, until: _Ends) -> None:
    await until()
    server.should_exit = True
