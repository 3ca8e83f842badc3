"""The ladders of a run: what belongs into one table and one figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import Level, levels
from loadstone.model.result import StepResult


def ladders_of(steps: Sequence[StepResult]) -> Iterator[list[Level]]:
    """The levels of each variant and workload; in an open loop, the rates of each concurrency."""
    found: dict[tuple[str, str, int | None], list[Level]] = {}
    for level in levels(steps):
        users = level.concurrency if level.rate else None
        found.setdefault((level.variant, level.workload, users), []).append(level)
    yield from found.values()
