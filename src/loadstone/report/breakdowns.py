"""Tables of a step's parts: the workloads of a mix, phases, and new connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loadstone.analyse.comparison import Row
from loadstone.analyse.ladder import Level, middle_step
from loadstone.model.figure import General
from loadstone.model.language import Language
from loadstone.model.message import say, user_count
from loadstone.model.numbers import NOTHING, count, rate
from loadstone.model.plan import Phase
from loadstone.model.result import (
    LatencyMs,
    MemberResult,
    PhaseResult,
    StepResult,
)
from loadstone.report.table import Column, Table


def titled(
    title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]], *, text: int
) -> Table:
    """A table under a title, with text in its first columns; a terminal breaks heads at commas."""
    columns = (
        Column(head, at < text, head.replace(", ", "\n"), least=None if at < text else 5)
        for at, head in enumerate(heads)
    )
    return Table(tuple(columns), tuple(rows), title)


@dataclass(frozen=True)
class _Label:
    """What distinguishes the steps of a table."""

    head: str
    of: Callable[[StepResult], str]


def breakdowns(ladder: Sequence[Level], words: Language) -> Iterator[Table]:
    """The tables for which a ladder has data; of a level's repeats the middle one is shown."""
    steps = [middle_step(level.steps) for level in ladder]
    users = _Label(words(say("users")), lambda step: count(step.concurrency))
    if any(step.members for step in steps):
        yield _members(steps, users, words)
    for step in steps:
        if step.phases:
            yield _phases([step], None, words)
    if any(step.connects for step in steps):
        yield _connects(steps, words)


def breakdowns_of_variants(rows: Sequence[Row], words: Language) -> Iterator[Table]:
    """The tables of an experiment's variants; of a variant's steps the middle one is shown."""
    steps = [middle_step(row.steps) for row in rows if row.steps]
    variant = _Label(words(say("variant")), lambda step: step.variant)
    if any(step.members for step in steps):
        yield _members(steps, variant, words)
    if any(step.phases for step in steps):
        yield _phases(steps, variant, words)


def _members(steps: Sequence[StepResult], label: _Label, words: Language) -> Table:
    heads = (words(say("workload")), words(say("has")), label.head, *_figure_heads(words))
    rows = tuple(
        (
            _member_name(member, words),
            _has(member, words),
            label.of(step),
            *_figures(member, step.seconds),
        )
        for step in steps
        for member in step.members
    )
    return titled(words(say("Each workload of the mix")), heads, rows, text=2)


def _member_name(member: MemberResult, words: Language) -> str:
    if member.name == member.workload:
        return member.name
    return words(say("{name} ({facts})", name=member.name, facts=member.workload))


def _has(member: MemberResult, words: Language) -> str:
    if member.users is not None:
        return words(user_count(member.users))
    return words(say("weight {weight}", weight=General(member.weight or 0.0)))


def _phases(steps: Sequence[StepResult], label: _Label | None, words: Language) -> Table:
    labels = (label,) if label else ()
    heads = (
        *(one.head for one in labels), words(say("phase")), words(say("seconds")),
        words(say("load")),
        *_figure_heads(words),
    )  # fmt: skip
    rows = tuple(
        (
            *(one.of(step) for one in labels),
            phase.name,
            f"{phase.from_s:.0f}..{phase.to_s:.0f}",
            _load(phase, words),
            *_figures(phase, phase.to_s - phase.from_s),
        )
        for step in steps
        for phase in step.phases
    )
    return titled(words(say("Phase by phase")), heads, rows, text=3 + len(labels))


def _load(phase: PhaseResult, words: Language) -> str:
    asked = Phase(name=phase.name, seconds=1, users=phase.users, rate=phase.rate)
    return str(asked) if phase.rate else words(say("{users} users", users=asked))


def _figure_heads(words: Language) -> tuple[str, ...]:
    quantiles = (
        words(say("p50, ms")),
        words(say("p95, ms")),
        words(say("p99, ms")),
        words(say("max, ms")),
    )
    return (
        words(say("TPS")),
        words(say("QPS")),
        *quantiles,
        words(say("errors/s")),
        words(say("skipped")),
    )


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
    p50, p95, p99, longest = (str(latency.figure(name)) for name in ("p50", "p95", "p99", "max"))
    return (p50, p95, p99, longest + ("+" if latency.above_range else ""))


def _connects(steps: Sequence[StepResult], words: Language) -> Table:
    heads = (
        words(say("users")), words(say("connects, /s")), words(say("p50, ms")),
        words(say("p95, ms")), words(say("p99, ms")),
        words(say("max, ms")), words(say("failed connects")),
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
    return titled(words(say("New connections, and how long opening one took")), heads, rows, text=0)
