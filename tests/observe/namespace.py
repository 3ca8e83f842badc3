"""A network namespace of its own: another host, as far as its interfaces go."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxError, find_sandbox, find_server

HERE, THERE = "10.255.77.1", "10.255.77.2"

RECEIVE = """
import socket
with socket.create_server(("{there}", {port})) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    while peer.recv(1 << 20):
        pass
"""
PORT = 4711


@dataclass(frozen=True)
class Namespace:
    """Joined to this one by a pair of interfaces."""

    name: str

    @property
    def outer(self) -> str:
        return f"{self.name}o"

    @property
    def inner(self) -> str:
        return f"{self.name}i"

    @classmethod
    @contextmanager
    def made(cls) -> Iterator[Namespace]:
        """Make it; skips where the machine does not let us."""
        made = cls(f"ls{os.getpid()}")
        try:
            _ip("netns", "add", made.name)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"not evaluated: no network namespace can be made ({error})")
        try:
            _ip("link", "add", made.outer, "type", "veth", "peer", made.inner, "netns", made.name)
            _ip("address", "add", f"{HERE}/30", "dev", made.outer)
            _ip("link", "set", made.outer, "up")
            _ip("-n", made.name, "address", "add", f"{THERE}/30", "dev", made.inner)
            _ip("-n", made.name, "link", "set", made.inner, "up")
            _ip("-n", made.name, "link", "set", "lo", "up")
            yield made
        finally:
            _ip("netns", "delete", made.name)
            # The pair may live on with a process that ends only now.
            subprocess.run(["ip", "link", "delete", made.outer], capture_output=True, check=False)

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Nothing gets through, and nobody is told."""
        _ip("-n", self.name, "link", "set", self.inner, "down")
        try:
            yield
        finally:
            _ip("-n", self.name, "link", "set", self.inner, "up")

    def receive(self, size: int) -> None:
        """Send so many bytes to a program over there."""
        script = RECEIVE.format(there=THERE, port=PORT)
        with subprocess.Popen(
            self.command(sys.executable, "-c", script), stdout=subprocess.PIPE
        ) as receiver:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == b"ready\n"
            with socket.create_connection((THERE, PORT), 5) as client:
                client.sendall(bytes(size))
        assert receiver.returncode == 0


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def a_server_in(
    namespace: Namespace, server: str, state: Path
) -> Iterator[tuple[Sandbox, dict[str, str]]]:
    """A sandbox that was started over there, and the server's variables."""
    try:
        find_server(server)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    name = "far"
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    loadstone = [sys.executable, "-m", "loadstone.cli", "sandbox"]
    subprocess.run(
        namespace.command(*loadstone, "start", "--name", name, "--server", server),
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=100,
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(state))
            sandbox = find_sandbox(name)
            with sandbox.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL VARIABLES")
                yield sandbox, {str(key): str(value) for key, value in cursor.fetchall()}
    finally:
        subprocess.run(
            [*loadstone, "stop", name], env=environment, check=True, stdout=subprocess.DEVNULL
        )
