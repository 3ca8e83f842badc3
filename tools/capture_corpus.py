"""Writes the corpora of the fuzz targets again, from conversations with real servers.

`PYTHONPATH=src:tests python tools/capture_corpus.py` starts a MariaDB and a MySQL, lets the engine
talk to each through a forwarder that writes along what the server says, and cuts that into inputs
of crates/wire/tests/fuzzed.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.driving import (
    a_layout,
    a_load,
    a_plan,
    connecting,
    described,
    drive,
    events,
    load,
    session,
    workload,
)
from engine.driving import tcp as over_tcp
from engine.servers import QUICK, execute, methods_of
from loadstone.model.target import Tls
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox

CORPORA = Path(__file__).parents[1] / "crates" / "wire" / "fuzz" / "corpus"
LONGEST = 2048
MOST_OF_A_KIND = 12
QUERY, PREPARE, EXECUTE = 0x03, 0x16, 0x17
COMMANDS = {QUERY: "text_results", PREPARE: "prepared", EXECUTE: "binary_results"}

# The bits of the first two bytes: see tests/fuzzed/replies.rs and logins.rs.
DEPRECATES_EOF, GIVES_FILES, KEEPS_ROWS, KEEPS_RESULTS = 1, 4, 8, 16
MAY_ASK_FOR_THE_KEY, ANY_COMPRESSION, IS_MYSQL = 8, 16, 128
RAW, FRAMED = 0, 1


STATEMENTS = (
    "SELECT * FROM no_such_table",
    "SELEC 1",
    "SELECT 1/0; SELECT 2",
    "CALL nothing()",
    "SELECT NULL, 'a', 1.5, NOW(), REPEAT('x', 300)",
    "SHOW VARIABLES LIKE 'v%'",
)


@dataclass
class Heard:
    """One connection: what each side said, in order."""

    parts: list[tuple[bool, bytes]] = field(default_factory=list)
    """Whether it was the server, and the bytes."""


@dataclass
class Recorder:
    """Forwards to a server and writes along; a context, gone at the end of the block."""

    port_behind: int
    connections: list[Heard] = field(default_factory=list)
    _over: bool = False

    def __enter__(self) -> Self:
        self._door = socket.create_server(("127.0.0.1", 0))
        self._door.settimeout(0.05)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over = True
        self._thread.join()
        self._door.close()

    @property
    def port(self) -> int:
        """Where the engine goes."""
        return int(self._door.getsockname()[1])

    def _accept(self) -> None:
        while not self._over:
            try:
                client, _ = self._door.accept()
            except TimeoutError:
                continue
            server = socket.create_connection(("127.0.0.1", self.port_behind))
            heard = Heard()
            self.connections.append(heard)
            for source, sink, is_server in ((client, server, False), (server, client, True)):
                way = (source, sink, is_server, heard)
                threading.Thread(target=self._forward, args=way, daemon=True).start()

    def _forward(
        self, source: socket.socket, sink: socket.socket, is_server: bool, heard: Heard
    ) -> None:
        with closing(sink):
            try:
                while data := source.recv(65536):
                    heard.parts.append((is_server, data))
                    sink.sendall(data)
            except OSError:
                return
            finally:
                # Closing alone does not end it while the other thread waits for its bytes.
                with suppress(OSError):
                    sink.shutdown(socket.SHUT_RDWR)


def packets(data: bytes) -> Iterator[bytes]:
    """Whole packets with their heads."""
    while len(data) >= 4:
        length = 4 + int.from_bytes(data[:3], "little")
        yield data[:length]
        data = data[length:]


def an_input(flags: tuple[int, int], form: int, said: bytes) -> bytes:
    """With the bytes that choose how it is read."""
    return bytes([*flags, 6, form]) + said


def inputs_of(heard: Heard, *, is_mysql: bool) -> Iterator[tuple[str, bytes]]:
    """The inputs that a conversation gives, by target."""
    said = b"".join(data for is_server, data in heard.parts if is_server)
    first = next(packets(said), b"")
    yield "greeting", an_input((MAY_ASK_FOR_THE_KEY | ANY_COMPRESSION, 0), RAW, first)
    login = [packet[4:] for packet in _login(said)]
    framed = b"".join(bytes([len(payload)]) + payload for payload in login if len(payload) < 250)
    flags = MAY_ASK_FOR_THE_KEY | (IS_MYSQL if is_mysql else 0)
    yield "authentication", an_input((flags, 0), FRAMED, framed)
    for command, reply in _commands(heard):
        target = COMMANDS.get(command)
        head = reply[4:5]
        keeping = (DEPRECATES_EOF | KEEPS_ROWS, 0)
        if target:
            yield target, an_input(keeping, RAW, reply)
            yield "packets", an_input((DEPRECATES_EOF | KEEPS_RESULTS, 0), RAW, reply)
        if head == b"\xff":
            yield "errors", an_input(keeping, RAW, reply[5:])
        if head == b"\xfb":
            yield "local_infile", an_input((DEPRECATES_EOF | GIVES_FILES, 0), RAW, reply[5:])


def _login(said: bytes) -> list[bytes]:
    """What the server says behind its greeting, up to its verdict."""
    found = []
    for packet in list(packets(said))[1:]:
        found.append(packet)
        if packet[4:5] in (b"\0", b"\xff"):
            break
    return found


def _commands(heard: Heard) -> Iterator[tuple[int, bytes]]:
    """Each command's number with all that was answered; a command begins with packet number 0."""
    command, reply = None, b""
    for is_server, data in heard.parts:
        if is_server:
            reply += data
        elif len(data) > 4 and data[3] == 0:
            if command is not None:
                yield command, reply
            command, reply = data[4], b""
    if command is not None:
        yield command, reply


def talk(server: Sandbox, port: int, **of_target: Any) -> None:
    """Conversations of all kinds with one server."""
    target = over_tcp(server, **of_target) | {"port": port}
    policy = connecting(retries=0)
    for method in ("infile", "insert"):
        execute(server, "DROP TABLE IF EXISTS sbtest.sbtest1")
        load(a_load(target, layout=a_layout(1, 60), connect=policy, parallel=1, method=method))
    for name in ("oltp_read_write", "oltp_read_only", "oltp_insert"):
        for protocol in ("prepared", "text"):
            mix = workload(name, tables=1, table_size=60)
            step = a_plan(target, workload=mix, protocol=protocol, stop=events(2), connect=policy)
            drive(step)
    for told in STATEMENTS:
        drive(a_plan(target, session=session(told), stop=events(1), connect=policy))
    drive(a_plan(target | {"password": "wrong"}, connect=policy))
    drive(a_plan(target | {"database": "no_such_schema"}, connect=policy))


def capture(kind: str) -> Iterator[tuple[str, bytes]]:
    """All inputs that one kind of server gives."""
    spec = SandboxSpec(server=kind, auth=methods_of(kind), settings=QUICK)
    with start_sandbox(spec) as server:
        execute(server, "CREATE DATABASE IF NOT EXISTS sbtest")
        with Recorder(server.port) as recorder:
            # Over TLS, so that the server remembers the password and takes it over an open line.
            load(a_load(over_tcp(server, "required"), layout=a_layout(1, 60)))
            talk(server, recorder.port)
            for method in methods_of(kind):
                target = described(server.endpoint(method, tls=Tls(mode="disabled")))
                if kind == "mysql":
                    target["server_public_key"] = str(server.datadir / "public_key.pem")
                drive(a_plan(target | {"port": recorder.port}, connect=connecting(retries=0)))
            for heard in recorder.connections:
                yield from inputs_of(heard, is_mysql=kind == "mysql")
        for compression, number in (("zlib", 0), ("zstd", 1)):
            with Recorder(server.port) as recorder:
                talk(server, recorder.port, compression=[compression])
                for heard in recorder.connections:
                    yield from _compressed(heard, number)


def _compressed(heard: Heard, number: int) -> Iterator[tuple[str, bytes]]:
    said = b"".join(data for is_server, data in heard.parts if is_server)
    behind = said[sum(map(len, _login(said))) + len(next(packets(said), b"")) :]
    if behind:
        yield "compressed", an_input((number, 0), RAW, behind[:LONGEST])


def main() -> int:
    """Both servers' inputs, the shortest of each kind."""
    found: dict[str, set[bytes]] = {}
    for kind in ("mariadb", "mysql"):
        of_kind: dict[str, set[bytes]] = {}
        for target, data in capture(kind):
            if len(data) <= LONGEST + 4:
                of_kind.setdefault(target, set()).add(data)
        for target, inputs in of_kind.items():
            spread = sorted(inputs, key=lambda data: (len(data), data))
            step = max(1, len(spread) // MOST_OF_A_KIND)
            found.setdefault(target, set()).update(spread[::step][:MOST_OF_A_KIND])
    for target, inputs in found.items():
        folder = CORPORA / target
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for data in inputs:
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        print(f"{target}: {len(inputs)} inputs, {sum(map(len, inputs))} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
