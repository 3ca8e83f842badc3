"""A TCP forwarder that can misbehave: small pieces, delays, cut or refused connections."""

from __future__ import annotations

import random
import selectors
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass
class Way:
    """One direction of one connection."""

    source: socket.socket
    sink: socket.socket
    to_server: bool
    waiting: bytes = b""


@dataclass
class Between:
    """Forwards to a port of this machine; a context manager, closed at the end of the block."""

    server_port: int
    pieces: bool = False
    """Whether data is forwarded in pieces of 1 to 7 bytes."""
    hold_s: float = 0.0
    """How long a new connection is held before the server hears of it."""
    free: int = 0
    """This many of the first connections are not held."""
    to_server: int = 0
    from_server: int = 0
    accepted: int = 0
    open_at_most: int = 0
    """The largest number of connections that were open at one time."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _pairs: list[tuple[socket.socket, socket.socket]] = field(default_factory=list)
    _held: int = 0
    _served: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _leave: threading.Event = field(default_factory=threading.Event)
    _over: bool = False
    shut: bool = False
    """Whether new connections are dropped as soon as they are accepted."""
    before: Callable[[bytes], None] | None = None
    """Called with what a client has sent, before the server gets it."""

    def __enter__(self) -> Self:
        self._door = socket.create_server(("127.0.0.1", 0), backlog=512)
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
        self._leave.set()
        self.cut()
        for thread in list(self._threads):
            thread.join()
        self._door.close()

    @property
    def port(self) -> int:
        return int(self._door.getsockname()[1])

    def cut(self, number: int | None = None) -> int:
        """Drop the oldest connections without notice; all of them if no number is given."""
        with self._lock:
            chosen = self._pairs[:number]
            self._pairs = self._pairs[len(chosen) :]
        for pair in chosen:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the other side was faster
        return len(chosen)

    def let_in(self) -> None:
        """Stop holding new connections."""
        self._leave.set()

    def _spawn(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over:
            try:
                client, _ = self._door.accept()
            except TimeoutError:
                continue
            self.accepted += 1
            if self.shut:
                client.close()
            else:
                self._spawn(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self._held += 1
            self.open_at_most = max(self.open_at_most, self._held)
            number = self._served = self._served + 1
        if number > self.free:
            self._leave.wait(self.hold_s)
        with self._lock:
            self._held -= 1
        try:
            server = socket.create_connection(("127.0.0.1", self.server_port))
        except OSError:
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.append((client, server))
        try:
            self._forward(client, server)
        except OSError:
            pass  # cut from outside, or the server is gone
        client.close()
        server.close()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        ways = {client: Way(client, server, True), server: Way(server, client, False)}
        with selectors.DefaultSelector() as selector:
            for end in ways:
                selector.register(end, selectors.EVENT_READ)
            while not self._over:
                for key, _ in selector.select(timeout=0.05):
                    assert isinstance(key.fileobj, socket.socket)
                    if not self._pass_on(ways[key.fileobj]):
                        return

    def _pass_on(self, way: Way) -> bool:
        data = way.source.recv(65536)
        with self._lock:
            if way.to_server:
                self.to_server += len(data)
            else:
                self.from_server += len(data)
        if self.before and way.to_server:
            self.before(data)
        if not self.pieces:
            way.sink.sendall(data)
            return bool(data)
        rest = data
        while rest:
            size = random.randint(1, 7)
            way.sink.sendall(rest[:size])
            rest = rest[size:]
        return bool(data)
