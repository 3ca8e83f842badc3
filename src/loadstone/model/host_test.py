"""Tests of a host without a database: the requests, and the engine's records (docs/engine.md).

The options and their defaults are sysbench's, sizes in bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    TypeAdapter,
)

from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.plan import Distribution, Special
from loadstone.model.records import LatencyNs, Share

_KIB = 1024
_GIB = 1024**3

HostCommand = Literal["prepare", "run", "cleanup"]
MemoryScope = Literal["global", "local"]
MemoryOperation = Literal["read", "write", "none"]
MemoryAccess = Literal["seq", "rnd"]
FileTestMode = Literal["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]
IoMode = Literal["sync", "async", "mmap"]
OpenFlag = Literal["sync", "dsync", "direct"]
SyncMode = Literal["fsync", "fdatasync"]


class CpuTest(Frozen):
    """An event finds the primes up to a number by trial division in 64 bits."""

    kind: Literal["cpu"] = "cpu"
    max_prime: Annotated[int, Field(ge=1, lt=2**32)] = 10_000


class MemoryTest(Frozen):
    """An event reads or writes a block, word by word."""

    kind: Literal["memory"] = "memory"
    block_size: PositiveInt = _KIB
    total_size: PositiveInt = 100 * _GIB
    scope: MemoryScope = "global"
    hugetlb: bool = False
    operation: MemoryOperation = "write"
    access: MemoryAccess = "seq"


class ThreadsTest(Frozen):
    """An event locks, yields and unlocks many times."""

    kind: Literal["threads"] = "threads"
    yields: PositiveInt = 1000
    locks: PositiveInt = 8


class MutexTest(Frozen):
    """Each thread has one event, which locks mutexes, with empty loops in between."""

    kind: Literal["mutex"] = "mutex"
    num: PositiveInt = 4096
    locks: PositiveInt = 50_000
    loops: NonNegativeInt = 10_000


class FileioTest(Frozen):
    """An event is a read, a write or an fsync."""

    kind: Literal["fileio"] = "fileio"
    folder: Path = Path(".")
    num: PositiveInt = 128
    block_size: PositiveInt = 16 * _KIB
    total_size: PositiveInt = 2 * _GIB
    mode: FileTestMode | None = None
    """Required to run the test; not used to create or remove its files."""
    io_mode: IoMode = "sync"
    async_backlog: PositiveInt = 128
    extra_flags: tuple[OpenFlag, ...] = ()
    fsync_freq: NonNegativeInt = 100
    """All files are synchronised after this many requests; zero: never."""
    fsync_all: bool = False
    fsync_end: bool = True
    fsync_mode: SyncMode = "fsync"
    merged_requests: NonNegativeInt = 0
    rw_ratio: NonNegativeFloat = 1.5
    distribution: Distribution = Special()
    checksums: bool = False
    """Whether written blocks get checksums, which are verified when they are read."""


HostTest = Annotated[
    CpuTest | MemoryTest | ThreadsTest | MutexTest | FileioTest, Field(discriminator="kind")
]


class HostStop(Frozen):
    """The limits of a test, whichever comes first; `None`: no limit."""

    events: PositiveInt | None = None
    duration_s: PositiveFloat | None = 10.0
    warmup_s: NonNegativeFloat = 0.0


class HostTestPlan(Frozen):
    """The request for a host test, or for the preparation before or the cleanup after it."""

    command: HostCommand = "run"
    test: HostTest
    threads: PositiveInt = 1
    stop: HostStop = HostStop()
    rate: PositiveFloat | None = None
    """Events a second that are due; `None`: each thread starts an event when its last one ends."""
    interval_s: PositiveFloat = 1.0
    quantile: Annotated[float, Field(ge=0, le=1)] = 0.95
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    tag: str = "host-test"
    per_thread: bool = False
    """Whether samples have the figures of each thread."""


class Done(Frozen):
    """Counts of the work done."""

    events: int = 0
    reads: int = 0
    writes: int = 0
    syncs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


class HostBegun(Frozen):
    """All threads are ready and start."""

    kind: Literal["begun"] = "begun"
    threads: int


class HostSample(Frozen):
    """The work done in an interval."""

    kind: Literal["sample"] = "sample"
    phase: Literal["warmup", "window"]
    from_s: float
    to_s: float
    threads: int
    done: Done
    latency_ns: LatencyNs
    quantile_ns: int | None
    waiting: int | None
    in_flight: int | None = None
    """Events in flight; only with a rate."""
    per_thread: tuple[Share, ...] = ()
    """The figures of each thread that had events, if requested."""
    hlog: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The actual length of the interval."""
        return self.to_s - self.from_s


class Damage(Frozen):
    """A block of a file whose checksum or position is not what was written there."""

    file: int
    offset: int
    what: Literal["sum", "place"]
    calculated: int | None = None
    stored: int


class HostEnd(Frozen):
    """The last record; its figures are of the window."""

    kind: Literal["end"] = "end"
    reason: Literal["finished", "stopped", "failed"]
    error: str | None = None
    damage: Damage | None = None
    seconds: float
    done: Done
    latency_ns: LatencyNs
    quantile_ns: int | None
    latency_sum_ns: int
    threads: tuple[Share, ...]


HostRecord = Annotated[HostBegun | HostSample | HostEnd, Field(discriminator="kind")]
HOST_RECORD: TypeAdapter[HostBegun | HostSample | HostEnd] = TypeAdapter(
    HostRecord, config=DEFERRED
)
