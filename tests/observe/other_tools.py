"""Other programs with which observing is compared, and what a machine needs for a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone.model.observed import Reading, SourceName
from loadstone.observe.source import Source

SERVER_HOST = SourceName(role="server-host")
SERVER = SourceName(role="server")
OBSERVERS = Path(__file__).resolve().parents[2] / ".cache/observers"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="not evaluated: only root may do this")


def program(name: str) -> str:
    """A program of this machine, or of those that tools/get-observers fetched; skips without it."""
    fetched = next(
        (place for part in ("usr/sbin", "usr/bin") if (place := OBSERVERS / part / name).exists()),
        None,
    )
    installed = shutil.which(name)
    if fetched is None and installed is None:
        pytest.skip(f"not evaluated: there is no {name} here: tools/get-observers")
    return str(fetched or installed)


def environment() -> dict[str, str]:
    """The environment of fetched programs: their libraries are searched after the system's."""
    libraries = [str(path) for path in sorted(OBSERVERS.glob("usr/lib/*-linux-*"))]
    return {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": ":".join(libraries)}


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Ends a process with the block."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Writes of 16 KB in a loop, each of them synced."""
    command = ["dd", "if=/dev/zero", f"of={folder / 'written'}", "bs=16k", "oflag=dsync"]
    quiet = subprocess.DEVNULL
    with ended(subprocess.Popen([*command, "count=1000000"], stdout=quiet, stderr=quiet)):
        time.sleep(0.3)
        yield
    (folder / "written").unlink()


def between(before: Reading, after: Reading, name: str) -> float:
    """The growth of a counter a second."""
    grown = after.counters[name] - before.counters[name]
    return grown / (after.at_s - before.at_s)


def wait_for_port(port: int, process: subprocess.Popen[bytes], host: str = "127.0.0.1") -> None:
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, "it has ended"
        try:
            socket.create_connection((host, port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.05)


@dataclass(frozen=True)
class Look:
    """A reading of another source, with one of ours right before and right after it."""

    before: Reading
    theirs: Reading
    after: Reading

    @classmethod
    def at(cls, ours: Source, theirs: Source) -> Look:
        return cls(ours.read(), theirs.read(), ours.read())


def agree(ours: Source, theirs: Source, disk: str | None, tries: int = 3) -> Look:
    """Check that two sources agree on a host that computes and writes, over the same seconds.

    On a busy machine much may happen between consecutive readings: the other source's value has to
    lie between the least and the most of ours, or within 2 % of them. The kernel adds up its cores
    one after the other while they go on counting, so the best of some tries is judged.
    """
    begin = Look.at(ours, theirs)
    time.sleep(2)
    end = Look.at(ours, theirs)
    apart = _apart(begin, end, disk)
    if apart and tries > 1:
        return agree(ours, theirs, disk, tries - 1)
    assert not apart
    return begin


def _apart(begin: Look, end: Look, disk: str | None) -> list[tuple[str, float, float, float]]:
    names = ["cpu.user_s", "cpu.system_s", "context_switches", "memory.minor_faults"]
    if disk is not None:
        names += [f"disk.{disk}.{figure}" for figure in ("writes", "written_bytes", "write_s")]
    apart = []
    for name in names:
        least = end.before.counters[name] - begin.after.counters[name]
        most = end.after.counters[name] - begin.before.counters[name]
        theirs = end.theirs.counters[name] - begin.theirs.counters[name]
        # The kernel adds a core's faults to the sum once a second, or later on a quiet machine.
        assert least >= 0, name
        if not least * 0.98 - 0.02 <= theirs <= most * 1.02 + 0.02:
            apart.append((name, least, theirs, most))
    return apart
