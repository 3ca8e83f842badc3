"""Programs of others that observing is compared with, and what a machine must have for a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.model.observed import Reading, SourceName

SERVER_HOST = SourceName(role="server-host")
SERVER = SourceName(role="server")
OBSERVERS = Path(__file__).resolve().parents[2] / ".cache/observers"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="not evaluated: only root may do this")


def program(name: str) -> str:
    """A program on this machine or of those that tools/get-observers fetched, else a skip."""
    fetched = next(
        (place for part in ("usr/sbin", "usr/bin") if (place := OBSERVERS / part / name).exists()),
        None,
    )
    installed = shutil.which(name)
    if fetched is None and installed is None:
        pytest.skip(f"not evaluated: there is no {name} here: tools/get-observers")
    return str(fetched or installed)


def environment() -> dict[str, str]:
    """For fetched programs: their libraries are looked for beside them, after the system's."""
    libraries = [str(path) for path in sorted(OBSERVERS.glob("usr/lib/*-linux-*"))]
    return {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": ":".join(libraries)}


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours, ended at the end."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def between(before: Reading, after: Reading, name: str) -> float:
    """How much a counter grew a second."""
    grown = after.counters[name] - before.counters[name]
    return grown / (after.at_s - before.at_s)


def wait_for_port(port: int, process: subprocess.Popen[bytes], host: str = "127.0.0.1") -> None:
    deadline = time.monotonic() + 15
    while True:
        assert process.poll() is None, "it has ended"
        try:
            socket.create_connection((host, port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
