"""The extra figures that an experiment asked for, in a table for each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from loadstone.analyse import derived_figures
from loadstone.analyse.comparison import CellTable, Row
from loadstone.analyse.ladder import quotable
from loadstone.model.asked_rate import asked
from loadstone.model.columns import Column as Figure
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say
from loadstone.model.numbers import count, rate
from loadstone.model.result import StepResult
from loadstone.report.lines import Line, spaced
from loadstone.report.step_table import ASKED
from loadstone.report.table import Column, Table

HEADS: dict[Figure, Message] = {
    "binlog_syncs": say("binlog\nsyncs/s"),
    "client_us": say("client\nCPU µs\n/query"),
    "commits": say("write\ncommits/s"),
    "connect_failures": say("connect\nfailures"),
    "connected": say("conn-\nected"),
    "context_switches": say("switches\n/event"),
    "cpu_idle": say("idle\n%"),
    "cpu_sys": say("sys\n%"),
    "cpu_user": say("user\n%"),
    "deadlocks": say("dead-\nlocks/s"),
    "disk_flushes": say("disk\nflushes\n/s"),
    "disk_kb": say("disk KB\n/event"),
    "disk_reads": say("disk\nreads/s"),
    "disk_writes": say("disk\nwrites/s"),
    "encrypted": say("en-\ncrypted %"),
    "errors": say("errors\n/s"),
    "flush_ms": say("flush\nms\n/event"),
    "line_mbit": say("line\nMbit/s"),
    "lock_ms": say("row lock\nms\n/event"),
    "lock_waits": say("row lock\nwaits\n/event"),
    "log_kb": say("log KB\n/event"),
    "log_kb_per_sync": say("log KB\n/sync"),
    "log_syncs": say("log\nsyncs/s"),
    "minor_faults": say("minor\nfaults\n/event"),
    "net_kb": say("net KB\n/event"),
    "other_ms": say("other\nms"),
    "questions": say("ques-\ntions/s"),
    "read_ms": say("read\nms"),
    "response_ms": say("res-\nponse\nms"),
    "running": say("run-\nning"),
    "server_sys": say("server\nsys %"),
    "server_us": say("server\nCPU µs\n/event"),
    "throttled": say("throt-\ntled %"),
    "transactions_per_sync": say("trans-\nactions\n/sync"),
    "waiting": say("waiting\nfor rows"),
    "write_ms": say("write\nms"),
}
"""Heads with their units; figures by event say so."""


def columns_tables(
    wanted: Sequence[Figure], cells: Sequence[CellTable], words: Language = ENGLISH
) -> Iterator[RenderableType]:
    """A row for each variant in each cell; a value that all rows share has no column."""
    for workload in dict.fromkeys(found.cell[0] for found in cells):
        title = say("what server and host did meanwhile: {workload}", workload=workload)
        yield Line(words(title), "bold")
        mine = [found for found in cells if found.cell[0] == workload]
        yield spaced(_table(wanted, mine, words))


def _table(wanted: Sequence[Figure], cells: Sequence[CellTable], words: Language) -> Table:
    variants = len({row.variant for found in cells for row in found.rows}) > 1
    rates = any(found.cell[2] for found in cells)
    columns = [Column(words(say("variant")), is_text=True, folds=False)] if variants else []
    searched = any(found.search for found in cells)
    heads = (
        *([] if searched else [say("users")]),
        *([ASKED] if rates else []),
        say("found\n/s") if searched else say("tps"),
        *(HEADS[name] for name in wanted),
    )
    columns += [Column(words(head), least=5) for head in heads]
    rows = (
        (
            *([row.variant.replace(",", ",\n")] if variants else []),
            *([] if searched else [count(users)]),
            *([words(asked(due)) if due else ""] if rates else []),
            *_figures(wanted, row),
        )
        for found in cells
        for _, users, due in [found.cell]
        for row in found.rows
    )
    return Table(tuple(columns), tuple(rows))


def _figures(wanted: Sequence[Figure], row: Row) -> list[str]:
    steps = good_steps(row.steps)
    return [
        rate(row.mean.value if row.mean else None),
        *(rate(derived_figures.value(column, steps)) for column in wanted),
    ]


def good_steps(steps: Sequence[StepResult]) -> Sequence[StepResult]:
    """The steps that may be quoted; all steps where there are none, since their rate is a dash."""
    return [step for step in steps if quotable(step)] or steps
