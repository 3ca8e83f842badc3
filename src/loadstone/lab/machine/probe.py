"""Measures a disk the way a database uses it; the files it creates are removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone.lab.machine.hosttests import HostTestFailed, run_host_test
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.figure import General
from loadstone.model.host_test import (
    FileioTest,
    HostBegun,
    HostEnd,
    HostSample,
    HostStop,
    HostTestPlan,
)
from loadstone.model.message import Message, counted, say
from loadstone.model.plan import Uniform
from loadstone.model.probe import DiskProbe
from loadstone.observe.latest import Figures
from loadstone.observe.procfs import disk_names, disk_of_partition, disks
from loadstone.runs.calibration import this_machine
from loadstone.runs.probe import device_of

_KIB, _MIB = 1024, 1024**2
_FILE = 256 * _MIB
_DISKSTATS = Path("/proc/diskstats")


@dataclass(frozen=True)
class _Way:
    """One measurement: how files are used, and by how many threads."""

    test: FileioTest
    threads: int
    said: Message


def probe_disk(
    folder: Path, seconds: float, interrupts: Interrupts, announce: Callable[[str], None]
) -> DiskProbe:
    """Probe the disk under a folder, which must have room for 256 MiB.

    Raises:
        HostTestFailed: files cannot be made there, or not be used past the page cache.
        Interrupted: on request.
        StoreError: there is no such folder.
    """
    device = device_of(folder)
    with TemporaryDirectory(prefix="loadstone-probe-", dir=folder) as place:
        prober = _Prober(Path(place), seconds, interrupts, announce)
        before = _flushes(device)
        one = prober.measure(_syncing(1))
        after = _flushes(device)
        return DiskProbe(
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=this_machine(),
            device=device,
            folder=str(folder),
            seconds=seconds,
            syncs_per_s=_rate(one, one.done.syncs),
            syncs_per_s_parallel=prober.rate(_syncing(4), lambda end: end.done.syncs),
            flushes_per_sync=_by_sync(before, after, one.done.syncs),
            write_iops=prober.rate(_direct("rndwr"), lambda end: end.done.writes),
            read_iops=prober.rate(_direct("rndrd"), lambda end: end.done.reads),
            write_bytes_per_s=prober.rate(_streaming(), lambda end: end.done.bytes_written),
        )


@dataclass(frozen=True)
class _Prober:
    folder: Path
    seconds: float
    interrupts: Interrupts
    announce: Callable[[str], None]

    def rate(self, way: _Way, done: Callable[[HostEnd], int]) -> float:
        end = self.measure(way)
        return _rate(end, done(end))

    def measure(self, way: _Way) -> HostEnd:
        self.interrupts.check()
        self.announce(say("{what}, {seconds} s", what=way.said, seconds=General(self.seconds)))
        test = way.test.model_copy(update={"folder": self.folder})
        for command in ("prepare", "run", "cleanup"):
            end = run_host_test(
                HostTestPlan(
                    command=command,
                    test=test if command == "run" else test.model_copy(update={"mode": None}),
                    threads=way.threads,
                    stop=HostStop(duration_s=self.seconds),
                ),
                _Silent(),
                self.interrupts,
            )
            if command == "run":
                ran = end
        self.interrupts.check()
        if not ran.seconds:
            raise HostTestFailed(
                say("the disk under {folder} did nothing", folder=self.folder.parent), None
            )
        return ran


class _Silent:
    def on_begun(self, begun: HostBegun) -> None:
        """Nothing to say."""

    def on_sample(self, sample: HostSample) -> None:
        """Nothing to say."""


def _syncing(writers: int) -> _Way:
    """Small appends, each made durable, as a log does at each commit."""
    test = FileioTest(
        num=writers,
        block_size=4 * _KIB,
        total_size=writers * 16 * _MIB,
        mode="seqwr",
        fsync_freq=1,
        fsync_end=False,
        fsync_mode="fdatasync",
    )
    return _Way(test, writers, counted("syncs of 1 log", "syncs of {number} logs", writers))


def _direct(mode: str) -> _Way:
    test = FileioTest.model_validate(
        {
            "num": 1,
            "block_size": 16 * _KIB,
            "total_size": _FILE,
            "mode": mode,
            "extra_flags": ("direct",),
            "fsync_freq": 0,
            "fsync_end": False,
            "distribution": Uniform(),
        }
    )
    said = (
        say("pages written at random places")
        if mode == "rndwr"
        else say("pages read at random places")
    )
    return _Way(test, 16, said)


def _streaming() -> _Way:
    test = FileioTest(
        num=1,
        block_size=_MIB,
        total_size=_FILE,
        mode="seqrewr",
        extra_flags=("direct",),
        fsync_freq=0,
        fsync_end=False,
    )
    return _Way(test, 4, say("a stream of writes"))


def _rate(end: HostEnd, count: int) -> float:
    return count / end.seconds


def _flushes(device: str) -> float | None:
    """Flushes of the disk that holds the file system's device; `None` if not known."""
    try:
        text = _DISKSTATS.read_text()
    except OSError:
        return None
    names = disk_names(text)
    if device not in names:
        return None
    figures = Figures()
    disks(text, figures)
    disk = disk_of_partition(names[device], set(names.values()))
    return figures.counters.get(f"disk.{disk}.flushes")


def _by_sync(before: float | None, after: float | None, syncs: int) -> float | None:
    return None if before is None or after is None or not syncs else (after - before) / syncs
