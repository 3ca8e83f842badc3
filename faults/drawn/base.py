"""What a fault is drawn onto: a workload, its users, and whether commits are durable."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from faults.case import Draw, Effect, Load, Proof, Server
from faults.ground import relaxed
from faults.injections import beside_the_load
from faults.scene import Scene

_WITH_SNAPSHOTS = ("oltp_read_write", "oltp_read_only")
"""Their transactions read first, and fail (1412) if a table is another one since then."""

_WORKLOADS = (
    *_WITH_SNAPSHOTS,
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_non_index",
    "oltp_update_index",
    "oltp_insert",
    "select_random_ranges",
    "select_random_points",
)
_USERS = 1, 64
_INNODB = {"innodb_buffer_pool_size": str(8 << 20), "innodb_flush_method": "O_DIRECT"}
_SMALL_POOL: Mapping[Server, Mapping[str, str]] = {
    "mariadb": _INNODB,
    "mysql": _INNODB,
    "postgresql": {"shared_buffers": "8MB"},
}
"""Holds a third of the data, and reads around the page cache: only then a disk is read. PostgreSQL
reads through it, so that it is emptied again and again (`cold_files`)."""

_COLD_AGAIN_S = 0.02


@dataclass(frozen=True)
class Base:
    """A server and its load, in which nothing is wrong yet."""

    load: Load
    settings: Mapping[str, str]
    is_durable: bool
    reads_disk: bool
    """Whether its pool is smaller than its data."""

    @property
    def words(self) -> str:
        """For people."""
        durable = "durable" if self.is_durable else "relaxed"
        pool = ", small pool" if self.reads_disk else ""
        return f"{self.load.workload}, {self.load.ladder[0]} users, {durable}{pool}"


def draw_base(draw: Draw, *, reads_disk: bool = False, snapshots: bool = True) -> Base:
    """One level of users: with and without the fault it must be the same."""
    # On PostgreSQL a transaction may go on where a table was rewritten under it.
    fits = snapshots or draw.server == "postgresql"
    fitting = [name for name in _WORKLOADS if fits or name not in _WITH_SNAPSHOTS]
    load = Load(draw.of_these(*fitting), (draw.between(*_USERS),))
    durable = draw.chance.random() < 0.5
    pool = _SMALL_POOL[draw.server] if reads_disk else {}
    settings = {**({} if durable else relaxed(draw.server)), **pool}
    return Base(load, settings, durable, reads_disk)


@contextmanager
def cold_files(scene: Scene) -> Iterator[Proof]:
    """The kernel keeps none of the data's pages for long, as where memory is short."""
    rounds: list[int] = []

    def forget() -> None:
        while not scene.watch.over.wait(_COLD_AGAIN_S):
            rounds.append(sum(_forget(path) for path in data_files(scene.sandbox.datadir)))

    with beside_the_load(scene, forget) as finished:

        def proof() -> Effect:
            finished()
            return Effect("", bites=bool(rounds))

        yield proof


def data_files(datadir: Path) -> list[Path]:
    """Those of tables that are larger than a few pages; catalogues stay where they are."""
    found = []
    for path in datadir.glob("base/*/*"):
        with suppress(OSError):  # dropped just now
            if path.stat().st_size > 1 << 20:
                found.append(path)
    return found


def _forget(path: Path) -> bool:
    """Drop a file's clean pages from the kernel's cache; returns whether it was there."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)
    return True
