"""The cost of one call of a generator through Ray for the head's process: a real Ray, on loopback.

The answer is a number; the replay covers the unpacking of a second's records.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path

from benches.place import ROOT
from benches.processes import ProgramFailed
from benches.progress import announce
from loadstone.cluster import on_ray
from loadstone.cluster.transport import Link

_NODE = "127.0.0.2"
"""Not 127.0.0.1: Ray replaces that by the host's own address."""

_STORE_BYTES = 80 * 1024 * 1024
"""The size of Ray's object store, which is not used: the minimum."""

_STARTING_S, _CALL_S, _END_S = 60.0, 10.0, 20.0
_AT_ONCE = 4
_STARTED = "Ray runtime started"


def cpu_of_a_call(calls: int) -> float | None:
    """Seconds of CPU, all threads of this process; `None`: Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        return None
    announce(f"{calls:,} calls through Ray")
    with _one_node() as address:
        wanted = on_ray.GeneratorRequest(address=address, generators=1, cpus=1, peer=None)
        with on_ray.generators(wanted) as (link,):
            # The actor's process starts, and the first calls open the connection.
            link.call("clock").result(_STARTING_S)
            _call(link, _AT_ONCE)
            before_s = time.process_time()
            _call(link, calls)
            return (time.process_time() - before_s) / calls


def _call(link: Link, calls: int) -> None:
    """Make this many calls, a few at a time, as the head's thread does."""
    under_way: set[Future[int]] = set()
    for _ in range(calls):
        if len(under_way) == _AT_ONCE:
            done, under_way = wait(under_way, _CALL_S, "FIRST_COMPLETED")
            if not done:
                raise ProgramFailed(f"a generator did not answer for {_CALL_S:g} s")
        under_way.add(link.call("clock"))
    for left in under_way:
        left.result(_CALL_S)


@contextmanager
def _one_node() -> Iterator[str]:
    """Ray's head on this machine; its address."""
    # The paths of Unix sockets must be short.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    address = f"{_NODE}:{_free_port()}"
    said = Path(folder, "said")
    words = [
        str(Path(sys.executable).with_name("ray")), "start", "--head", "--block",
        f"--node-ip-address={_NODE}", f"--port={address.rpartition(':')[2]}", "--num-cpus=1",
        f"--object-store-memory={_STORE_BYTES}", "--include-dashboard=false",
        "--disable-usage-stats", f"--temp-dir={folder}",
    ]  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    }
    with said.open("wb") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_started(process, said)
        yield address
    finally:
        # This signal makes it end all of the node's processes.
        process.terminate()
        try:
            process.wait(_END_S)
        finally:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_started(process: subprocess.Popen[bytes], said: Path) -> None:
    deadline = time.monotonic() + _STARTING_S
    while _STARTED not in said.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ProgramFailed(f"Ray does not start: {said.read_text()[-500:]}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_NODE, 0))
        port: int = probe.getsockname()[1]
        return port
