"""Pages that are not in shared_buffers: how many are read, from where, and what that takes.

The server reads through the kernel's cache. Its counters do not tell whether a page came from there
or from the disk; the bytes that the kernel counts for its processes do.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.postgresql.settings import size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import Holds, priced
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place

COPY_CPU_S = 3e-6
"""[P] The server's CPU for a page from the kernel's cache: the call, the copy of 8 KiB, and the
eviction of another page. Measured with PostgreSQL 15, shared_buffers of 1 MB and point selects on a
busy machine: 2.6 µs (1.73 reads per event, 29.4 compared with 24.9 µs per event) and 6 µs (0.44
reads, 21.0 compared with 18.3 µs).
"""

DISK_CPU_S = 30e-6
"""[P] What a read from the disk takes in addition: the block layer, and a process that sleeps and
wakes up. Measured 31 µs there while the kernel's cache was emptied all the time (1.9 reads per
event, 82 % of their bytes from the disk, 78 µs per event).
"""

_PAGE = 8192.0
"""Bytes of a page, unless the server was compiled with another size."""

_MOST = 0.5
"""More than half."""

_READING = ("io:datafileread", "io:datafileprefetch", "io:slruread", "io:aio", "ipc:bufferio")
"""Waits for pages that are read, whatever the version calls them."""

_SLRU = "io:slruread"
"""Waits for pages that say which transactions are over; they have buffers of their own."""

COUNTER = "pg_stat_database.target.blks_read"
"""In the load's database, by whom ever: VACUUM and other clients read as well."""

_BY_SESSIONS = "pg_stat_io.client.relation.reads"
_BYTES_BY_SESSIONS = "pg_stat_io.client.relation.read_bytes"
_EVICTIONS = "pg_stat_io.client.relation.evictions"
_REUSES = "pg_stat_io.client.relation.reuses"


def page_bytes(case: Case) -> float:
    """The bytes of a page."""
    return case.number("block_size") or _PAGE


def reads(case: Case) -> float | None:
    """Pages a second that were not in shared_buffers, of the load's database and for sessions.

    Those of sessions and their workers are counted apart from 16 on; from 18 on a read may be of
    several pages.
    """
    found, sessions = case.rate(COUNTER), case.rate(_BY_SESSIONS)
    if (read := case.rate(_BYTES_BY_SESSIONS)) is not None:
        sessions = read / page_bytes(case)
    if found is None or sessions is None:
        return found
    return min(found, sessions)


def part_from_disk(case: Case) -> float | None:
    """The part of these pages' bytes that came from the disk, 0 to 1; `None`: not observed."""
    account, found = case.step.account, reads(case)
    moved = account.disks.users.read if account and account.disks else None
    # From 18 on processes of the server's own read for all.
    if moved is None or case.variable("io_method") == "worker":
        moved = case.host_rate("process.read_bytes")
    if moved is None or not found:
        return None
    # The kernel reads ahead, and what is swapped in counts as well.
    return min(moved / (found * page_bytes(case)), 1.0)


def reading_parts(case: Case) -> Mapping[Place, float]:
    """By place, the part of the users' time there in which pages are read.

    Where threads are not looked at, the wait event of a read has its copies as well. Empty without
    an account.
    """
    account, found = case.step.account, reads(case)
    if account is None or found is None:
        return {}
    bytes_read = found * page_bytes(case)
    temporary = case.rate("pg_stat_database.temp_bytes") or 0.0
    waits = bytes_read / (bytes_read + temporary) if bytes_read else 0.0
    waits *= 1.0 - _of_transactions(case)
    if account.view == "sessions":
        return {"disk read": waits}
    each_s = COPY_CPU_S + DISK_CPU_S * (part_from_disk(case) or 0.0)
    return {**parts_of_work(case, found * each_s), "disk read": waits}


def _of_transactions(case: Case) -> float:
    """The part of the reads that sessions wait for which is of pages about transactions."""
    reading = [
        (state.lower(), seen)
        for state, seen in (case.states() or {}).items()
        if state.lower().startswith(_READING)
    ]
    total = sum(seen for _, seen in reading)
    return sum(seen for state, seen in reading if state == _SLRU) / total if total else 0.0


def reading_holds(case: Case) -> Holds | None:
    """What holds the users for as long as pages are read."""
    parts = reading_parts(case)
    return priced(parts) if parts else None


def reading_time(case: Case) -> float | None:
    """The share of the users' time in which pages are read; `None` without an account."""
    parts = reading_parts(case)
    time = time_of(case, parts)
    return time if parts else None


def kept(case: Case) -> float | None:
    """The part of the pages read for which none had to make room, 0 to 1; `None`: not counted.

    The server counts that from 16 on.
    """
    found, evicted = reads(case), case.rate(_EVICTIONS)
    if evicted is None:
        return None
    evicted += case.rate(_REUSES) or 0.0
    return max(1.0 - evicted / found, 0.0) if found else 1.0


def find_room(case: Case) -> bool:
    """Whether for most of the pages read none had to make room, as far as that is counted."""
    return (kept(case) or 0.0) > _MOST


def most_kept(case: Case) -> float | None:
    """The largest part of the pages read that may have stayed in shared_buffers, 0 to 1.

    What is counted; else no more can have stayed than there is room for, whatever was there before.
    `None`: neither is known.
    """
    if (counted := kept(case)) is not None:
        return counted
    size, total = size_of(case.variable("shared_buffers")), case.total(COUNTER)
    if size is None or total is None:
        return None
    return min(size / page_bytes(case) / total, 1.0) if total else 1.0
