"""The table of steps, which the terminal shows while a run goes on and the text after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loadstone.analyse.ladder import Level, middle_step
from loadstone.model.asked_rate import asked
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say
from loadstone.model.numbers import NOTHING, count, digits, rate
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.report.marks import marked, marked_level
from loadstone.report.table import Column


@dataclass(frozen=True)
class Figure:
    """A head with its unit, and the figure of a step below it."""

    head: Message
    cell: Callable[[StepResult], str]


def _errors_a_second(step: StepResult) -> str:
    return rate(sum(step.errors.values()) / step.seconds) if step.seconds else NOTHING


def _tps(step: StepResult) -> str:
    return rate(step.tps) + marked(step)


ASKED = say("rate\n/s")
INTERVAL = say("±\n95 %")
"""Heads of columns that some tables have."""

FIGURES: tuple[Figure, ...] = (
    Figure(say("qps"), lambda step: rate(step.qps)),
    Figure(say("p50\nms"), lambda step: str(step.latency.response.figure("p50"))),
    Figure(say("p95\nms"), lambda step: str(step.latency.response.figure("p95"))),
    Figure(say("p99\nms"), lambda step: str(step.latency.response.figure("p99"))),
    Figure(say("max\nms"), lambda step: _longest(step)),
    Figure(say("errors\n/s"), _errors_a_second),
    Figure(say("recon-\nnects"), lambda step: count(step.reconnects)),
    Figure(say("client\nµs/query"), lambda step: rate(step.generator.cpu_us_per_query)),
)
"""The columns after users and rate."""


def step_columns(
    *, repeats: bool, rates: bool = False, words: Language = ENGLISH
) -> tuple[Column, ...]:
    """The heads; `repeats` adds the interval of the mean, `rates` the requested rate."""
    heads = [say("users")]
    heads += [ASKED] if rates else []
    heads.append(say("tps"))
    heads += [INTERVAL] if repeats else []
    heads += [figure.head for figure in FIGURES]
    return tuple(Column(words(head), least=5) for head in heads)


def due_cells(wanted: Rate | None, *, rates: bool, words: Language) -> list[str]:
    """The requested rate of an open loop, in a table with that column."""
    if not rates:
        return []
    return [words(asked(wanted)) if wanted else NOTHING]


def step_cells(step: StepResult, *, rates: bool = False, words: Language = ENGLISH) -> list[str]:
    """One step's row, without the interval."""
    due = due_cells(step.rate, rates=rates, words=words)
    cells = [column.cell(step) for column in FIGURES]
    return [count(step.concurrency), *due, _tps(step), *cells]


def level_rows(
    level: Level, *, repeats: bool, rates: bool = False, words: Language = ENGLISH
) -> list[list[str]]:
    """A level's row: its only step, or the mean rates of its repeats and the middle one's rest."""
    if not repeats:
        return [step_cells(step, rates=rates, words=words) for step in level.steps]
    middle = middle_step(level.steps)
    mean = level.tps
    cells = step_cells(middle, rates=rates, words=words)
    at = 2 if rates else 1
    if mean is not None:
        cells[at] = digits(mean.mean) + marked_level(level)
    half = mean.of_a_rate if mean else None
    cells[at + 1] = rate(level.qps)
    cells.insert(at + 1, NOTHING if half is None else digits(half))
    return [cells]


def _longest(step: StepResult) -> str:
    latency = step.latency.response
    return str(latency.figure("max")) + ("+" if latency.above_range else "")
