"""Samples of the engine with figures that are easy to add up."""

from __future__ import annotations

from loadstone.model.records import (
    Counts,
    GeneratorUse,
    Latencies,
    LatencyNs,
    Sample,
    Share,
    Tally,
)
from loadstone.sysbench.figures import Figures
from loadstone.sysbench.log import Log
from loadstone.sysbench.settings import Settings, settings_of
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import for_all_tests

MS = 1_000_000


def settings(**given: str) -> Settings:
    return settings_of(Values(for_all_tests(), given), "1.0", Log(0))


def sample(latencies_ms: list[int], users: list[Share] | None = None) -> Sample:
    """A second of `oltp_read_write` with events of these latencies."""
    events = len(latencies_ms)
    tally = Tally(
        due=events, waiting=3, started=events, skipped=0, in_flight=1, succeeded=events, failed=0
    )
    return Sample(
        phase="window",
        from_s=0.0,
        to_s=1.0,
        tally=tally,
        counts=Counts(events=events, reads=14 * events, writes=4 * events, other=2 * events),
        errors={"1213": 1},
        users=2,
        per_user=tuple(users or []),
        latency_ns=Latencies(
            response=LatencyNs(
                count=events,
                min=min(latencies_ms) * MS,
                mean=sum(latencies_ms) * MS / events,
                max=max(latencies_ms) * MS,
            )
        ),
        generator=GeneratorUse(cpu_us=1, wall_us=1_000_000, late_ns_p99=None, shards=1),
    )


def figures(latencies_ms: list[int], seconds: float, users: list[Share]) -> Figures:
    made = Figures(to_s=seconds)
    values: dict[int, int] = {}
    for latency_ms in latencies_ms:
        values[latency_ms * MS] = values.get(latency_ms * MS, 0) + 1
    made.add(sample(latencies_ms, users), values)
    return made
