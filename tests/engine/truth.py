"""The null server as a target: its counts are the truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from engine.driving import Document
from loadstone import engine
from loadstone.engine import NullServer
from loadstone.model.null_server import NullServerSettings


@contextmanager
def null_target(
    script: str = "{}", settings: NullServerSettings | None = None
) -> Iterator[tuple[NullServer, Document]]:
    """A server that answers as the script says, and how to reach it; encrypted if it offers TLS."""
    settings = settings or NullServerSettings()
    server = engine.null_server(settings)
    mode = "required" if settings.tls else "disabled"
    try:
        server.set_script(script)
        yield server, {
            "host": "127.0.0.1", "port": server.port, "socket": None, "user": "u", "password": "",
            "database": "sbtest", "server_public_key": None,
            "tls": {"mode": mode, "ca": None, "cert": None, "key": None},
        }  # fmt: skip
    finally:
        with suppress(engine.NullServerError):  # a test may have stopped it
            server.stop()
