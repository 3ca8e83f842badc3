"""Full-page images: the first change of a page after a checkpoint logs the page as a whole.

Source: https://www.postgresql.org/docs/current/wal-configuration.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.rules.postgresql.page_reads import page_bytes
from loadstone.model.account import Place
from loadstone.model.figure import Bytes, Percent
from loadstone.model.message import Message, say

IMAGE_CPU_S = 10e-6
"""[P] The server's CPU for an image: it is copied, checksummed, and written with the log. Measured
with PostgreSQL 15 in three pairs of runs of oltp_write_only (max_wal_size of 32MB and 8GB): 328 µs
of the users' CPU per event with 4.7 images, and 280 µs without.
"""

PGLZ_CPU_S = 350e-6
"""[P] What compressing an image by pglz takes in addition (wal_compression=on). Measured with
PostgreSQL 15 in two pairs of runs of oltp_update_non_index (eight users, max_wal_size=32MB): 78 and
80 µs of the server's CPU per event rather than 57 and 59, with 0.053 and 0.058 images.
"""

MATTERS = 0.05
"""[P] Share of the users' time from which images, or checkpoints, count.

Bytes alone are no cost: a log with 17 times as many (94 % images) made oltp_update_non_index no
slower on a solid-state disk.
"""

LEAST_BUSY = 0.1
"""[P] Part of a second below which the clock of a disk's busy time is too coarse to divide by."""

COUNTER = "pg_stat_wal.wal_fpi"
BYTES = "pg_stat_wal.wal_bytes"
_WRITTEN = ("pg_stat_bgwriter.buffers_checkpoint", "pg_stat_checkpointer.buffers_written")
_REQUESTED = ("pg_stat_bgwriter.checkpoints_req", "pg_stat_checkpointer.num_requested")
_TIMED = ("pg_stat_bgwriter.checkpoints_timed", "pg_stat_checkpointer.num_timed")


class Images(NamedTuple):
    """Full-page images in the write-ahead log."""

    per_s: float
    wal_bytes: float
    """All bytes of the log, a second."""
    bytes_per_s: float

    @property
    def part(self) -> float:
        """Of the log's bytes, 0 to 1."""
        return self.bytes_per_s / self.wal_bytes if self.wal_bytes else 0.0


def images(case: Case) -> Images | None:
    """The images; `None`: not counted, as before version 14.

    Compressed ones, and those of pages with a hole, are smaller than a page: of these no more bytes
    are known than the log has.
    """
    per_s, total = case.rate(COUNTER), case.rate(BYTES)
    if per_s is None or total is None:
        return None
    return Images(per_s, total, min(per_s * page_bytes(case), total))


def is_slow_code(case: Case) -> bool:
    """Whether images are compressed by the one method that all versions have."""
    return case.variable("wal_compression") in ("on", "pglz")


def said(case: Case, found: Images) -> Message:
    """A sentence: the log of a commit, and how much of it are images."""
    return say(
        "After a checkpoint the first change of a page logs the whole page, which makes {part} of "
        "the {bytes} of WAL per commit.",
        part=Percent(found.part),
        bytes=Bytes(found.wal_bytes / (case.commits() or case.tps)),
    )


def checkpoints_by_size(case: Case) -> float | None:
    """Checkpoints in the step that were asked for, as by the size of the log; `None`: unknown."""
    return _first(_REQUESTED, case.total)


def asked_for(case: Case) -> float | None:
    """The same, a second of the window."""
    return _first(_REQUESTED, case.rate)


def timed(case: Case) -> float:
    """Checkpoints that checkpoint_timeout brought, a second; 0: not counted."""
    return _first(_TIMED, case.rate) or 0.0


class Work(NamedTuple):
    """Images and pages that are written, a second."""

    images: float
    bytes_per_s: float
    """Of these images."""
    pages: float = 0.0
    """Written by checkpoints."""


def work_of(found: Images) -> Work:
    """All images, without what checkpoints write."""
    return Work(found.per_s, found.bytes_per_s)


def pages_of_checkpoints(case: Case) -> float:
    """Pages that checkpoints write, a second; 0: not counted."""
    return _first(_WRITTEN, case.rate) or 0.0


def parts(case: Case, work: Work) -> Mapping[Place, float]:
    """By place, the part of the users' time there that this work takes.

    CPU by the number of images. Of the wait for the log's syncs the part in which the disk is busy
    with it: who comes at a random moment finds it so (PASTA). Empty without an account.
    """
    if case.step.account is None:
        return {}
    each_s = IMAGE_CPU_S + (PGLZ_CPU_S if is_slow_code(case) else 0.0)
    on_cores = parts_of_work(case, work.images * each_s)
    at_disk = min(_transfer(case, work.bytes_per_s) + _busy_with(case, work.pages), 1.0)
    return {**on_cores, "log sync": at_disk, "commit": at_disk}


def _transfer(case: Case, bytes_per_s: float) -> float:
    """The part of the time in which the disk takes so many bytes more in writes that it has anyway.

    Images are in the writes of the log that commits make: they make these longer, not more. A disk
    takes bytes at least as quickly as in the second in which it took the most for its busy time.
    """
    busy, written = case.host("disk_busy"), case.host("disk_write_bytes_per_s")
    if not busy or not written:
        return 0.0
    return bytes_per_s / max(written / min(busy, 1.0), _quickest(case))


def _quickest(case: Case) -> float:
    """Bytes that the disk took in a busy second, in the second in which these were the most."""
    host = case.step.host
    disk = host.disk if host else None
    taken = case.series("host", f"disk.{disk}.written_bytes")
    busy = dict(case.series("host", f"disk.{disk}.io_s") or ())
    rates = (value / busy[at] for at, value in taken or () if busy.get(at, 0.0) >= LEAST_BUSY)
    return max(rates, default=0.0)


def _busy_with(case: Case, pages: float) -> float:
    """The part of the time in which the disk writes these pages, as one write takes like another.

    Neighbours are merged to one write: then the pages are no more than all writes.
    """
    busy, writes = case.host("disk_busy"), case.host("disk_write_iops")
    return min(pages / writes, 1.0) * min(busy, 1.0) if busy and writes else 0.0


def _first(names: tuple[str, ...], of: Callable[[str], float | None]) -> float | None:
    """The first of these figures that the server has."""
    return next((value for value in map(of, names) if value is not None), None)
