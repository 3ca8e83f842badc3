"""Null servers as programs of their own, so that cores and descriptors are theirs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benches.processes import ProgramFailed
from benches.threads import read

Protocol = Literal["mysql", "postgresql"]
USER = "bench"
_LONGEST = "2h"
_END_S = 30.0


@dataclass(frozen=True)
class NullServer:
    """One that listens."""

    host: str
    port: int
    socket: str | None
    pid: int
    protocol: Protocol = "mysql"

    def engine_target(self) -> dict[str, Any]:
        """The server in a plan of the engine."""
        return {
            "family": self.protocol,
            "host": self.host,
            "port": self.port,
            "socket": self.socket,
            "user": USER,
            "password": "",
            "database": "sbtest",
            "server_public_key": None,
            "tls": {"mode": "disabled", "ca": None, "cert": None, "key": None},
        }

    def floor_login(self) -> list[str]:
        """The floor's options for it."""
        where = ["--host", self.host, "--port", str(self.port)]
        return [*where, *(["--socket", self.socket] if self.socket else []), "--user", USER]

    def cpu_s(self) -> float:
        """CPU seconds of its threads so far."""
        return sum(read(Path("/proc", str(self.pid))).cpu_ns.values()) / 1e9


@contextmanager
def null_server(
    program: str,
    *,
    socket: Path | None = None,
    host: str = "127.0.0.1",
    core: int | None = None,
    protocol: Protocol = "mysql",
) -> Iterator[NullServer]:
    """Start one; on a core of its own if that is given.

    Raises:
        ProgramFailed: it does not start.
    """
    options = ["--host", host, "--duration", _LONGEST, "--protocol", protocol]
    options += [] if socket is None else ["--socket", str(socket)]
    with subprocess.Popen(
        [*on_core(core), program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                process.wait(_END_S)
                why = process.stderr.read().decode() if process.stderr else ""
                raise ProgramFailed(f"the null server does not start: {why.strip()}")
            place = json.loads(said)
            yield NullServer(host, place["port"], place["socket"], place["pid"], protocol)
        finally:
            process.terminate()
            process.wait(_END_S)


def on_core(core: int | None) -> Sequence[str]:
    """What a command begins with to run on this core."""
    return [] if core is None else ["taskset", "--cpu-list", str(core)]
