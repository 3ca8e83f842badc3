"""Adds up a step's samples in one pass, those inside the window separately from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.model.error_codes import order
from loadstone.model.records import (
    Counts,
    IdleCounts,
    LatencyNs,
    MemberCounts,
    MemberSample,
    Sample,
    TargetCounts,
)
from loadstone.model.result import Window
from loadstone.runs.generators import GeneratorSums
from loadstone.runs.steplog import in_window

_QUANTILES = ("p50", "p90", "p95", "p99", "p999")


@dataclass
class ExactLatency:
    """The parts of a latency that are exact without its histogram: count, extremes, mean."""

    count: int = 0
    above_range: int = 0
    sum_ns: float = 0.0
    min_ns: int | None = None
    max_ns: int | None = None

    def add(self, interval: LatencyNs) -> None:
        """Add another interval."""
        if not interval.count or interval.min is None or interval.max is None:
            return
        self.count += interval.count
        self.above_range += interval.above_range
        self.sum_ns += (interval.mean or 0.0) * interval.count
        self.min_ns = interval.min if self.min_ns is None else min(self.min_ns, interval.min)
        self.max_ns = interval.max if self.max_ns is None else max(self.max_ns, interval.max)

    def with_quantiles_of(self, merged: LatencyNs) -> LatencyNs:
        """The merged histogram's quantiles, with the exact values for everything else.

        The histogram gives a bucket's upper end, which may be above the greatest value in it.
        """
        if not self.count or self.min_ns is None or self.max_ns is None:
            return merged
        least, most = self.min_ns, self.max_ns
        quantiles = merged.model_dump(include=set(_QUANTILES), exclude_none=True)
        return merged.model_copy(
            update={name: min(max(value, least), most) for name, value in quantiles.items()}
            | {
                "count": self.count,
                "min": self.min_ns,
                "max": self.max_ns,
                "mean": self.sum_ns / self.count,
                "above_range": self.above_range,
            }
        )


@dataclass
class MemberSums:
    """Sums of one workload of a mix over the window."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    response: ExactLatency = field(default_factory=ExactLatency)
    service: ExactLatency = field(default_factory=ExactLatency)
    last: MemberSample | None = None

    @property
    def total(self) -> MemberCounts:
        """All counts."""
        return MemberCounts(**self.counts)

    def add(self, sample: MemberSample) -> None:
        """Add its part of another second."""
        self.counts.update(sample.counts.model_dump())
        self.errors.update(sample.errors)
        self.response.add(sample.latency_ns.response)
        self.service.add(sample.latency_ns.service)
        self.last = sample


@dataclass
class Sums:
    """Sums over the window, unless the name says otherwise."""

    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    errors_outside: Counter[str] = field(default_factory=Counter)
    connect_failures_anywhere: Counter[str] = field(default_factory=Counter)
    response: ExactLatency = field(default_factory=ExactLatency)
    service: ExactLatency = field(default_factory=ExactLatency)
    targets: list[Counter[str]] = field(default_factory=list)
    target_failures_anywhere: Counter[int] = field(default_factory=Counter)
    rates: list[float] = field(default_factory=list)
    """Events a second, of each second; a last piece shorter than half a second is left out."""
    due_rates: list[float] = field(default_factory=list)
    """Events a second that became due in each of these seconds."""
    spans: list[tuple[float, float]] = field(default_factory=list)
    """Start and end of each of these seconds."""
    cpu_us: int = 0
    run_delay_us: int | None = None
    generators: dict[int, GeneratorSums] = field(default_factory=dict)
    members: dict[str, MemberSums] = field(default_factory=dict)
    """By name, in the plan's order."""
    idle_anywhere: Counter[str] = field(default_factory=Counter)
    last: Sample | None = None

    @property
    def total(self) -> Counts:
        """All counts."""
        return Counts(**self.counts)

    def add_inside(self, sample: Sample) -> None:
        """Add a second of the window."""
        self.seconds += sample.seconds
        if sample.seconds > 0.5:
            self.rates.append(sample.counts.events / sample.seconds)
            self.due_rates.append(sample.counts.due / sample.seconds)
            self.spans.append((sample.from_s, sample.to_s))
        self.counts.update(sample.counts.model_dump())
        self.errors.update(sample.errors)
        self.response.add(sample.latency_ns.response)
        self.service.add(sample.latency_ns.service)
        self.cpu_us += sample.generator.cpu_us
        if sample.generator.run_delay_us is not None:
            self.run_delay_us = (self.run_delay_us or 0) + sample.generator.run_delay_us
        for part in sample.generators:
            self.generators.setdefault(part.number, GeneratorSums()).add(part, sample.seconds)
        for member in sample.members:
            self.members.setdefault(member.name, MemberSums()).add(member)
        self.last = sample
        while len(self.targets) < len(sample.targets):
            self.targets.append(Counter())
        for summed, target in zip(self.targets, sample.targets, strict=False):
            summed.update(target.model_dump(include={"events", "queries", "errors"}))

    def add_anywhere(self, sample: Sample) -> None:
        """Add what is counted in any second of the step, inside the window or not."""
        self.connect_failures_anywhere.update(sample.connect_failures)
        if sample.idle:
            self.idle_anywhere.update(sample.idle.model_dump(exclude={"open"}))
        for index, target in enumerate(sample.targets):
            self.target_failures_anywhere[index] += target.connect_failures

    def target(self, index: int) -> TargetCounts:
        """The sums of one target."""
        summed = self.targets[index] if index < len(self.targets) else Counter[str]()
        last = self.last.targets if self.last else ()
        return TargetCounts(
            **summed,
            connect_failures=self.target_failures_anywhere[index],
            users=last[index].users if index < len(last) else 0,
        )

    @property
    def idle(self) -> IdleCounts | None:
        """Idle connections: open at the window's end; lost and opened over the whole step."""
        last = self.last.idle if self.last else None
        return last and IdleCounts(open=last.open, **self.idle_anywhere)


def by_number(counted: Mapping[str, int]) -> dict[str, int]:
    """Counts by code, with numeric codes in numeric order."""
    return dict(sorted(counted.items(), key=lambda item: order(item[0])))


def add_up(samples: Iterable[Sample], window: Window | None) -> Sums:
    """Add up all samples of a step in one pass."""
    sums = Sums()
    for sample in samples:
        sums.add_anywhere(sample)
        if in_window(sample, window):
            sums.add_inside(sample)
        else:
            sums.errors_outside.update(sample.errors)
    return sums


def add_up_each(samples: Iterable[Sample], windows: Sequence[Window]) -> list[Sums]:
    """Add up all samples of a step in one pass, for windows that do not overlap."""
    all_sums = [Sums() for _ in windows]
    for sample in samples:
        for sums, window in zip(all_sums, windows, strict=True):
            if in_window(sample, window):
                sums.add_inside(sample)
    return all_sums
