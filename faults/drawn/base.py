"""What a fault is drawn onto: a workload, its users, and whether commits are durable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faults.case import Draw, Load
from faults.ground import RELAXED

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
_SMALL_POOL = {"innodb_buffer_pool_size": str(8 << 20), "innodb_flush_method": "O_DIRECT"}
"""Holds a third of the data, and reads around the page cache: only then a disk is read."""


@dataclass(frozen=True)
class Base:
    """A server and its load, in which nothing is wrong yet."""

    load: Load
    settings: Mapping[str, str]

    @property
    def reads_disk(self) -> bool:
        """Whether its pool is smaller than its data."""
        return "innodb_buffer_pool_size" in self.settings

    @property
    def words(self) -> str:
        """For people."""
        durable = "relaxed" if RELAXED.items() <= self.settings.items() else "durable"
        pool = ", small pool" if self.reads_disk else ""
        return f"{self.load.workload}, {self.load.ladder[0]} users, {durable}{pool}"


def draw_base(draw: Draw, *, reads_disk: bool = False, snapshots: bool = True) -> Base:
    """One level of users: with and without the fault it must be the same."""
    fitting = [name for name in _WORKLOADS if snapshots or name not in _WITH_SNAPSHOTS]
    load = Load(draw.of_these(*fitting), (draw.between(*_USERS),))
    durable = draw.chance.random() < 0.5
    settings = {**({} if durable else RELAXED), **(_SMALL_POOL if reads_disk else {})}
    return Base(load, settings)
