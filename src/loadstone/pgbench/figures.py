"""Adds up the engine's samples, for the report and for the lines of progress."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loadstone import engine
from loadstone.model.records import MemberCounts, Sample
from loadstone.runs import hlog

SERIALIZATION, DEADLOCK = "40001", "40P01"
"""The SQLSTATEs after which a transaction may be tried again."""


@dataclass
class Times:
    """Times of some kind, from a histogram with three digits."""

    count: int = 0
    sum_ns: float = 0.0
    sum_squares: float = 0.0
    most_ns: int = 0
    above_limit: int = 0

    def add_values(self, values: Iterable[tuple[int, int]], limit_ns: float = math.inf) -> None:
        """Add values in nanoseconds, each with how often it occurred."""
        for value_ns, count in values:
            self.count += count
            self.sum_ns += value_ns * count
            self.sum_squares += value_ns * value_ns * count
            self.most_ns = max(self.most_ns, value_ns)
            self.above_limit += count if value_ns > limit_ns else 0

    @property
    def mean_ms(self) -> float:
        """Their mean; 0 without any."""
        return self.sum_ns / self.count / 1e6 if self.count else 0.0

    @property
    def deviation_ms(self) -> float:
        """Their standard deviation; 0 without any."""
        if not self.count:
            return 0.0
        mean = self.sum_ns / self.count
        return math.sqrt(max(self.sum_squares / self.count - mean * mean, 0.0)) / 1e6


@dataclass
class Sums:
    """What transactions did in a stretch of time; those of an aborted client do not count."""

    succeeded: int = 0
    all_failed: int = 0
    aborted: int = 0
    """Of those that failed, the last ones of clients that were aborted."""
    serialization: int = 0
    deadlock: int = 0
    retried: int = 0
    retries: int = 0
    skipped: int = 0
    latency: Times = field(default_factory=Times)

    def add_counts(self, counts: MemberCounts) -> None:
        """Add an interval."""
        self.succeeded += counts.events
        self.all_failed += counts.failed
        self.retried += counts.retried
        self.retries += counts.restarts
        self.skipped += counts.skipped

    def add_failures(self, errors: Mapping[str, int]) -> None:
        """Add failures by the code of their error."""
        self.serialization += errors.get(SERIALIZATION, 0)
        self.deadlock += errors.get(DEADLOCK, 0)

    @property
    def failed(self) -> int:
        """Transactions that failed, and whose client went on."""
        return max(self.all_failed - self.aborted, 0)

    @property
    def total(self) -> int:
        """All transactions that ended in some way."""
        return self.succeeded + self.failed + self.skipped


@dataclass
class OfCommand:
    """What a command of a script did."""

    count: int = 0
    sum_ns: int = 0
    failed: int = 0
    restarted: int = 0

    @property
    def mean_ms(self) -> float:
        """The mean of its successful executions; 0 without any."""
        return self.sum_ns / self.count / 1e6 if self.count else 0.0


_Part = tuple[Sums, MemberCounts, Mapping[str, int]]


@dataclass(frozen=True)
class Kinds:
    """Which of the engine's figures are those of pgbench."""

    latency: str
    """`response`, from when a transaction was due, or `service`, from when it began."""
    limit_ns: float = math.inf
    members: tuple[str, ...] = ()
    """The names of the workloads of a mix; empty: there is one alone."""
    retries: bool = False
    """Whether an error may be followed by another try, so that it is not always a failure."""


@dataclass
class Figures:
    """All figures of a stretch of the run."""

    kinds: Kinds
    all: Sums = field(default_factory=Sums)
    members: list[Sums] = field(default_factory=list)
    lag: Times = field(default_factory=Times)
    """Open loop: how long after it was due each transaction began."""
    connect: Times = field(default_factory=Times)
    """How long it took to open connections during the run."""
    commands: dict[tuple[int, int], OfCommand] = field(default_factory=dict)
    """By the place of the workload and the number of the command."""

    def __post_init__(self) -> None:
        self.members = [Sums() for _ in self.kinds.members]
        kind = self.kinds.latency
        self._times = {kind: self.all.latency, "late": self.lag, "connect": self.connect} | {
            f"{kind}-of-{name}": sums.latency
            for name, sums in zip(self.kinds.members, self.members, strict=True)
        }

    def add(self, sample: Sample) -> None:
        """Add an interval of the engine's."""
        parts: list[_Part] = [(self.all, sample.counts, sample.errors)]
        parts += [
            (sums, member.counts, member.errors)
            for sums, member in zip(self.members, sample.members, strict=True)
        ]
        for sums, counts, errors in parts:
            sums.add_counts(counts)
            if sample.phase == "drain":  # those that never came to their turn
                sums.skipped -= counts.skipped
            if not self.kinds.retries:
                sums.add_failures(errors)
        self._add_values(sample.hlog)
        for member, command, count, sum_ns, failed, restarted in sample.commands:
            of = self.commands.setdefault((member, command), OfCommand())
            of.count += count
            of.sum_ns += sum_ns
            of.failed += failed
            of.restarted += restarted

    def add_failure(self, member: int, code: str) -> None:
        """Add a transaction that failed after its last try, where errors alone do not tell."""
        for sums in (self.all, *self.members[member : member + 1]):
            sums.add_failures({code: 1})

    def aborted(self, member: int) -> None:
        """A client was aborted: its last transaction is none that failed."""
        for sums in (self.all, *self.members[member : member + 1]):
            sums.aborted += 1

    def _add_values(self, lines: Iterable[str]) -> None:
        wanted = [line for line in lines if _kind_of(hlog.tag_of(line)) in self._times]
        for tag, values in engine.hlog_counts(wanted).items() if wanted else ():
            self._times[_kind_of(tag)].add_values(values, self.kinds.limit_ns)


def _kind_of(tag: str) -> str:
    """The kind of a line's values; those above the histogram's range have their own line."""
    return hlog.meaning_of(tag).partition("!")[0]
