"""Tables of what a step tells apart: workloads of a mix, phases, connections opened anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from loadstone.analyse.ladder import Level
from loadstone.model.plan import Phase
from loadstone.model.result import (
    LatencyMs,
    MemberResult,
    PhaseResult,
    StepResult,
)
from loadstone.report.numbers import NOTHING, count, rate
from loadstone.report.table import middle_step
from loadstone.report.words import Words


@dataclass(frozen=True)
class Apart:
    """A title, and a table with words in its first columns."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    """So many columns at the left hold words."""

    def as_table(self) -> Table:
        """For a terminal."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        for number, head in enumerate(self.heads):
            name = head.replace(", ", "\n")
            if number < self.words:
                table.add_column(name, vertical="bottom", overflow="fold")
            else:
                table.add_column(
                    name, justify="right", vertical="bottom", no_wrap=True, min_width=5
                )
        for row in self.rows:
            table.add_row(*row)
        return table


def tables_apart(ladder: Sequence[Level], words: Words) -> Iterator[Apart]:
    """Those that a ladder has anything for; of repeats the one whose rate is the middle one."""
    steps = [middle_step(level.steps) for level in ladder]
    if any(step.members for step in steps):
        yield _members(steps, words)
    for step in steps:
        if step.phases:
            yield _phases(step, words)
    if any(step.connects for step in steps):
        yield _connects(steps, words)


def _members(steps: Sequence[StepResult], words: Words) -> Apart:
    heads = (words.workload, words.member_has, words.users_axis, *_figure_heads(words))
    rows = tuple(
        (
            member.name if member.name == member.workload else f"{member.name} ({member.workload})",
            _has(member, words),
            count(step.concurrency),
            *_figures(member, step.seconds),
        )
        for step in steps
        for member in step.members
    )
    return Apart(words.members_title, heads, rows, words=2)


def _has(member: MemberResult, words: Words) -> str:
    if member.users is not None:
        return words.users(member.users)
    return words.member_weight.format(weight=f"{member.weight or 0.0:g}")


def _phases(step: StepResult, words: Words) -> Apart:
    heads = (words.phase, words.seconds_head, words.phase_load, *_figure_heads(words))
    rows = tuple(
        (
            phase.name,
            f"{phase.from_s:.0f}..{phase.to_s:.0f}",
            _load(phase, words),
            *_figures(phase, phase.to_s - phase.from_s),
        )
        for phase in step.phases
    )
    return Apart(words.phases_title, heads, rows, words=3)


def _load(phase: PhaseResult, words: Words) -> str:
    asked = Phase(name=phase.name, seconds=1, users=phase.users, rate=phase.rate)
    return str(asked) if phase.rate else words.phase_users.format(users=asked)


def _figure_heads(words: Words) -> tuple[str, ...]:
    quantiles = (words.p50_ms, words.p95_ms, words.p99_ms, words.max_ms)
    return (words.tps, words.qps, *quantiles, words.errors_per_s, words.skipped)


def _figures(of: MemberResult | PhaseResult, seconds: float) -> tuple[str, ...]:
    errors = sum(of.errors.values())
    return (
        rate(of.tps),
        rate(of.qps),
        *_quantiles(of.latency.response),
        rate(errors / seconds) if seconds else NOTHING,
        count(of.skipped),
    )


def _quantiles(latency: LatencyMs) -> tuple[str, ...]:
    longest = rate(latency.max) + ("+" if latency.above_range else "")
    return (rate(latency.p50), rate(latency.p95), rate(latency.p99), longest)


def _connects(steps: Sequence[StepResult], words: Words) -> Apart:
    heads = (
        words.users_axis, words.connects_per_s, words.p50_ms, words.p95_ms, words.p99_ms,
        words.max_ms, words.connect_failures,
    )  # fmt: skip
    rows = tuple(
        (
            count(step.concurrency),
            rate(step.connects / step.seconds) if step.seconds else NOTHING,
            *(_quantiles(step.connect) if step.connect else [NOTHING] * 4),
            count(sum(step.connect_failures.values())),
        )
        for step in steps
    )
    return Apart(words.connects_title, heads, rows, words=0)
