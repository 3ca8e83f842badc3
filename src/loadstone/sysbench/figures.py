"""Adds up the engine's samples over a stretch of the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loadstone import engine
from loadstone.model.records import MemberCounts, Sample, Share
from loadstone.runs import hlog
from loadstone.runs.aggregates import ExactLatency


@dataclass
class OfThread:
    """The events of one thread; times are their latencies."""

    events: int = 0
    busy_s: float = 0.0
    min_s: float = math.inf
    max_s: float = 0.0

    def add(self, share: Share) -> None:
        """Add an interval."""
        self.events += share.events
        self.busy_s += share.busy_ns / 1e9
        self.min_s = min(self.min_s, share.min_ns / 1e9)
        self.max_s = max(self.max_s, share.max_ns / 1e9)


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over all threads."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, found: Iterable[float], threads: int) -> Spread:
        """The spread of these values; threads that are missing from them count as zero."""
        numbers = list(found)
        mean = sum(numbers) / threads
        squares = sum((number - mean) ** 2 for number in numbers)
        squares += (threads - len(numbers)) * mean**2
        return cls(mean, math.sqrt(squares / threads))


@dataclass
class Stretch:
    """A stretch of a run, from one report to the next. Times count from the start of the window."""

    from_s: float = 0.0
    to_s: float = 0.0
    events: int = 0
    latency: ExactLatency = field(default_factory=ExactLatency)
    values_ns: Counter[int] = field(default_factory=Counter)
    """How often each latency occurred, to three digits."""

    by_thread: dict[int, OfThread] = field(default_factory=dict)
    """The threads that had events."""

    @property
    def seconds(self) -> float:
        """The duration."""
        return self.to_s - self.from_s

    def rate(self, count: float) -> float:
        """A count as a rate per second."""
        return count / self.seconds if self.seconds > 0 else 0.0

    def add_shares(self, shares: Iterable[Share]) -> None:
        """Add what each thread did in an interval."""
        for share in shares:
            self.by_thread.setdefault(share.number, OfThread()).add(share)

    def percentile_ms(self, percentile: int) -> float:
        """The percentile of the latencies; 0 without events."""
        rank = max(math.ceil(percentile / 100 * self.values_ns.total()), 1)
        for value_ns, count in sorted(self.values_ns.items()):
            rank -= count
            if rank <= 0:
                return value_ns / 1e6
        return 0.0


@dataclass
class Figures(Stretch):
    """A stretch of a test of a server."""

    reads: int = 0
    writes: int = 0
    other: int = 0
    errors: int = 0
    reconnects: int = 0

    def add(self, sample: Sample, values_ns: Mapping[int, int]) -> None:
        """Add an interval of the engine's, and its latencies."""
        counts = sample.counts
        self.events += counts.events
        self.reads += counts.reads
        self.writes += counts.writes
        self.other += counts.other
        self.errors += sum(sample.errors.values())
        self.reconnects += counts.reconnects
        self.latency.add(sample.latency_ns.response)
        self.values_ns.update(values_ns)
        self.add_shares(sample.per_user)

    def add_before(self, counts: MemberCounts | engine.ScriptCounts) -> None:
        """Add the statements that scripts sent before the first interval."""
        self.reads += counts.reads
        self.writes += counts.writes
        self.other += counts.other

    @property
    def queries(self) -> int:
        """The number of all statements."""
        return self.reads + self.writes + self.other

    def all_as_other(self) -> None:
        """Count all statements as other: without answers, none is a read or a write."""
        self.other, self.reads, self.writes = self.queries, 0, 0


def values_of(lines: Iterable[str]) -> dict[int, int]:
    """The response times in the lines of a latency log: how often each occurred."""
    wanted = [line for line in lines if _is_response(line)]
    if not wanted:
        return {}
    found: Counter[int] = Counter()
    for counts in engine.hlog_counts(wanted).values():
        for value_ns, count in counts:
            found[value_ns] += count
    return found


def _is_response(line: str) -> bool:
    """Whether a line has response times; those above the histogram's range have their own line."""
    return hlog.meaning_of(hlog.tag_of(line)).partition("!")[0] == "response"
