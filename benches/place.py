"""The place of a measurement: the machine, the throwaway server, the programs."""

from __future__ import annotations

import datetime
import os
import platform
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benches.processes import ProgramFailed, run
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench-results"
"""Every reading is kept there."""

CONNECTIONS = 4200
# Next to the running interpreter: what a user of this checkout types.
LOADSTONE = str(Path(sys.executable).with_name("loadstone"))
# Where cargo finds it.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()


_PATIENCE_S = 30.0
# Ourselves, and a connection that is being closed.
_ALONE = 2


@dataclass(frozen=True)
class Asked:
    """How much time there is."""

    pairs: int
    seconds: tuple[float, float]
    """The duration of a short and of a long run; the steady cost is their difference."""
    quick: bool
    users: tuple[int, ...] | None = None
    """Restricts each bench to these levels."""
    part: float = 1.0
    """The part of the trials to run, if there are hundreds."""
    minutes: float = 60.0
    """The length of a soak."""
    contestants: tuple[str, ...] | None = None
    """Restricts each bench that compares programs to these."""
    server: str = "mariadb"
    """The server of the benches that have one in common."""


@dataclass(frozen=True)
class Place:
    """A server to measure against, and how much time there is for it."""

    sandbox: Sandbox
    sysbench: str
    engine: str
    floor: str
    folder: Path
    """For run folders; removed afterwards."""
    asked: Asked

    @property
    def password(self) -> str:
        """The main user's password."""
        return self.sandbox.tcp.credentials.reveal()

    @property
    def user(self) -> str:
        """The server's main user."""
        return self.sandbox.accounts[0].user

    def url(self, *, tls: bool = False) -> str:
        """The server over loopback TCP."""
        mode = "required" if tls else "disabled"
        return f"mysql://{self.user}@127.0.0.1:{self.sandbox.port}/sbtest?tls={mode}"

    def engine_target(self, *, tls: bool = False) -> dict[str, Any]:
        """The same server in a plan of the engine."""
        mode = "required" if tls else "disabled"
        return {
            "host": "127.0.0.1",
            "port": self.sandbox.port,
            "socket": None,
            "user": self.user,
            "password": self.password,
            "database": "sbtest",
            "server_public_key": None,
            "tls": {"mode": mode, "ca": None, "cert": None, "key": None},
        }

    def sysbench_login(self, *, tls: bool = False) -> list[str]:
        """sysbench's options for the same server."""
        return [
            "--mysql-host=127.0.0.1",
            f"--mysql-port={self.sandbox.port}",
            f"--mysql-user={self.user}",
            f"--mysql-password={self.password}",
            "--mysql-db=sbtest",
            f"--mysql-ssl={'on' if tls else 'off'}",
        ]

    def floor_login(self) -> list[str]:
        """The floor's options for the same server."""
        return ["--port", str(self.sandbox.port), "--user", self.user]

    def floor_mode(self, mode: str) -> str:
        """The floor's name for a kind of load on this server."""
        return mode

    @property
    def cores(self) -> int:
        """The number of usable cores."""
        return len(os.sched_getaffinity(0))

    def wait_until_alone(self) -> None:
        """Wait until the server has closed all earlier connections.

        That takes time for thousands, during which it refuses others.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            if self.connected() <= _ALONE:
                return
            time.sleep(0.1)

    def connected(self) -> int:
        """The server's number of connections, that of the question included."""
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            ((_, connected),) = cursor.fetchall()
        return int(connected)

    def empty_schema(self) -> None:
        """Recreate the schema; the binary logs of the old one are removed as well."""
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            for statement in ("DROP DATABASE sbtest", "CREATE DATABASE sbtest"):
                cursor.execute(statement)
            cursor.execute(self._without_binary_logs())

    def _without_binary_logs(self) -> str:
        """MySQL has another name for it since 8.2, and no longer the old one since 8.4."""
        release = tuple(int(part) for part in self.sandbox.version.split(".")[:2])
        is_new = self.sandbox.flavour == "mysql" and release >= (8, 2)
        return "RESET BINARY LOGS AND GTIDS" if is_new else "RESET MASTER"


@contextmanager
def open_place(asked: Asked, folder: Path) -> Iterator[Place]:
    """A durable sandbox, and the programs, built if missing."""
    programs = build_programs()
    sysbench = find("sysbench")
    allow_descriptors()
    with start_sandbox(SandboxSpec(server=asked.server, max_connections=CONNECTIONS)) as sandbox:
        yield Place(sandbox, sysbench, *programs, folder, asked)


@contextmanager
def other_server(place: Place, settings: dict[str, str], connections: int) -> Iterator[Place]:
    """The same place with a sandbox of other settings; the first one is idle in the meantime."""
    spec = SandboxSpec(server="mariadb", settings=settings, max_connections=connections)
    with start_sandbox(spec) as sandbox:
        yield replace(place, sandbox=sandbox)


def allow_descriptors() -> None:
    """Allow as many open files as possible: sysbench and the floor inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def find(program: str) -> str:
    """The path of a program of Debian's.

    Raises:
        ProgramFailed: it is not installed.
    """
    if path := shutil.which(program):
        return path
    raise ProgramFailed(f"{program} is missing; apt-get install {program}")


def build_programs() -> tuple[str, str]:
    """The engine alone, and the floor."""
    return build_example("drive", "step"), build_program("floor")


def build_program(name: str) -> str:
    """The path of one of our programs, built from the current sources."""
    _build("-p", f"loadstone-{name}")
    return str(TARGET / f"release/loadstone-{name}")


def build_example(crate: str, name: str) -> str:
    """The path of a crate's example, built from the current sources."""
    _build("-p", f"loadstone-{crate}", "--example", name)
    return str(TARGET / f"release/examples/{name}")


def _build(*what: str) -> None:
    manifest = ["--manifest-path", str(ROOT / "Cargo.toml")]
    run(["cargo", "build", "--release", "--quiet", *manifest, *what])


def conditions(place: Place | None) -> dict[str, str]:
    """What a reader must know of machine and server before believing a figure."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} cores of {_processor()}, {memory_gb:.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        **(_of_the_server(place) if place else {}),
        "programs": "; ".join(run([name, "--version"]).stdout.strip() for name in _programs(place)),
        "others": f"load average {os.getloadavg()[0]:.1f} (1 min) before the first measurement",
    }


def _of_the_server(place: Place) -> dict[str, str]:
    settings = place.sandbox.settings
    durable = ("sync_binlog", "innodb_flush_log_at_trx_commit")
    return {
        "server": f"{place.sandbox.flavour} {place.sandbox.version}, "
        + ", ".join(f"{name}={settings[name]}" for name in durable)
        + f", binary log, {place.sandbox.disk.description}",
    }


def _programs(place: Place | None) -> list[str]:
    return [LOADSTONE, place.sysbench] if place else [LOADSTONE]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
