"""Merges an interval of several generators by adding counters and histograms, without averages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from loadstone.engine import SummedLines
from loadstone.model.pgbench import CommandFigures
from loadstone.model.records import (
    Connected,
    Counts,
    GeneratorPart,
    GeneratorUse,
    IdleCounts,
    Latencies,
    LatencyNs,
    MemberCounts,
    MemberSample,
    Pause,
    Sample,
    Tally,
    TargetCounts,
)
from loadstone.runs.aggregates import ExactLatency

C = TypeVar("C", bound=MemberCounts)

SumLines = Callable[[Iterable[str]], SummedLines]
"""Adds up the lines of an interval log by tag: `engine.sum_hlog`."""


def merge_samples(
    parts: Mapping[int, Sample],
    details: Mapping[int, GeneratorPart],
    tally: Tally,
    of_mix: Mapping[str, Tally],
    sum_lines: SumLines,
) -> Sample:
    """Merge one interval of all generators.

    Args:
        parts: the interval of each generator, by its number; at least one.
        details: what is kept of each generator in addition to the sum.
        tally: of all generators, as it is cumulative and some may have no such interval.
        of_mix: the same for each workload of a mix, by its name.
        sum_lines: see `SumLines`.
    """
    samples = [parts[number] for number in sorted(parts)]
    summed = sum_lines(line for sample in samples for line in sample.hlog)
    by_name = {tag.rpartition("/")[2]: latency for tag, latency in summed.latency.items()}
    return Sample(
        phase=samples[0].phase,
        from_s=min(sample.from_s for sample in samples),
        to_s=max(sample.to_s for sample in samples),
        tally=tally,
        counts=_sum_counts(Counts, [sample.counts for sample in samples]),
        errors=_sum_numbers(sample.errors for sample in samples),
        connect_failures=_sum_numbers(sample.connect_failures for sample in samples),
        users=sum(sample.users for sample in samples),
        targets=_sum_targets([sample.targets for sample in samples]),
        idle=_sum_idle([sample.idle for sample in samples if sample.idle]),
        per_user=tuple(sorted(share for sample in samples for share in sample.per_user)),
        pauses=tuple(sorted((each for sample in samples for each in sample.pauses), key=_begin)),
        members=tuple(_sum_member(name, of_mix[name], samples, by_name) for name in of_mix),
        ledger=tuple(sorted(each for sample in samples for each in sample.ledger)),
        commands=_sum_commands(samples),
        event_log=tuple(each for sample in samples for each in sample.event_log),
        latency_ns=Latencies(
            response=_latency([each.latency_ns.response for each in samples], by_name, "response"),
            service=_latency([each.latency_ns.service for each in samples], by_name, "service"),
        ),
        generator=_sum_use([sample.generator for sample in samples], by_name),
        generators=tuple(details[number] for number in sorted(parts)),
        hlog=summed.lines,
    )


def _sum_member(
    name: str, tally: Tally, samples: Sequence[Sample], merged: Mapping[str, LatencyNs]
) -> MemberSample:
    """Merge the samples of one workload of a mix."""
    parts = [one for sample in samples for one in sample.members if one.name == name]

    def latency(kind: str) -> LatencyNs:
        of_kind = [getattr(part.latency_ns, kind) for part in parts]
        return _latency(of_kind, merged, f"{kind}-of-{name}")

    return MemberSample(
        name=name,
        tally=tally,
        counts=_sum_counts(MemberCounts, [one.counts for one in parts]),
        errors=_sum_numbers(part.errors for part in parts),
        latency_ns=Latencies(response=latency("response"), service=latency("service")),
    )


def _sum_commands(samples: Sequence[Sample]) -> tuple[CommandFigures, ...]:
    summed: dict[tuple[int, int], list[int]] = {}
    for member, command, *figures in (each for sample in samples for each in sample.commands):
        known = summed.setdefault((member, command), [0] * len(figures))
        summed[member, command] = [a + b for a, b in zip(known, figures, strict=True)]
    return tuple(CommandFigures(*key, *summed[key]) for key in sorted(summed))


def _begin(pause: Pause) -> tuple[float, int]:
    return pause.from_s, pause.user


def merge_connected(parts: Sequence[Connected]) -> Connected:
    """Merge the records of all generators; the last one connected determines the time."""
    first = parts[0]
    encrypted = next((part.tls for part in parts if part.tls), None)
    why_in_clear = next((part.why_in_clear for part in parts if part.why_in_clear), None)
    refused = next((part.refused_over_tls for part in parts if part.refused_over_tls), None)
    compressed = next((part.compression for part in parts if part.compression), None)
    return Connected(
        seconds=max(part.seconds for part in parts),
        users=sum(part.users for part in parts),
        idle=sum(part.idle for part in parts),
        encrypted_users=sum(part.encrypted_users for part in parts),
        tls=encrypted,
        why_in_clear=why_in_clear,
        refused_over_tls=refused,
        compressed_users=sum(part.compressed_users for part in parts),
        compression=compressed,
        server_version=first.server_version,
        connect_failures=_sum_numbers(part.connect_failures for part in parts),
        before=_sum_counts(MemberCounts, [part.before for part in parts]),
    )


def sum_tallies(tallies: Iterable[Tally]) -> Tally:
    """Add up each term, so that the laws hold for the sum where they hold for the parts."""
    total = Counter[str]()
    for tally in tallies:
        total.update(tally.model_dump())
    return Tally(**{name: total[name] for name in Tally.model_fields})


def _sum_counts(kind: type[C], counts: Sequence[C]) -> C:
    return kind(**{name: sum(getattr(each, name) for each in counts) for name in kind.model_fields})


def _sum_numbers(counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for each in counted:
        total.update(each)
    return dict(total)


def _sum_targets(targets: Sequence[Sequence[TargetCounts]]) -> tuple[TargetCounts, ...]:
    """Add up by the target's index; a generator with few users may report fewer targets."""
    names = TargetCounts.model_fields
    return tuple(
        TargetCounts(**{name: sum(getattr(each, name) for each in of_target) for name in names})
        for of_target in zip_longest(*targets, fillvalue=TargetCounts())
    )


def _sum_idle(parts: Sequence[IdleCounts]) -> IdleCounts | None:
    if not parts:
        return None
    names = IdleCounts.model_fields
    return IdleCounts(**{name: sum(getattr(each, name) for each in parts) for name in names})


def _latency(parts: Sequence[LatencyNs], merged: Mapping[str, LatencyNs], name: str) -> LatencyNs:
    """Quantiles of the merged histogram; sums that a histogram would round are added exactly."""
    exact = ExactLatency()
    for part in parts:
        exact.add(part)
    return exact.with_quantiles_of(merged.get(name, LatencyNs()))


def _sum_use(uses: Sequence[GeneratorUse], merged: Mapping[str, LatencyNs]) -> GeneratorUse:
    delays = [use.run_delay_us for use in uses if use.run_delay_us is not None]
    nothing = LatencyNs()
    return GeneratorUse(
        cpu_us=sum(use.cpu_us for use in uses),
        wall_us=sum(use.wall_us for use in uses),
        late_ns_p99=merged.get("late", nothing).p99,
        dispatch_ns_p99=merged.get("dispatch", nothing).p99,
        held_ns_p99=merged.get("held", nothing).p99,
        run_delay_us=sum(delays) if delays else None,
        shards=sum(use.shards for use in uses),
    )
