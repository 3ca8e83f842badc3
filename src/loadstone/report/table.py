"""The table of steps: the same for the terminal while a run goes on, and for the text after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from loadstone.analyse.ladder import Level, quotable
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.report.numbers import NOTHING, asked, count, digits, rate


@dataclass(frozen=True)
class Column:
    """A head with its unit, and what of a step stands below it."""

    head: str
    cell: Callable[[StepResult], str]


def _errors_a_second(step: StepResult) -> str:
    return rate(sum(step.errors.values()) / step.seconds) if step.seconds else NOTHING


def _tps(step: StepResult) -> str:
    marks = ("" if quotable(step) else "*") + ("!" if step.generator.client_bound else "")
    return rate(step.tps) + marks


FIGURES: tuple[Column, ...] = (
    Column("qps", lambda step: rate(step.qps)),
    Column("p50\nms", lambda step: rate(step.latency.response.p50)),
    Column("p95\nms", lambda step: rate(step.latency.response.p95)),
    Column("p99\nms", lambda step: rate(step.latency.response.p99)),
    Column("max\nms", lambda step: _longest(step)),
    Column("errors\n/s", _errors_a_second),
    Column("recon-\nnects", lambda step: count(step.reconnects)),
    Column("client\nµs/query", lambda step: rate(step.generator.cpu_us_per_query)),
)
"""The columns after users and rate."""


def empty_table(*, repeats: bool, rates: bool = False) -> Table:
    """The heads; `repeats` adds the interval of the mean, `rates` what an open loop asks for."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    heads = ["users", *(["due\n/s"] if rates else []), "tps", *(["±\n95 %"] if repeats else [])]
    for head in heads + [column.head for column in FIGURES]:
        table.add_column(head, justify="right", vertical="bottom", no_wrap=True, min_width=5)
    return table


def due_cells(wanted: Rate | None, *, rates: bool) -> list[str]:
    """What an open loop asks for, in a table that has the column."""
    if not rates:
        return []
    return [asked(wanted) if wanted else NOTHING]


def step_cells(step: StepResult, *, rates: bool = False) -> list[str]:
    """One step's row, without the interval."""
    due = due_cells(step.rate, rates=rates)
    cells = [column.cell(step) for column in FIGURES]
    return [count(step.concurrency), *due, _tps(step), *cells]


def add_level(
    table: Table, level: Level, *, repeats: bool, rates: bool = False, style: str = ""
) -> None:
    """A level's row: its only step, or the mean of its repeats and the middle one's latencies."""
    if not repeats:
        for step in level.steps:
            table.add_row(*step_cells(step, rates=rates), style=style)
        return
    middle = middle_step(level.steps)
    mean = level.tps
    cells = step_cells(middle, rates=rates)
    at = 2 if rates else 1
    if mean is not None:
        cells[at] = digits(mean.mean)
    half = mean.half_width if mean else None
    cells.insert(at + 1, NOTHING if half is None else digits(half))
    table.add_row(*cells, style=style)


def middle_step(steps: Sequence[StepResult]) -> StepResult:
    """The repeat whose rate is the median: percentiles of repeats are never averaged."""
    ordered = sorted(steps, key=lambda step: step.tps or 0.0)
    return ordered[len(ordered) // 2]


def _longest(step: StepResult) -> str:
    latency = step.latency.response
    return rate(latency.max) + ("+" if latency.above_range else "")
