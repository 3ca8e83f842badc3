"""Hostile servers: a script answers each connection, and all that it receives is kept."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from trust.tally import COUNTS

# Those of MariaDB 10.11 without SSL (0x800), LOCAL_FILES (0x80) and DEPRECATE_EOF (0x1000000).
CAPABILITIES = 0x80FFF77E
SSL = 0x800
SSL_REQUEST = 32
OK = b"\0\0\0\x02\0\0\0"
EOF = b"\xfe\0\0\x02\0"
REFUSED = b"\xff\x15\x04#28000denied"
NONCE = b"12345678", b"901234567890"


class Peer:
    """The server's end of a connection: packets with their sequence numbers."""

    def __init__(
        self, connection: socket.socket, heard: list[bytes], tls: ssl.SSLContext | None = None
    ) -> None:
        self.connection = connection
        self.heard = heard
        self.tls = tls
        self.sequence = 0

    def greet(self, plugin: bytes = b"mysql_native_password") -> None:
        """Send the greeting and receive the login, over TLS if that is offered and requested."""
        self.send(greeting(plugin, tls=self.tls is not None))
        said = self.receive()
        if self.tls is not None and len(said) == SSL_REQUEST:
            self.connection = self.tls.wrap_socket(self.connection, server_side=True)
            self.receive()

    def send(self, payload: bytes) -> None:
        self.raw(struct.pack("<I", len(payload))[:3] + bytes([self.sequence]) + payload)
        self.sequence = (self.sequence + 1) % 256

    def raw(self, data: bytes) -> None:
        self.connection.sendall(data)

    def receive(self) -> bytes:
        """The next packet's payload."""
        header = self._exactly(4)
        self.sequence = (header[3] + 1) % 256
        payload = self._exactly(int.from_bytes(header[:3], "little"))
        self.heard.append(payload)
        return payload

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece = self.connection.recv(length - len(data))
            if not piece:
                raise ConnectionError("the client has gone")
            data += piece
        return data


Script = Callable[[Peer], None]


@dataclass
class Hostile:
    """Listens on a port of this machine; a context manager, closed at the end of the block."""

    script: Script
    tls: ssl.SSLContext | None = None
    """The TLS context, if it offers TLS."""
    heard: list[bytes] = field(default_factory=list)
    """The packets of all connections, and what arrived after the scripts' ends."""
    connections: int = 0
    _over: bool = False
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._door.settimeout(0.05)
        self._spawn(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over = True
        for thread in list(self._threads):
            thread.join()
        self._door.close()

    @property
    def port(self) -> int:
        return int(self._door.getsockname()[1])

    def _spawn(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over:
            with contextlib.suppress(TimeoutError):
                connection, _ = self._door.accept()
                self.connections += 1
                COUNTS["inputs tried"] += 1
                connection.settimeout(5)
                self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        peer = Peer(connection, self.heard, self.tls)
        with contextlib.suppress(OSError):
            try:
                self.script(peer)
                # What the client still has to say is recorded as well. TLS cannot be ended one way:
                # there the client gets an error, and closes the connection by itself.
                if isinstance(peer.connection, ssl.SSLSocket):
                    peer.send(REFUSED)
                else:
                    peer.connection.shutdown(socket.SHUT_WR)
                while piece := peer.connection.recv(65536):
                    self.heard.append(piece)
            finally:
                peer.connection.close()


def greeting(
    plugin: bytes = b"mysql_native_password",
    version: bytes = b"10.11.9-MariaDB",
    *,
    tls: bool = False,
) -> bytes:
    """A server's greeting, without TLS unless asked for."""
    capabilities = struct.pack("<I", CAPABILITIES | SSL if tls else CAPABILITIES)
    low, high = capabilities[:2], capabilities[2:]
    head = b"\x0a" + version + b"\0" + struct.pack("<I", 7) + NONCE[0] + b"\0" + low
    tail = bytes([45]) + b"\x02\0" + high + bytes([21]) + bytes(10) + NONCE[1] + b"\0"
    return head + tail + plugin + b"\0"


def logs_in(peer: Peer) -> None:
    """Accepts any login."""
    peer.send(greeting())
    peer.receive()
    peer.send(OK)


def asks_for_the_password_in_clear(peer: Peer) -> None:
    peer.greet()
    peer.send(b"\xfemysql_clear_password\0")
    peer.receive()


def asks_in_a_dialog(peer: Peer) -> None:
    peer.greet()
    peer.send(b"\xfedialog\0\x04Password: ")
    peer.receive()


def sends_a_key_of_its_own(peer: Peer) -> None:
    """For caching_sha2_password: the owner of the private key could read the password."""
    peer.greet(b"caching_sha2_password")
    peer.send(b"\x01\x04")
    peer.receive()
    peer.send(b"\x01" + PUBLIC_KEY)
    peer.receive()


def sends_a_key_of_its_own_the_older_way(peer: Peer) -> None:
    peer.greet()
    peer.send(b"\xfesha256_password\0" + NONCE[0] + NONCE[1] + b"\0")
    peer.receive()
    peer.send(b"\x01" + PUBLIC_KEY)
    peer.receive()


def names_a_method_that_begins_with_the_password(peer: Peer) -> None:
    peer.greet(b"sha256_password")
    peer.send(b"\x01" + PUBLIC_KEY)
    peer.receive()


def never_decides(peer: Peer) -> None:
    peer.send(greeting())
    while True:
        peer.receive()
        peer.send(b"\xfemysql_native_password\0" + NONCE[0] + NONCE[1] + b"\0")


def asks_for_a_file(peer: Peer) -> None:
    """Answers the first query with a request for a local file."""
    logs_in(peer)
    while True:
        said = peer.receive()
        peer.send(OK if b"SET" in said[:22].upper() else b"\xfb/etc/hostname")


def column(name: bytes) -> bytes:
    texts = (b"def", b"", b"", b"", name, b"")
    fixed = struct.pack("<BHIBHBH", 12, 45, 1024, 0xFD, 0, 0, 0)
    return b"".join(bytes([len(text)]) + text for text in texts) + fixed


def answer_one(peer: Peer) -> None:
    """A row with the number 1."""
    for payload in (b"\x01", column(b"number"), EOF, b"\x011", EOF):
        peer.send(payload)


def sends_rows_without_end(peer: Peer) -> None:
    logs_in(peer)
    while b"SET" in peer.receive()[:22].upper():
        peer.send(OK)
    for payload in (b"\x01", column(b"name"), EOF):
        peer.send(payload)
    while True:
        peer.send(b"\xfd\0\0\x01" + bytes(1 << 16))


def drips(peer: Peer) -> None:
    """Sends a byte now and then, of a packet that announces a megabyte."""
    logs_in(peer)
    while b"SET" in peer.receive()[:22].upper():
        peer.send(OK)
    peer.raw(b"\xff\xff\x0f\x01")
    while True:
        peer.raw(b"\x01")
        threading.Event().wait(0.05)


PUBLIC_KEY = b"""-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAypHUZuDibR/F5lVUKLQP
ceG+Hge0CFMeesmPq6aLCCn3SxHb9pwckn4XOIJiXmNzkCZycvAsVIf0TBcD+uot
r1YJdJoqtg5ADDmZoBBPWp25A8Cw07fSbZYuclGKFnOv7H0haP8KweFuhRFdsqeK
MfFP1Jvlqkq2lOAdkjHkdX39W5usuGLrnuxiug0j7uY2hZjEUe9kzKsK6eQXZqyB
HYwjGDoHp+Yf9jm21ERjlooeNysp7qPDwLyFpQlSRHULt0dh31CM/AG2UwvZZ0DI
eG6iAmPUjPb+ENA+tvkPyBxDsICGei03VfcKUQ6ZsAGB7jMXO0y+y7L4zzczbSbj
qQIDAQAB
-----END PUBLIC KEY-----
"""
"""A real public key, whose private key was thrown away."""
