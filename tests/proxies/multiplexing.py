"""A proxy that lends a few connections to many clients, as ProxySQL and RDS Proxy do.

A client has a connection to the server for a statement, or for a transaction. Prepared statements
have numbers of the proxy's own: each is prepared on a connection when it is first executed there.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from loadstone.families import connect
from loadstone.model.target import Endpoint

# LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION,
# MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH, PLUGIN_AUTH_LENENC_CLIENT_DATA. The connections to
# the server have neither compression nor DEPRECATE_EOF either.
CAPABILITIES = 0x002E_A20D
WITH_DATABASE, LENGTH_ENCODED = 0x8, 0x20_0000
IN_TRANSACTION, AUTOCOMMIT, MORE_RESULTS = 0x1, 0x2, 0x8
OK, END, ERROR = 0x00, 0xFE, 0xFF
QUIT, USE, QUERY = 0x01, 0x02, 0x03
PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET_STATEMENT, RESET = 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1F
UNKNOWN_HANDLE = 1243
COMMENT = b"select @@version_comment limit 1"
"""What mysql's own client asks first, to the letter: ProxySQL answers that itself."""

NATIVE = b"mysql_native_password"
STATE = re.compile(rb"(?:/\*.*?\*/\s*)*SET\s+(?!GLOBAL|STATEMENT)", re.I | re.S)
TRACKED = re.compile(rb"(?:/\*.*?\*/\s*)*SET\s+(?:NAMES|AUTOCOMMIT|CHARACTER SET)", re.I | re.S)
CHOICE = re.compile(rb"(?:/\*.*?\*/\s*)*USE\s+`?(\w+)`?", re.I | re.S)
LOCK = re.compile(rb"GET_LOCK\s*\(", re.I)
TABLES = re.compile(rb"(?:/\*.*?\*/\s*)*LOCK\s+TABLES?\b", re.I | re.S)


class Gone(Exception):
    """The other side has closed its connection."""


class Packets:
    """Packets over a socket; a packet is its number and its content."""

    def __init__(self, own: socket.socket) -> None:
        self.own = own
        self._rest = b""

    def _read(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = self.own.recv(65536)
            if not more:
                raise Gone
            self._rest += more
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def read(self) -> tuple[int, bytes]:
        head = self._read(4)
        return head[3], self._read(int.from_bytes(head[:3], "little"))

    def write(self, *contents: bytes, first: int = 0) -> None:
        numbered = (
            len(content).to_bytes(3, "little") + bytes([(first + place) % 256]) + content
            for place, content in enumerate(contents)
        )
        self.own.sendall(b"".join(numbered))


@dataclass
class Prepared:
    """A client's prepared statement: its text, its answer and the types that were sent last."""

    sql: bytes
    answer: list[bytes]
    types: bytes = b""

    @property
    def parameters(self) -> int:
        return int.from_bytes(self.answer[0][7:9], "little")


@dataclass
class Backend:
    """A connection to the server, and the state of its session."""

    line: Packets
    connection: Any
    number: int
    settings: tuple[bytes, ...] = ()
    database: bytes = b""
    prepared: dict[bytes, int] = field(default_factory=dict)
    status: int = AUTOCOMMIT

    @property
    def is_free(self) -> bool:
        """Whether no transaction holds it."""
        return not self.status & IN_TRANSACTION and bool(self.status & AUTOCOMMIT)

    def ask(self, command: bytes) -> list[bytes]:
        """The packets of the answer, whose status is kept."""
        self.line.write(command)
        if command[0] == PREPARE:
            return self._preparation()
        answer: list[bytes] = []
        while True:
            more = self._result()
            answer += more
            if more[-1][0] == ERROR or not self.status & MORE_RESULTS:
                return answer

    def _next(self) -> bytes:
        return self.line.read()[1]

    def _upto_end(self) -> Iterator[bytes]:
        while True:
            packet = self._next()
            yield packet
            if packet[0] == ERROR:
                return
            if packet[0] == END and len(packet) < 9:
                self.status = int.from_bytes(packet[3:5], "little")
                return

    def _result(self) -> list[bytes]:
        head = self._next()
        if head[0] == ERROR:
            return [head]
        if head[0] == OK:
            at = 1
            for _ in ("affected rows", "last id"):
                at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(head[at], 1)
            self.status = int.from_bytes(head[at : at + 2], "little")
            return [head]
        return [head, *self._upto_end(), *self._upto_end()]

    def _preparation(self) -> list[bytes]:
        head = self._next()
        if head[0] == ERROR:
            return [head]
        columns, parameters = struct.unpack_from("<HH", head, 5)
        answer = [head]
        for number in (parameters, columns):
            answer += list(self._upto_end()) if number else []
        return answer


@dataclass
class Client:
    """What the proxy keeps of a client."""

    line: Packets
    number: int
    database: bytes = b""
    settings: tuple[bytes, ...] = ()
    statements: dict[int, Prepared] = field(default_factory=dict)
    backend: Backend | None = None
    pinned: bool = False


@dataclass(frozen=True)
class Manner:
    """How a proxy treats its clients."""

    most: int = 4
    """The connections to the server that clients share."""
    session: Literal["tracked", "pinned", "lost"] = "tracked"
    """What becomes of a client's SET: it is repeated wherever the client goes, it binds the client
    to its connection, or it stays where it was executed."""
    keeps_locks: bool = True
    """Whether GET_LOCK binds a client to its connection."""
    keeps_statements: bool = True
    """Whether a prepared statement is known for longer than the transaction."""
    comment: bytes | None = None
    version: bytes | None = None
    """What it says of itself."""


AS_USUAL = Manner()


class Multiplexer:
    """A proxy before a server."""

    def __init__(self, endpoint: Endpoint, manner: Manner = AS_USUAL) -> None:
        self.manner = manner
        self.lent: set[int] = set()
        """The server's numbers of the connections that clients had."""
        self.moves = 0
        """How often a client got another connection than the one before."""
        self.most_at_once = 0
        """The most clients that were connected at the same time."""
        self._endpoint = endpoint
        self._numbers = itertools.count(900_001)
        self._handles = itertools.count(1)
        self._clients: dict[int, Client] = {}
        self._last: dict[int, int] = {}
        self._free: list[Backend] = []
        self._opened = 0
        self._own: set[int] = set()
        self._turn = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def fail_over(self) -> None:
        """Forget every client's prepared statements, as their sessions are on another server."""
        with self._turn:
            for client in self._clients.values():
                client.statements.clear()

    def close(self) -> None:
        self._listener.close()
        with self._turn:
            for client in self._clients.values():
                with contextlib.suppress(OSError):
                    client.line.own.shutdown(socket.SHUT_RDWR)
            for backend in self._free:
                backend.connection.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                own, _ = self._listener.accept()
                own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._talk, args=(own,), daemon=True).start()

    def _talk(self, own: socket.socket) -> None:
        client = Client(Packets(own), next(self._numbers))
        try:
            if not self._log_in(client):
                return
            with self._turn:
                self._clients[client.number] = client
                self.most_at_once = max(self.most_at_once, len(self._clients))
            while self._answer(client, client.line.read()[1]):
                pass
        except (Gone, OSError):
            pass
        finally:
            with self._turn:
                self._clients.pop(client.number, None)
            self._drop(client)
            own.close()

    def _log_in(self, client: Client) -> bool:
        nonce = hashlib.sha256(str(client.number).encode()).hexdigest()[:20].encode()
        version = self.manner.version or self._version_of_server()
        client.line.write(
            b"\x0a" + version + b"\0" + struct.pack("<I", client.number) + nonce[:8] + b"\0"
            + struct.pack("<HBHHB", CAPABILITIES & 0xFFFF, 45, AUTOCOMMIT, CAPABILITIES >> 16, 21)
            + bytes(10) + nonce[8:] + b"\0" + NATIVE + b"\0"
        )  # fmt: skip
        number, answer = client.line.read()
        (flags,) = struct.unpack_from("<I", answer)
        user, rest = answer[32:].split(b"\0", 1)
        size, rest = rest[0], rest[1:]
        proof, rest = rest[:size], rest[size:]
        if flags & WITH_DATABASE:
            client.database = rest.split(b"\0", 1)[0]
        password = self._endpoint.credentials.reveal().encode()
        known = str(self._endpoint.target.user).encode()
        if user != known or proof != _proof(password, nonce):
            client.line.write(_error(1045, "Access denied"), first=number + 1)
            return False
        client.line.write(b"\0\0\0\x02\0\0\0", first=number + 1)
        return True

    def _version_of_server(self) -> bytes:
        with self._turn:
            if not self._free:
                self._free.append(self._open())
            version: str = self._free[-1].connection.get_server_info()
        return version.encode()

    def _answer(self, client: Client, command: bytes) -> bool:
        """Answer a command; `False` after the goodbye."""
        kind, body = command[0], command[1:]
        if kind == QUIT:
            return False
        if kind == CLOSE:
            client.statements.pop(int.from_bytes(body[:4], "little"), None)
            return True
        assert kind != LONG_DATA, "nobody sends parameters in pieces"
        client.line.write(*self._answered(client, kind, body), first=1)
        return True

    def _answered(self, client: Client, kind: int, body: bytes) -> list[bytes]:
        comment = self.manner.comment
        if kind == QUERY and body == COMMENT and comment is not None:
            return _row(comment)
        if kind == EXECUTE:
            statement = client.statements.get(int.from_bytes(body[:4], "little"))
            if statement is None:
                return [_error(UNKNOWN_HANDLE, "Unknown prepared statement handler")]
        backend = self._lend(client)
        if kind == EXECUTE:
            assert statement is not None
            answer = _executed(backend, statement, body)
        else:
            answer = backend.ask(bytes([kind]) + body)
        if kind == PREPARE and answer[0][0] == OK:
            backend.prepared[body] = int.from_bytes(answer[0][1:5], "little")
            handle = next(self._handles)
            head = b"\0" + struct.pack("<I", handle) + answer[0][5:]
            answer = [head, *answer[1:]]
            client.statements[handle] = Prepared(body, answer)
        elif answer[0][0] != ERROR:
            self._keep(client, backend, kind, body)
        self._give_back(client)
        return answer

    def _keep(self, client: Client, backend: Backend, kind: int, body: bytes) -> None:
        """Note what a statement has changed in its session."""
        chosen = CHOICE.match(body) if kind == QUERY else None
        if kind == USE or chosen:
            client.database = backend.database = chosen[1] if chosen else body
        if kind == RESET:
            client.settings = backend.settings = ()
            backend.prepared.clear()
        if kind != QUERY:
            return
        if TABLES.match(body) or (LOCK.search(body) and self.manner.keeps_locks):
            client.pinned = True
        if STATE.match(body):
            if self.manner.session == "tracked" or TRACKED.match(body):
                client.settings = (*(one for one in client.settings if one != body), body)
                backend.settings = client.settings
            elif self.manner.session == "pinned":
                client.pinned = True

    def _lend(self, client: Client) -> Backend:
        """A connection whose session is as the client left its own."""
        if client.backend is None:
            client.backend = self._taken(client)
            if self._last.get(client.number) not in (None, client.backend.number):
                self.moves += 1
            self._last[client.number] = client.backend.number
            self.lent.add(client.backend.number)
        backend = client.backend
        if not client.pinned and backend.settings != client.settings:
            backend.ask(bytes([RESET]))
            backend.prepared.clear()
            for statement in client.settings:
                backend.ask(bytes([QUERY]) + statement)
            backend.settings, backend.database = client.settings, b""
        if client.database and backend.database != client.database:
            backend.ask(bytes([USE]) + client.database)
            backend.database = client.database
        return backend

    def _taken(self, client: Client) -> Backend:
        with self._turn:
            self._turn.wait_for(lambda: self._free or self._opened < self.manner.most)
            same = [one for one in self._free if one.settings == client.settings]
            if same or self._opened >= self.manner.most:
                found = (same or self._free)[0]
                self._free.remove(found)
                return found
            return self._open()

    def _open(self) -> Backend:
        self._opened += 1
        connection: Any = connect(self._endpoint, database=None)
        connection._sock.settimeout(None)
        return Backend(Packets(connection._sock), connection, connection.thread_id())

    def _give_back(self, client: Client) -> None:
        backend = client.backend
        if backend is None or not backend.is_free:
            return
        if not self.manner.keeps_statements:
            client.statements.clear()
        with self._turn:
            if client.pinned:
                # It is the client's own from now on, and others get one in its place.
                if backend.number not in self._own:
                    self._own.add(backend.number)
                    self._opened -= 1
            else:
                client.backend = None
                self._free.append(backend)
            self._turn.notify()

    def _drop(self, client: Client) -> None:
        backend = client.backend
        if backend is None:
            return
        backend.connection.close()
        with self._turn:
            if backend.number not in self._own:
                self._opened -= 1
            self._turn.notify()


def _executed(backend: Backend, statement: Prepared, body: bytes) -> list[bytes]:
    """Execute a statement, which is prepared before if this connection does not know it."""
    if statement.sql not in backend.prepared:
        answer = backend.ask(bytes([PREPARE]) + statement.sql)
        if answer[0][0] == ERROR:
            return answer
        backend.prepared[statement.sql] = int.from_bytes(answer[0][1:5], "little")
    body = struct.pack("<I", backend.prepared[statement.sql]) + body[4:]
    if statement.parameters:
        # Types go along with the first execution, which was perhaps on another connection.
        at = 9 + (statement.parameters + 7) // 8
        size = 2 * statement.parameters
        if body[at]:
            statement.types = body[at + 1 : at + 1 + size]
        else:
            body = body[:at] + b"\1" + statement.types + body[at + 1 :]
    return backend.ask(bytes([EXECUTE]) + body)


def _proof(password: bytes, nonce: bytes) -> bytes:
    """What mysql_native_password answers."""
    if not password:
        return b""
    once = hashlib.sha1(password).digest()
    salted = hashlib.sha1(nonce + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, salted, strict=True))


def _error(number: int, text: str) -> bytes:
    return bytes([ERROR]) + struct.pack("<H", number) + b"#HY000" + text.encode()


def _row(text: bytes) -> list[bytes]:
    """An answer of one column and one row."""
    column = b"\3def\0\0\0\x11@@version_comment\0\x0c\x2d\0\xff\0\0\0\xfd\0\0\0\0\0"
    end = bytes([END, 0, 0, AUTOCOMMIT, 0])
    return [b"\1", column, end, bytes([len(text)]) + text, end]
