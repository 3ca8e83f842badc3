"""Adds up what the engine's samples tell of a stretch of a host test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.host_test import HostSample, ThreadTotals
from loadstone.sysbench.figures import Spread, Stretch

# A second is over when no more than this is missing: times are rounded on their way.
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
    """At work when it ended."""

    waiting: int = 0
    """With `--rate`: events that were due then, and no thread had taken."""

    def add(self, sample: HostSample, values_ns: Mapping[int, int]) -> None:
        """Take in an interval of the engine's, and its latencies."""
        done = sample.done
        self.events += done.events
        self.reads += done.reads
        self.writes += done.writes
        self.syncs += done.syncs
        self.bytes_read += done.bytes_read
        self.bytes_written += done.bytes_written
        self.latency.add(sample.latency_ns)
        self.values_ns.update(values_ns)
        self.threads, self.waiting = sample.threads, sample.waiting or 0

    @property
    def second(self) -> int:
        """The last whole second that is over."""
        return int(self.to_s + _ON_THE_SECOND_S)

    @property
    def concurrency(self) -> int:
        """How many events were under way, as the mean of the stretch (Little's law).

        Where events wait, each thread has one.
        """
        if self.waiting or self.seconds <= 0:
            return self.threads
        return min(round(self.latency.sum_ns / 1e9 / self.seconds), self.threads)


@dataclass(frozen=True)
class OfThreads:
    """How events, and the seconds that they took, are spread over the threads."""

    events: Spread
    busy_s: Spread

    @classmethod
    def of(cls, ended: Sequence[ThreadTotals], threads: int) -> OfThreads:
        """Of what each did from begin to end."""
        return cls(
            Spread.of((one.events for one in ended), threads),
            Spread.of((one.latency_ns / 1e9 for one in ended), threads),
        )

    @classmethod
    def unknown(cls, figures: HostFigures, threads: int) -> OfThreads:
        """Of a stretch: what each thread did is told at the end alone, so only means are known."""
        deviation = 0.0 if threads == 1 else math.nan
        return cls(
            Spread(figures.events / threads, deviation),
            Spread(figures.latency.sum_ns / 1e9 / threads, deviation),
        )
