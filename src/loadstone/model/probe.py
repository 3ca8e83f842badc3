"""A disk's measured capacity: the limits from which ceilings are computed."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from loadstone.model.ceilings import Limits
from loadstone.model.frozen import Frozen


def _said(text: str) -> Any:
    return Field(description=text)


class DiskProbe(Frozen):
    """The disk of one file system, probed in one of its folders."""

    made_at: str = _said("UTC, ISO 8601")
    machine: str = _said("what it holds for: processor, cores, kernel")
    device: str = _said("major and minor number of the file system's device")
    folder: str = _said("where the probe's files were")
    seconds: float = _said("of each measurement")
    syncs_per_s: float = _said("one writer: 4 KiB appended and synchronised, again and again")
    syncs_per_s_parallel: float = _said("the same by four writers, each with a file of its own")
    flushes_per_sync: float | None = _said("flushes that the device was sent by one sync")
    write_iops: float = _said("16 KiB written at random places past the page cache, 16 at a time")
    read_iops: float = _said("the same, read")
    write_bytes_per_s: float = _said("1 MiB written one after the other past the page cache")

    @property
    def limits(self) -> Limits:
        """The probe's figures as limits for ceilings."""
        # A server with a redo log and a binary log has up to two syncs in flight.
        syncs = max(self.syncs_per_s, self.syncs_per_s_parallel)
        return Limits(
            syncs_per_s=syncs,
            # A device with a safe cache gets no flushes: then there is no such limit.
            flushes_per_s=syncs * self.flushes_per_sync if self.flushes_per_sync else None,
            disk_write_iops=self.write_iops,
            disk_read_iops=self.read_iops,
            disk_write_bytes_per_s=self.write_bytes_per_s,
        )
