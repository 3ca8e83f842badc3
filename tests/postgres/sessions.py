"""Sessions of tests' own on a server: they hold, wait, or do not read what they asked for."""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from collections.abc import Iterator

import pg8000

from loadstone.families import connect
from loadstone.model.target import Endpoint
from loadstone.postgresql import family
from loadstone.postgresql.databases import of
from loadstone.servers.connection import Connection
from postgres.server import Server

DEADLINE_S = 30.0
MUCH = "SELECT repeat('x', 1000), generate_series(1, 1000000)"
"""More than the buffers of two sockets hold."""


def did(session: Connection, statement: str) -> None:
    with session.cursor() as cursor:
        cursor.execute(statement)


@contextlib.contextmanager
def waiting(at: Endpoint, statement: str) -> Iterator[int]:
    """A session that executes a statement which does not end by itself; gives its process."""
    with connect(at) as session:

        def work() -> None:
            with contextlib.suppress(pg8000.Error):  # it is cancelled
                did(session, statement)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield family.number_of(session)
        finally:
            with connect(at) as other:
                did(other, f"SELECT pg_cancel_backend({family.number_of(session)})")
            thread.join(DEADLINE_S)


@contextlib.contextmanager
def not_reading(at: Endpoint) -> Iterator[int]:
    """A session whose client does not read the answer; gives its process."""
    with connect(at) as session:
        text = MUCH.encode() + b"\0"
        of(session).home.line.socket.sendall(b"Q" + struct.pack("!i", 4 + len(text)) + text)
        try:
            yield family.number_of(session)
        finally:
            of(session).home.line.close()


def alone(session: Connection) -> None:
    """Wait until earlier questions' sessions are gone: psql ends before its server process."""
    until = time.monotonic() + DEADLINE_S
    with session.cursor() as cursor:
        while True:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # which a transaction keeps
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'psql'")
            if cursor.fetchall()[0][0] == 0:
                return
            assert time.monotonic() < until
            time.sleep(0.02)


def settled(server: Server, pids: list[int]) -> None:
    """Wait until these sessions wait."""
    listed = ", ".join(map(str, pids))
    waits = (
        f"SELECT count(*) FROM pg_stat_activity WHERE pid IN ({listed})"
        " AND wait_event_type IN ('Lock', 'Timeout', 'Client') AND state = 'active'"
    )
    until = time.monotonic() + DEADLINE_S
    while server.asked(waits) != [[str(len(pids))]]:
        assert time.monotonic() < until
        time.sleep(0.02)
