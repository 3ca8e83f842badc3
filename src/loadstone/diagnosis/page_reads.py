"""The share of an event's work that is reading pages from the disk."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import PAGE_READS, Holds, parts_of
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Percent
from loadstone.model.message import Message, say

MISS_CPU_S = 50e-6
"""[P] The server's CPU for one page read: the calls, the copy of 16 KiB, its checksum, and the
eviction of another page. Measured 57 µs with MariaDB 10.11 and a pool of 8 MiB on a virtual disk
(point selects, 0.52 reads per event, 56 compared with 27 µs per event).
"""

MATTERS = 0.05
"""[P] Share of the users' time, or of an event's work, from which reading pages counts."""

STAYS = 0.3
"""[P] Share of the pages read by which the pool grows: above, it warms up; below, it exchanges
pages.
"""

ROOM = 0.15
"""[P] Share of the pool's pages that are free."""

FALLS = 0.6
"""[P] Reads per event in the last third over those in the first, below which the pool warms up."""

FEWEST = 4
"""Seconds from which the start and the end of a window differ by more than chance."""

KEPT_FREE = 2048.0
"""[S] Free pages that are kept on purpose: innodb_lru_scan_depth is 1,024 with MySQL and 1,536 with
MariaDB, for each part of the pool.
"""


def reads_by_event(case: Case) -> float | None:
    """Pages per event that had to be read from the disk."""
    reads, tps = case.rate("buffer_pool_reads"), case.step.tps
    return None if reads is None or not tps else reads / tps


def reads_share(case: Case) -> float | None:
    """The part of an event's demand that is reading pages, without queues for cores, 0 to 1.

    Demand is the server's CPU per event and the disk's time per event; if the disk was not
    observed, or if the operating system's cache answers, the latter is close to zero.
    """
    reads, cores, tps = reads_by_event(case), server_cores(case), case.step.tps
    if reads is None or cores is None or not tps:
        return None
    disk = _at_disk(case, reads * tps) / tps
    return min((disk + reads * MISS_CPU_S) / (cores / tps + disk), 1.0)


def _at_disk(case: Case, reads: float) -> float:
    """Mean number of pages that the disk reads at a moment, of so many reads a second.

    Little's law; zero if the disk was not observed.
    """
    await_s = (case.host("disk_read_await_ms") or 0.0) / 1000
    iops = case.host("disk_read_iops")
    # What the page cache answers is not read from the disk.
    return (reads if iops is None else min(iops, reads)) * await_s


def reading_parts(case: Case) -> Mapping[Place, float]:
    """By place, the part of the users' time there in which pages are read.

    Where threads are looked at, who waits for a read is seen. Elsewhere that is part of the time in
    the server, and follows from the reads and the disk's time for each. Empty without an account.
    """
    account, reads = case.step.account, case.rate("buffer_pool_reads")
    if account is None or reads is None:
        return {}
    parts = parts_of_work(case, reads * MISS_CPU_S)
    inside = account.users * account.share_of("in the server")
    if inside:
        at_disk = _at_disk(case, reads) / inside
        parts["in the server"] = min(parts["in the server"] + at_disk, 1.0)
    return {**parts, "disk read": 1.0}


def reading_holds(case: Case) -> Holds | None:
    """What holds the users for as long as pages are read."""
    parts = reading_parts(case)
    return parts_of(parts) if parts else None


def reading_time(case: Case) -> float | None:
    """The share of the users' time in which pages are read; `None` without an account."""
    parts = reading_parts(case)
    return time_of(case, parts) if parts else None


def reading_share(case: Case) -> float | None:
    """How much reading pages takes: of the users' time, or of an event's work, 0 to 1."""
    time = reading_time(case)
    return reads_share(case) if time is None else time


def matters(case: Case, share: float) -> bool:
    """Whether reading pages is worth a finding, counting those who wait for rows because of it."""
    return share + due_to(case, *PAGE_READS) >= MATTERS


def reading_said(case: Case, share: float) -> Message:
    """A sentence for `reading_share`."""
    if reading_time(case) is None:
        return say("Reading makes up {share} of an event's work.", share=Percent(share))
    return say("Reading takes {share} of the users' time.", share=Percent(share))


def kept_share(case: Case) -> float | None:
    """Share of the pages read in the window that stayed in the pool, 0 to 1.

    A pool that warms up keeps what it reads; one that is too small evicts as much as it reads.
    """
    by_second = _kept_by_second(case)
    if by_second is not None:
        return by_second
    reads = case.rate("buffer_pool_reads")
    mean, highest = case.mean("pages_data"), case.highest("pages_data")
    if reads is None or mean is None or highest is None or not case.step.seconds:
        return None
    # A value that grows steadily ends as far above its mean as it started below it.
    read = reads * case.step.seconds
    return min(2 * (highest - mean) / read, 1.0) if read > 0 else 1.0


def _kept_by_second(case: Case) -> float | None:
    """The same from the pages at the end of each second, starting at the first one's end."""
    pages = case.series("server", "pages_data.now")
    reads = case.series("server", "buffer_pool_reads")
    if pages is None or reads is None or len(pages) < 2:
        return None
    read = sum(value for at, value in reads if at > pages[0][0])
    grown = max(value for _, value in pages) - pages[0][1]
    return min(grown / read, 1.0) if read > 0 else 1.0


def has_room(case: Case) -> bool | None:
    """Whether the pool has more free pages than it keeps on purpose."""
    free, total = case.mean("pages_free"), case.mean("pages_total")
    return None if free is None or total is None else free > max(ROOM * total, KEPT_FREE)


def by_second(series: Series) -> dict[int, float]:
    """What each second has; the remainder of one at the end of a load is left out."""
    rates: dict[int, float] = {}
    for at, rate in series:
        rates.setdefault(round(at), rate)
    return rates


def by_thirds(reads: Series, events: Series) -> tuple[float, float] | None:
    """Pages per event in the first and the last third; reads come about once a second."""
    rates = by_second(events)
    pairs = [(value, rates[at]) for at, value in by_second(reads).items() if at in rates]
    if len(pairs) < FEWEST:
        return None
    third = max(len(pairs) // 3, 2)
    first, last = pairs[:third], pairs[-third:]
    done = [sum(tps for _, tps in part) for part in (first, last)]
    if not all(done):
        return None
    return sum(read for read, _ in first) / done[0], sum(read for read, _ in last) / done[1]
