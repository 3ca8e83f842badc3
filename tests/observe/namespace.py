"""A network namespace that acts as another host, as far as its interfaces go."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxError, find_sandbox, find_server
from loadstone.sandbox.network import Namespace, make_namespace, remove_namespace

# Other processes' tests create hosts as well: each process has addresses of its own.
_NET = f"10.254.{os.getpid() >> 6 & 255}"
_FIRST = (os.getpid() & 63) * 4
HERE, THERE = f"{_NET}.{_FIRST + 1}", f"{_NET}.{_FIRST + 2}"

RECEIVE = """
import socket
with socket.create_server(("{there}", {port})) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    while peer.recv(1 << 20):
        pass
"""
PORT = 4711


@contextmanager
def another_host() -> Iterator[Namespace]:
    """Create the host; skips if the machine does not allow it."""
    try:
        made = make_namespace((HERE, THERE))
    except SandboxError as error:
        pytest.skip(f"not evaluated: no network namespace can be made ({error.message})")
    try:
        yield made
    finally:
        remove_namespace(made)


@contextmanager
def cut(line: Namespace) -> Iterator[None]:
    """Drop all packets, without an error to either side."""
    _set(line, "down")
    try:
        yield
    finally:
        _set(line, "up")


def _set(line: Namespace, state: str) -> None:
    words = ["ip", "-n", line.name, "link", "set", line.inner, state]
    subprocess.run(words, check=True, capture_output=True)


def receive(line: Namespace, size: int) -> None:
    """Send this many bytes to a program in the namespace."""
    script = RECEIVE.format(there=THERE, port=PORT)
    with subprocess.Popen(
        [*line.launcher, sys.executable, "-c", script], stdout=subprocess.PIPE
    ) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"ready\n"
        with socket.create_connection((THERE, PORT), 5) as client:
            client.sendall(bytes(size))
    assert receiver.returncode == 0


@contextmanager
def a_server_in(
    namespace: Namespace, server: str, state: Path
) -> Iterator[tuple[Sandbox, dict[str, str]]]:
    """A sandbox that was started in the namespace, and the server's variables."""
    try:
        find_server(server)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    name = "far"
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    loadstone = [sys.executable, "-m", "loadstone.cli", "sandbox"]
    subprocess.run(
        [*namespace.launcher_of_a_host, *loadstone] + ["start", "--name", name, "--server", server],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=100,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        # Ended here: a server that a test restarts is a child of this process, which has to reap
        # it.
        with find_sandbox(name) as sandbox:
            with sandbox.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL VARIABLES")
                variables = {str(key): str(value) for key, value in cursor.fetchall()}
            yield sandbox, variables
