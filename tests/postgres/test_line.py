"""A server that is not trusted: what it may do to a connection for administration."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from loadstone.model.target import Credentials, Endpoint, Target, Tls
from loadstone.postgresql import line as limits
from loadstone.postgresql.connect import connect
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Timeouts
from loadstone.servers.errors import TargetError

READY = b"R" + struct.pack("!ii", 8, 0) + b"Z" + struct.pack("!i", 5) + b"I"
"""The login succeeds, and a statement may come."""
DONE = b"C" + struct.pack("!i", 8) + b"SET\0" + b"Z" + struct.pack("!i", 5) + b"I"
ASK_FOR_PASSWORD = b"R" + struct.pack("!ii", 8, 3)

Talk = Callable[[socket.socket], None]


@contextmanager
def listening(talk: Talk) -> Iterator[Endpoint]:
    """Something that listens, and does to its first client what `talk` does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connected, _ = listener.accept()
            with connected:
                connected.settimeout(20)
                connected.recv(1000)
                talk(connected)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            port = listener.getsockname()[1]
            target = Target(
                family="postgresql", host="127.0.0.1", port=port, user="ann", database="shop",
                tls=Tls(mode="disabled"),
            )  # fmt: skip
            yield Endpoint(
                target=target, credentials=Credentials.model_validate({"password": "secret"})
            )
        finally:
            thread.join(20)
            assert not thread.is_alive()


def logs_in(then: Talk) -> Talk:
    def talk(connected: socket.socket) -> None:
        connected.sendall(READY)
        connected.recv(1000)
        connected.sendall(DONE)
        connected.recv(1000)
        then(connected)

    return talk


def refusal(talk: Talk, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> TargetError:
    with listening(talk) as endpoint, pytest.raises(TargetError) as caught:
        connect(endpoint, timeouts)
    return caught.value


def test_a_password_is_not_given_to_whoever_asks() -> None:
    got: list[bytes] = []

    def talk(connected: socket.socket) -> None:
        connected.sendall(ASK_FOR_PASSWORD)
        got.append(connected.recv(1000))

    found = refusal(talk)
    assert found.kind == "password_withheld"
    assert b"secret" not in got[0]


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, b"\0" * 64, b"R\0\0"])
def test_what_is_no_message_of_the_protocol_is_told_as_that(said: bytes) -> None:
    assert refusal(lambda connected: connected.sendall(said)).kind == "protocol"


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    def wait(connected: socket.socket) -> None:
        connected.recv(1000)

    found = refusal(wait, Timeouts(0.2, 0.2))
    assert found.kind == "timed_out"


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_BYTES", 100_000)
    rows = b"T" + struct.pack("!ih", 6, 0)
    row = b"D" + struct.pack("!ih", 10_006, 0) + bytes(10_000)

    def talk(connected: socket.socket) -> None:
        try:
            connected.sendall(rows)
            while True:
                connected.sendall(row)
        except OSError:
            return

    with (
        listening(logs_in(talk)) as endpoint,
        connect(endpoint) as connection,
        pytest.raises(limits.LineError, match="longer than"),
    ):
        connection.cursor().execute("SELECT 1")


def test_a_lost_connection_is_told_and_closes() -> None:
    with (
        listening(logs_in(lambda connected: None)) as endpoint,
        connect(endpoint) as connection,
        pytest.raises(limits.LineError, match="closed the connection"),
    ):
        connection.cursor().execute("SELECT 1")


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_a_name_that_no_host_can_have_is_told_in_a_line(host: str) -> None:
    target = Target(family="postgresql", host=host, user="ann", tls=Tls(mode="disabled"))
    with pytest.raises(TargetError, match=f"unknown host '{host}'"):
        connect(Endpoint(target=target, credentials=Credentials()))
