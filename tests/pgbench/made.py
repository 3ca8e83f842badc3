"""Runs and samples with figures that are easy to add up."""

from __future__ import annotations

import math
from typing import Any

from loadstone.model.records import Counts, GeneratorUse, MemberCounts, MemberSample, Sample, Tally
from loadstone.pgbench.cmdline import parse
from loadstone.pgbench.figures import Figures, Kinds
from loadstone.pgbench.settings import Benchmark

MS = 1_000_000


def benchmark(words: str = "") -> Benchmark:
    found = parse(words.split(), {})
    assert isinstance(found, Benchmark)
    return found


def sample(counts: dict[str, int], *members: dict[str, int], **more: Any) -> Sample:
    """A second with these counts, of all and of each member of a mix."""
    settled = Tally(due=0, waiting=0, started=0, skipped=0, in_flight=0, succeeded=0, failed=0)
    fields = {
        "phase": "window",
        "from_s": 0.0,
        "to_s": 1.0,
        "tally": settled,
        "counts": Counts(**counts),
        "users": 1,
        "members": [
            MemberSample(name=f"script-{number}", tally=settled, counts=MemberCounts(**of))
            for number, of in enumerate(members, start=1)
        ],
        "generator": GeneratorUse(cpu_us=1, wall_us=1_000_000, late_ns_p99=None, shards=1),
    }
    return Sample.model_validate(fields | more)


def figures(
    counts: dict[str, int], *members: dict[str, int], limit_ms: float = math.inf, **more: Any
) -> Figures:
    """The figures of such a second."""
    names = tuple(f"script-{number}" for number in range(1, len(members) + 1))
    retries = bool(counts.get("restarts"))
    made = Figures(Kinds("service", limit_ms * MS, names, retries=retries))
    made.add(sample(counts, *members, **more))
    return made
