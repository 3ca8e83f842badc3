"""The machines of a cluster, a row each: whether one was the limit, how far its clock was off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say, say_in
from loadstone.model.numbers import NOTHING, count, digits, pct, rate
from loadstone.model.result import GeneratorShare, StepResult
from loadstone.report.table import Column, Table

Rows = dict[tuple[int, str], list[GeneratorShare]]


def generators_table(steps: Sequence[StepResult], words: Language = ENGLISH) -> Table | None:
    """A row for each generator with its worst of all steps; `None` where one machine drove.

    The clock is that of the last step: it is read again before each.
    """
    rows: Rows = {}
    for step in steps:
        for one in step.generators:
            rows.setdefault((one.number, one.node), []).append(one)
    if not rows:
        return None
    name, *figures = (words(head) for head in _HEADS)
    columns = (Column(name, is_text=True, folds=False), *map(Column, figures))
    return Table(columns, tuple(_row(found, words) for _, found in sorted(rows.items())))


def _row(found: Sequence[GeneratorShare], words: Language) -> tuple[str, ...]:
    saturated = sum(one.saturated is True for one in found)
    name = f"{found[0].number} {found[0].node}"
    steps = words(say("{part} of {whole}", part=saturated, whole=len(found)))
    return (name, *figures_of(found), steps)


_HEADS = (
    say_in("generators head", "generator"),
    say("users"),
    say_in("generators head", "events"),
    say("CPU"),
    say("late µs\np99"),
    say("host\nCPU"),
    say("MB/s\nin"),
    say("MB/s\nout"),
    say("of\nline"),
    say("clock off\nby µs"),
    say("seconds\nlost"),
    say("steps\nsaturated"),
)


def name_of(one: GeneratorShare) -> str:
    """`0 10.0.0.1`, with a mark where it was saturated."""
    return f"{one.number} {one.node}{' !' if one.saturated else ''}"


def figures_of(found: Sequence[GeneratorShare]) -> Iterator[str]:
    """One machine in one step or several: users, events, CPU, lateness, host, line, clock."""
    yield count(max(one.users for one in found))
    yield count(sum(one.events for one in found))
    yield pct(_worst(found, lambda one: one.cpu_share))
    yield rate(_worst(found, lambda one: one.dispatch_p99_us))
    yield pct(_worst(found, lambda one: one.host_cpu_share))
    yield _megabytes(_worst(found, lambda one: one.net_bytes_in_per_s))
    yield _megabytes(_worst(found, lambda one: one.net_bytes_out_per_s))
    yield pct(_worst(found, lambda one: one.net_line_share))
    yield _clock(found[-1])
    yield digits(sum(one.seconds_lost for one in found))


def _clock(one: GeneratorShare) -> str:
    """`+120 ± 450`: against the head's, and its largest possible error."""
    if one.clock_offset_us is None or one.clock_bound_us is None:
        return NOTHING
    return f"{one.clock_offset_us:+,.0f} ± {one.clock_bound_us:,.0f}"


def _worst(
    found: Sequence[GeneratorShare], figure: Callable[[GeneratorShare], float | None]
) -> float | None:
    return max((value for one in found if (value := figure(one)) is not None), default=None)


def _megabytes(bytes_per_s: float | None) -> str:
    return NOTHING if bytes_per_s is None else digits(bytes_per_s / 1e6)
