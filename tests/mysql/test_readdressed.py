"""Whether the server sees a connection where it comes from, by its list of connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from loadstone.model.target import Target
from loadstone.mysql.processlist import is_passed_on, is_readdressed

TARGET = Target(host="127.0.0.1")


class Listing:
    """A connection over a real socket, to a server that lists it at an address."""

    description = [(name,) for name in ("Id", "User", "Host", "db", "Command", "Time", "Info")]

    is_passed_on = None

    def __init__(self, own: socket.socket, address: str) -> None:
        self._sock = own
        self._address = address
        self._asked = ""
        self.times_asked = 0

    def thread_id(self) -> int:
        return 900_001

    def cursor(self) -> Listing:
        return self

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str) -> None:
        self._asked = statement
        self.times_asked += 1

    def fetchall(self) -> list[tuple[object, ...]]:
        other = (3, "app", "10.0.0.9:1234", None, "Sleep", 5, None)
        return [other, (7, "u", self._address, None, "Query", 0, self._asked)]


@pytest.fixture
def own() -> Iterator[socket.socket]:
    """Our end of a connection to a listener on loopback."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as listener,
        closing(socket.create_connection(listener.getsockname())) as connected,
    ):
        yield connected


def readdressed(own: socket.socket, address: str) -> bool:
    connection: Any = Listing(own, address)
    return is_readdressed(connection, TARGET)


def test_a_connection_without_anything_in_between(own: socket.socket) -> None:
    assert not readdressed(own, f"127.0.0.1:{own.getsockname()[1]}")


def test_an_address_translation_keeps_the_port(own: socket.socket) -> None:
    assert not readdressed(own, f"203.0.113.7:{own.getsockname()[1]}")


def test_a_proxy_has_a_port_of_its_own(own: socket.socket) -> None:
    assert readdressed(own, f"10.0.0.7:{own.getsockname()[1] ^ 1}")


@pytest.mark.parametrize("address", ["localhost", "", "web"])
def test_an_address_without_a_port_says_nothing(own: socket.socket, address: str) -> None:
    assert not readdressed(own, address)


def test_a_unix_socket_has_no_port() -> None:
    near, far = socket.socketpair()
    with near, far:
        assert not readdressed(near, "localhost")


def test_whether_a_proxy_answers_is_looked_up_once(own: socket.socket) -> None:
    connection: Any = Listing(own, "10.0.0.9:4321")
    assert is_passed_on(connection, TARGET) and is_passed_on(connection, TARGET)
    assert connection.times_asked == 1
