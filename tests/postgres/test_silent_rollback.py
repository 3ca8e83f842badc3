"""A COMMIT that the server answers with ROLLBACK has committed nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from postgres.server import Server

pytestmark = [pytest.mark.server, pytest.mark.slow]

ONE_IN = 5
USERS = 2


def query(sql: bytes) -> bytes:
    """The message Query of the protocol."""
    return b"Q" + struct.pack(">I", 5 + len(sql)) + sql + b"\0"


COMMIT, ROLLBACK = query(b"COMMIT"), query(b"ROLLBACK")


class GivesUp:
    """Stands between clients and a server, and rolls back one in five of their transactions.

    The server's answer is passed on as it is: its tag is that of the ROLLBACK that it executed, as
    it is where a transaction was aborted and the client has not learned of it.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self.rolled_back = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            with socket.create_connection((self._server.address, self._server.port)) as server:
                back = threading.Thread(target=_passed, args=(server, client), daemon=True)
                back.start()
                # A user waits for each answer, so that a message comes alone.
                while data := client.recv(65536):
                    server.sendall(self._changed(data))
                server.shutdown(socket.SHUT_WR)
                back.join()

    def _changed(self, data: bytes) -> bytes:
        if data != COMMIT or next(self._numbers) % ONE_IN:
            return data
        self.rolled_back += 1
        return ROLLBACK

    def close(self) -> None:
        self._listener.close()


def _passed(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def between(server: Server) -> Iterator[GivesUp]:
    with contextlib.closing(GivesUp(server)) as between:
        yield between


def test_the_ledger_has_no_entry_that_was_rolled_back_in_silence(
    server: Server, between: GivesUp, database: str, tmp_path: Path
) -> None:
    def target(port: int) -> str:
        return f"postgresql://by_trust@127.0.0.1:{port}/{database}?sslmode=disable"

    one = ("--tables", "1")
    called("prepare", "ledger", *one, "--target", target(server.port), folder=tmp_path)
    run = ("run", "ledger", "--timeline", "--target", target(between.port), "--text")
    more = ("--concurrency", str(USERS), "--duration", "2", "--warmup", "0", "--json")
    said = called(*run, *more, folder=tmp_path)
    (step,) = json.loads(said.stdout)["steps"]
    # What is in flight when the time is over counts in no figure.
    assert 0 <= between.rolled_back - step["failed"] <= USERS
    assert step["errors"] == {"25P02": step["failed"]}
    assert step["failed"] > 0
    ((entries,),) = server.asked("SELECT count(*) FROM drill_ledger1", database)
    assert 0 <= int(entries) - step["events"] <= USERS
    # Nothing that was acknowledged is missing, and no number was given twice.
    called("ledger", "check", "last", "--target", target(server.port), folder=tmp_path)
