"""Real caps: a cgroup's CPU quota and write IOPS, a line's rate. Root only."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from benches.processes import ProgramFailed
from loadstone.model.experiment import NetworkLimit
from loadstone.sandbox import SandboxError
from loadstone.sandbox.network import (
    Namespace,
    limit_line,
    make_namespace,
    passed,
    remove_namespace,
)

_CGROUPS = Path("/sys/fs/cgroup")
_STEPS = 8
_TRIES = 20
_BETWEEN_TRIES_S = 0.1
"""For lowering a group's memory: steps, and attempts at each; also for emptying a group."""

GROUPS = "loadstone-bench-"
"""The prefix of the groups created here; the id of the creating process follows."""

HERE, THERE = "10.255.78.1", "10.255.78.2"
"""Both ends of a bench's line."""

_RANDOM = 0xFFFFF000 + 56
"""SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h: a load from there returns 32 random bits."""

_PASS, _DROP = 0, 2
"""TC_ACT_OK and TC_ACT_SHOT of linux/pkt_cls.h."""


@dataclass(frozen=True)
class Cap:
    """A cap in force; `proof` shows by its own counters that it took effect."""

    proof: Callable[[], str]
    count: Callable[[], int] = lambda: 0
    """What was held back, or what passed if only that is counted."""


@contextmanager
def cpu_cap(pid: int, cores: float, period_s: float = 0.1) -> Iterator[Cap]:
    """Limit the process and those that it starts to this many cores together.

    In each period they stop once they have used them.
    """
    period_us = round(period_s * 1_000_000)
    with _group("cpu", pid) as group:
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(round(cores * period_us)))
        before = _throttled(group)

        def count() -> int:
            return _throttled(group) - before

        yield Cap(lambda: f"throttled in {count()} periods of {period_s:g} s", count)


def _throttled(group: Path) -> int:
    found = re.search(r"nr_throttled (\d+)", (group / "cpu.stat").read_text())
    return int(found[1]) if found else 0


@contextmanager
def disk_cap(pid: int, folder: Path, write_iops: int) -> Iterator[Cap]:
    """Limit how often per second the process may write to the disk under the folder."""
    with throttled_disk(pid, folder, DiskLimit("write", "iops", write_iops)) as cap:
        yield cap


@dataclass(frozen=True)
class DiskLimit:
    """What a process may ask of its disk in a second."""

    kind: Literal["read", "write"]
    unit: Literal["iops", "bps"]
    """Operations or bytes, as the kernel names them."""
    most: int


@contextmanager
def throttled_disk(pid: int, folder: Path, limit: DiskLimit) -> Iterator[Cap]:
    """Limit what the process may ask of the disk under the folder; operations are counted.

    The page cache's answers do not count.
    """
    device, kind = _disk_of(folder), limit.kind
    with _group("blkio", pid) as group:
        file = group / f"blkio.throttle.{kind}_{limit.unit}_device"
        file.write_text(f"{device} {limit.most}")
        served = group / "blkio.throttle.io_serviced"
        before = _served(served, device, kind)

        def count() -> int:
            return _served(served, device, kind) - before

        yield Cap(lambda: f"{count():,} {kind}s went through the cap", count)


def _disk_of(folder: Path) -> str:
    """Caps apply to whole disks: for a partition, the disk's number."""
    number = folder.stat().st_dev
    link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    whole = link.parent if (link / "partition").exists() else link
    return (whole / "dev").read_text().strip()


def _served(served: Path, device: str, kind: str) -> int:
    found = re.search(rf"^{device} {kind.title()} (\d+)$", served.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


@dataclass(frozen=True)
class MemoryGroup:
    """A group whose processes can be left with less memory; pages are charged where they are
    allocated.
    """

    folder: Path

    def limit(self, most_bytes: int) -> None:
        """Lower the limit; memory above it is swapped out, in steps.

        The kernel refuses a limit (EBUSY) if some attempts did not bring the group below it.

        Raises:
            OSError: the limit cannot be reached.
        """
        (self.folder / "memory.swappiness").write_text("100")
        used = int((self.folder / "memory.usage_in_bytes").read_text())
        for step in range(1, _STEPS + 1):
            self._lower(used + (most_bytes - used) * step // _STEPS)

    def _lower(self, most_bytes: int) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                (self.folder / "memory.limit_in_bytes").write_text(str(most_bytes))
            except OSError as error:
                if error.errno != errno.EBUSY or not tries_left:
                    raise
                time.sleep(_BETWEEN_TRIES_S)
            else:
                return


@contextmanager
def memory_group() -> Iterator[MemoryGroup]:
    """A group without a limit, for a server to be started in it.

    Raises:
        ProgramFailed: this machine does not allow it.
    """
    root = _CGROUPS / "memory"
    if not (root / "memory.limit_in_bytes").exists():
        raise ProgramFailed("no cgroup controller memory (version 1) is mounted")
    folder = root / f"{GROUPS}{os.getpid()}-memory"
    try:
        folder.mkdir()
    except OSError as error:
        raise ProgramFailed(f"cannot make a cgroup: {error.strerror}") from error
    try:
        yield MemoryGroup(folder)
    finally:
        _empty(folder, root)
        _remove(folder)


@contextmanager
def swap(folder: Path, mib: int) -> Iterator[None]:
    """A swap file for the duration of the block; this machine may have no swap.

    Raises:
        ProgramFailed: this machine does not allow it.
    """
    path = folder / f"{GROUPS}{os.getpid()}-swap"
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        os.posix_fallocate(file.fileno(), 0, mib << 20)
    try:
        _run("mkswap", str(path))
        _run("swapon", str(path))
        try:
            yield
        finally:
            _run("swapoff", str(path))
    finally:
        path.unlink()


_REAL_TIME_US = 100_000
"""Of each second; the looks take a hundredth of one."""


@contextmanager
def _group(controller: str, pid: int) -> Iterator[Path]:
    """A group for a process and those that it has started, or will start.

    All that are in it at the end return to the previous group of the first one.
    """
    root = _CGROUPS / controller
    if not (root / "cgroup.procs").exists():
        raise ProgramFailed(f"no cgroup controller {controller} (version 1) is mounted")
    own = re.search(rf"^\d+:(?:[\w,]*,)?{controller}(?:,[\w,]*)?:(.*)$", _cgroup_of(pid), re.M)
    before = root / (own[1].lstrip("/") if own else "")
    group = root / f"{GROUPS}{os.getpid()}-{pid}"
    try:
        group.mkdir()
    except OSError as error:
        raise ProgramFailed(f"cannot make a cgroup: {error.strerror}") from error
    try:
        _allow_real_time(group)
        # The first one first: what it starts from then on is in the group by itself.
        _move([pid], group)
        with suppress(psutil.Error):
            _move([child.pid for child in psutil.Process(pid).children(recursive=True)], group)
        yield group
    finally:
        _empty(group, before)
        _remove(group)


_REMOVED_WITHIN_S = 5.0


def _remove(group: Path) -> None:
    """Remove an empty group: one whose last process has just ended may be busy for a moment."""
    until_s = time.monotonic() + _REMOVED_WITHIN_S
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.05)


def _move(pids: Sequence[int], group: Path) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # it has ended
            (group / "cgroup.procs").write_text(str(pid))


def _empty(group: Path, into: Path) -> None:
    """Until none is left: a process that is moved may have started another one just before."""
    for _ in range(_TRIES):
        pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
        if not pids:
            return
        _move(pids, into)


def _allow_real_time(group: Path) -> None:
    """Let the group have the generator's thread that looks at sessions, of real-time priority.

    Such a thread may not enter a group without a budget for them (sched(7), RT group scheduling).
    """
    budget = group / "cpu.rt_runtime_us"
    if budget.exists():
        budget.write_text(str(_REAL_TIME_US))


def _cgroup_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


@dataclass(frozen=True)
class Network:
    """A network namespace, and the line that leads there."""

    namespace: Namespace

    def command(self, *words: str) -> list[str]:
        """The words as a command inside the namespace."""
        return [*self.namespace.launcher, *words]

    @contextmanager
    def line(self, mbit: int) -> Iterator[Cap]:
        """Limit what either end sends to this rate.

        Raises:
            ProgramFailed: the kernel has no such queue.
        """
        with _as_a_bench_says():
            limit_line(self.namespace, NetworkLimit(bits_per_s=mbit * 1_000_000))
        try:
            yield Cap(self._proof, lambda: passed(self.namespace).held_back)
        finally:
            limit_line(self.namespace, None)

    @contextmanager
    def loss(self, share: float) -> Iterator[Cap]:
        """Drop this share of the packets that leave the namespace, at random.

        The usual tool (netem) is not in every kernel; a filter of four instructions is: load a
        random number, compare it with `share` of its range, drop, pass (tc-bpf(8)).
        """
        least = round(share * 2**32)
        filtered = f"4,32 0 0 {_RANDOM},53 1 0 {least},6 0 0 {_DROP},6 0 0 {_PASS}"
        _run("tc", "qdisc", "add", "dev", self.namespace.outer, "ingress")
        try:
            words = ["ingress", "bpf", "bytecode", filtered, "direct-action"]
            _run("tc", "filter", "add", "dev", self.namespace.outer, *words)
            yield Cap(lambda: f"{self._dropped():,} packets dropped", self._dropped)
        finally:
            _run("tc", "qdisc", "del", "dev", self.namespace.outer, "ingress")

    def _dropped(self) -> int:
        said = _run("tc", "-s", "qdisc", "show", "dev", self.namespace.outer)
        found = re.search(r"qdisc ingress.*?dropped (\d+)", said, re.DOTALL)
        return int(found[1]) if found else 0

    def _proof(self) -> str:
        seen = passed(self.namespace)
        return f"{seen.bytes_sent / 1e6:,.0f} MB sent, held back {seen.held_back:,} times"


@contextmanager
def network() -> Iterator[Network]:
    """Create it, and remove it afterwards.

    Raises:
        ProgramFailed: this machine does not allow it.
    """
    with _as_a_bench_says():
        made = make_namespace((HERE, THERE))
    try:
        yield Network(made)
    finally:
        remove_namespace(made)


@contextmanager
def _as_a_bench_says() -> Iterator[None]:
    try:
        yield
    except SandboxError as error:
        raise ProgramFailed(error.message) from error


def _run(*words: str) -> str:
    """Run a system command; return its output."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise ProgramFailed(f"{' '.join(words[:3])}: {said.strip()}") from error
    return done.stdout
