"""What reading pages from the disk takes of an event."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.cpu import server_cores

MISS_CPU_S = 20e-6
"""[P] CPU of one page read: the call, the copy of 16 KiB, its checksum, and another page's end."""


def reads_by_event(case: Case) -> float | None:
    """Pages that had to be read from the disk, by event."""
    reads, tps = case.rate("buffer_pool_reads"), case.step.tps
    return None if reads is None or not tps else reads / tps


def reads_share(case: Case) -> float | None:
    """Reading's part of an event's demand, queues for cores left out, 0 to 1.

    Demand is the server's CPU by event and the disk's time by event; on another's disk, or where
    the operating system's cache answers, the latter is next to nothing.
    """
    reads, cores, tps = reads_by_event(case), server_cores(case), case.step.tps
    if reads is None or cores is None or not tps:
        return None
    await_s = (case.host("disk_read_await_ms") or 0.0) / 1000
    iops = case.host("disk_read_iops")
    if iops is not None:
        # What the page cache answers is no read of the disk.
        await_s *= min(iops / (reads * tps), 1.0) if reads else 0.0
    disk = reads * await_s
    return min((disk + reads * MISS_CPU_S) / (cores / tps + disk), 1.0)
