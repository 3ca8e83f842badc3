"""A Ray cluster of two nodes on this machine: two loopback addresses, no traffic leaves it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ports import free_port

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
HEAD, OTHER, THIRD = (f"127.0.{_WORKER}.{number}" for number in (2, 3, 4))
"""The host part of each worker's addresses, so that clusters can run side by side; not 127.0.0.1,
which Ray replaces with the host's own address."""

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
"""Seconds to wait: a machine may be busy with other tests; what takes longer hangs."""
_STARTED = "Ray runtime started"
_TOO_LATE = "The current node timed out during startup"
_STORE_BYTES = str(80 * 1024 * 1024)
"""The least memory that Ray's object store takes; it is not used."""


@dataclass
class Node:
    """A node that `ray start --block` started."""

    address: str
    words: Sequence[str]
    environment: dict[str, str]
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def processes(self) -> list[psutil.Process]:
        """All processes of the node: Ray's own, and those of its actors."""
        try:
            first = psutil.Process(self.process.pid)
            return [*first.children(recursive=True), first]
        except psutil.NoSuchProcess:
            return []

    def generators(self) -> list[psutil.Process]:
        """The processes that drive load."""
        return [each for each in self.processes if _title(each).startswith("ray::Generator")]

    def kill(self) -> None:
        """Kill the node at once, as a power failure would."""
        for each in self.processes:
            _send(each, signal.SIGKILL)
        self.process.wait(PATIENCE_S)


@dataclass
class Nodes:
    """A cluster, and programs that use it."""

    address: str
    folder: Path
    nodes: dict[str, Node] = field(default_factory=dict)

    def loadstone(self, *words: str) -> subprocess.Popen[str]:
        """The program, started on the head's node."""
        return subprocess.Popen(
            [sys.executable, "-m", "loadstone.cli", *words],
            env=environment(),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def another_version(self) -> Path:
        """A copy of the program under another version."""
        folder = self.folder / "another"
        package = folder / "loadstone"
        package.mkdir(parents=True)
        for each in (ROOT / "src" / "loadstone").iterdir():
            if each.name not in ("__init__.py", "__pycache__"):
                (package / each.name).symlink_to(each)
        own = (ROOT / "src" / "loadstone" / "__init__.py").read_text()
        (package / "__init__.py").write_text(f'{own}\n__version__ = "0.0.0.another"\n')
        return folder

    def start(self, address: str, *options: str, source: Path = ROOT / "src") -> None:
        """Start another node, which has the program from there; returns at once."""
        assert address not in self.nodes
        ray = str(Path(sys.executable).with_name("ray"))
        words = [
            ray, "start", "--block", f"--node-ip-address={address}", "--num-cpus=1",
            f"--object-store-memory={_STORE_BYTES}", "--disable-usage-stats", *options,
        ]  # fmt: skip
        self._start(Node(address, words, environment(source)))

    def _start(self, node: Node) -> None:
        with self._log(node.address).open("wb") as log:
            # Before other tests' processes, where that is allowed: see `wait_until_started`.
            node.process = subprocess.Popen(
                ["nice", "-n", "-10", *node.words],
                env=node.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes[node.address] = node

    def wait_until_started(self, address: str) -> None:
        """Wait until the node reports that it has started.

        Ray gives a node half a minute, fixed in its code, which a busy machine may exceed: a node
        that was only too late is started once more.
        """
        deadline = time.monotonic() + PATIENCE_S
        while _STARTED not in self._log(address).read_text():
            said = self._log(address).read_text()
            if self.nodes[address].process.poll() is not None:
                assert _TOO_LATE in said, said
                self._start(self.nodes[address])
            assert time.monotonic() < deadline, f"{address} does not start: {said}"
            time.sleep(0.2)

    def _log(self, address: str) -> Path:
        return self.folder / f"{address}.log"


def environment(source: Path = ROOT / "src") -> dict[str, str]:
    """The environment of nodes and programs: where the program is, and no usage reports."""
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
    return os.environ | {
        "PYTHONPATH": path,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        # Below Ray's own half a minute: these tests kill nodes.
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_failure_threshold": "3",
    }


def two_nodes(folder: Path) -> Iterator[Nodes]:
    """Started, and ended whatever happens in between."""
    # Unix sockets have short names: a test's own folder would be too deep for them.
    port, short = free_port(HEAD), tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    nodes = Nodes(f"{HEAD}:{port}", folder)
    try:
        nodes.start(
            HEAD, "--head", f"--port={port}", "--include-dashboard=false",
            f"--temp-dir={short}",
        )  # fmt: skip
        nodes.wait_until_started(HEAD)
        nodes.start(OTHER, f"--address={nodes.address}")
        nodes.wait_until_started(OTHER)
        yield nodes
    finally:
        for node in nodes.nodes.values():
            node.kill()
        shutil.rmtree(short, ignore_errors=True)


def _title(process: psutil.Process) -> str:
    try:
        words: Sequence[str] = process.cmdline()
    except psutil.Error:
        return ""
    return words[0] if words else ""


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
