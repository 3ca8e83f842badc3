"""Adds up the engine's samples over a stretch of a host test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.model.host_test import HostSample
from loadstone.sysbench.figures import Stretch

# A second is over when at most this is missing, as times are rounded on their way.
_ON_THE_SECOND_S = 0.001


@dataclass
class HostFigures(Stretch):
    """A stretch of a host test."""

    reads: int = 0
    writes: int = 0
    syncs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    threads: int = 0
    """Threads at work at its end."""

    waiting: int = 0
    """With `--rate`: events due at its end that no thread had taken."""

    in_flight: int = 0
    """With `--rate`: events that threads were processing."""

    def add(self, sample: HostSample, values_ns: Mapping[int, int]) -> None:
        """Add an interval of the engine's, and its latencies."""
        done = sample.done
        self.events += done.events
        self.reads += done.reads
        self.writes += done.writes
        self.syncs += done.syncs
        self.bytes_read += done.bytes_read
        self.bytes_written += done.bytes_written
        self.latency.add(sample.latency_ns)
        self.values_ns.update(values_ns)
        self.add_shares(sample.per_thread)
        self.threads = sample.threads
        self.waiting, self.in_flight = sample.waiting or 0, sample.in_flight or 0

    @property
    def second(self) -> int:
        """The last complete second."""
        return int(self.to_s + _ON_THE_SECOND_S)
