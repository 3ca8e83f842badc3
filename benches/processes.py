"""Programs run to completion, with what they cost: wait4(2) and /proc."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_BETWEEN_LOOKS_S = 0.1
_LONGEST_S = 1200.0


@dataclass(frozen=True)
class Ran:
    """A program that ended successfully."""

    stdout: str
    wall_s: float
    cpu_s: float
    """User and system time, including its own children."""


class ProgramFailed(Exception):
    """A measured program failed: there is no figure."""


def run(
    command: Sequence[str],
    *,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    look: Callable[[int], None] | None = None,
    stderr: int | None = None,
) -> Ran:
    """Run a program to completion; `look` is called with its pid several times per second.

    `stderr` is a descriptor for its messages instead of a file of ours.

    Raises:
        ProgramFailed: it ended with another code than 0, with the end of its output; or it did not
            end in time.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with tempfile.TemporaryFile("w+") as given:
            given.write(stdin)
            given.seek(0)
            begun = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=out,
                stderr=err if stderr is None else stderr,
                env={**_as_installed(), **(environment or {})},
            )
        wall_s, cpu_s = _wait(process, begun, look)
        out.seek(0)
        err.seek(0)
        stdout = out.read()
        if process.returncode != 0:
            said = (err.read().strip() or stdout.strip())[-600:]
            name = " ".join(Path(word).name for word in command[:2])
            raise ProgramFailed(f"{name} ended with {process.returncode}: {said}")
    return Ran(stdout, wall_s, cpu_s)


def _as_installed() -> dict[str, str]:
    """An installed Python program keeps its bytecode, and compiles it only once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _wait(
    process: subprocess.Popen[bytes], begun: float, look: Callable[[int], None] | None
) -> tuple[float, float]:
    # Only for programs that hang: no bench has a program that runs this long.
    killer = threading.Timer(_LONGEST_S, process.kill)
    killer.start()
    try:
        while True:
            # Without an observer, waiting must not cost the machine a wake-up.
            pid, status, usage = os.wait4(process.pid, os.WNOHANG if look else 0)
            if pid:
                break
            if look:
                look(process.pid)
            time.sleep(_BETWEEN_LOOKS_S)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        killer.cancel()
    wall_s = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    return wall_s, usage.ru_utime + usage.ru_stime


class Memory:
    """The most resident memory seen; with a name, only while a thread of that name exists."""

    def __init__(self, thread: str | None = None) -> None:
        self.thread = thread
        self.most_kb = 0

    def look(self, pid: int) -> None:
        """Take a reading; a process that is just ending gives none."""
        folder = Path("/proc", str(pid))
        try:
            if self.thread is None or self.thread in _threads(folder):
                self.most_kb = max(self.most_kb, resident_kb((folder / "status").read_text()))
        except OSError:
            return


def resident_kb(status: str) -> int:
    """`VmRSS` of a `/proc/PID/status`; 0 for a process that has released its memory."""
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def _threads(folder: Path) -> set[str]:
    return {comm.read_text().strip() for comm in folder.glob("task/*/comm")}
