"""The null server on a thread of this process, as `loadstone.engine` offers it."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from loadstone import engine
from loadstone.engine.native import native
from loadstone.model.null_server import NullServerSettings, NullServerTls
from loadstone.sandbox.certificates import Certificates

POINT = "SELECT c FROM sbtest1 WHERE id=1"


@pytest.fixture
def server() -> Iterator[engine.NullServer]:
    yield engine.null_server(NullServerSettings())
    gc.collect()


def ask(server: engine.NullServer, statement: str, **more: Any) -> None:
    more = {"ssl_disabled": True} | more
    with (
        pymysql.connect(host="127.0.0.1", port=server.port, user="u", password="p", **more) as one,
        one.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_it_counts_and_begins_anew(server: engine.NullServer) -> None:
    ask(server, POINT)
    stats = server.stats()
    assert (stats.queries, stats.answered, stats.statements) == (1, 1, 1)
    assert stats.balances()
    server.flush()
    assert server.stats().queries == 0
    assert server.stop().logins == 0


def test_another_script_is_taken_while_it_runs(server: engine.NullServer) -> None:
    server.set_script('{"errors": [{"errno": 1205, "message": "waited", "every": 1}]}')
    server.stats()  # the script is applied before the question
    with pytest.raises(pymysql.err.OperationalError, match="waited"):
        ask(server, POINT)
    assert server.stop().errors == 1


def test_what_is_wrong_is_refused_in_a_line(server: engine.NullServer) -> None:
    with pytest.raises(engine.PlanRefused, match="unknown field `x`"):
        server.set_script('{"x": 1}')
    with pytest.raises(engine.NullServerError, match="cannot listen on 127.0.0.1"):
        engine.null_server(NullServerSettings(port=server.port))
    nowhere = NullServerTls(cert=Path("no.pem"), key=Path("no.pem"))
    with pytest.raises(engine.PlanRefused, match=r"tls\.cert no\.pem: "):
        engine.null_server(NullServerSettings(tls=nowhere))


def test_a_server_that_was_stopped_says_so(server: engine.NullServer) -> None:
    server.stop()
    for question in (server.stats, server.flush, server.stop):
        with pytest.raises(engine.NullServerError, match="not running any more"):
            question()
    with pytest.raises(engine.NullServerError):
        server.set_script("{}")


def test_a_server_that_is_forgotten_is_gone(tmp_path: Path) -> None:
    # By its socket: another program may get its port at once.
    place = tmp_path / "null.sock"
    server = engine.null_server(NullServerSettings(socket=place))
    with socket.socket(socket.AF_UNIX) as before:
        before.connect(str(place))
    del server
    gc.collect()
    with (
        socket.socket(socket.AF_UNIX) as after,
        pytest.raises((ConnectionRefusedError, FileNotFoundError)),
    ):
        after.connect(str(place))


def test_the_log_and_the_socket_are_as_the_settings_say(
    certificates: Certificates, tmp_path: Path
) -> None:
    tls = NullServerTls(cert=certificates.cert("server"), key=certificates.key("server"))
    place, log = tmp_path / "null.sock", tmp_path / "log.csv"
    server = engine.null_server(NullServerSettings(socket=place, log=log, tls=tls))
    assert server.socket == str(place)
    ask(server, POINT, ssl_disabled=False, ssl_ca=str(certificates.ca))
    stats = server.stop()
    assert not place.exists()
    assert stats.encrypted == 1
    lines = log.read_text().splitlines()
    assert stats.log_records == len(lines) - 1
    assert any(",handshake,done," in line for line in lines)
    assert any(",query,rows," in line for line in lines)


def test_python_goes_on_while_the_server_is_asked(server: engine.NullServer) -> None:
    """Many threads that ask, with a client of the same interpreter between them."""
    stop = threading.Event()

    def keep_asking() -> None:
        while not stop.is_set():
            server.stats()

    askers = [threading.Thread(target=keep_asking) for _ in range(4)]
    for asker in askers:
        asker.start()
    for _ in range(20):
        ask(server, POINT)
    stop.set()
    for asker in askers:
        asker.join(20)
    assert not any(asker.is_alive() for asker in askers)
    assert server.stop().queries == 20


def test_the_settings_known_here_are_known_there() -> None:
    settings = NullServerSettings(log_records_max=1).model_dump(mode="json")
    with pytest.raises(ValueError, match="unknown field `else`"):
        native().null_server(json.dumps(settings | {"else": 1}))


def test_it_stops_in_the_middle_of_a_stall(server: engine.NullServer) -> None:
    server.set_script('{"origin": "start", "stalls": [{"at_s": 0, "for_s": 60}]}')
    with socket.create_connection(("127.0.0.1", server.port), timeout=5):
        began = time.monotonic()
        server.stop()
    assert time.monotonic() - began < 30
