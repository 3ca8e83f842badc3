"""The figures that an experiment asked to see beside its rates, a table for each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.padding import Padding
from rich.text import Text

from loadstone.analyse import derived_figures
from loadstone.analyse.comparison import CellTable, Row
from loadstone.analyse.ladder import quotable
from loadstone.model.columns import Column as Figure
from loadstone.model.numbers import asked, count, rate
from loadstone.model.result import StepResult
from loadstone.report.table import Column, Table

HEADS: dict[Figure, str] = {
    "binlog_syncs": "binlog\nsyncs/s",
    "client_us": "client\nCPU µs\n/query",
    "commits": "commits\n/s",
    "connect_failures": "connect\nfailures",
    "connected": "conn-\nected",
    "context_switches": "switches\n/event",
    "cpu_idle": "idle\n%",
    "cpu_sys": "sys\n%",
    "cpu_user": "user\n%",
    "deadlocks": "dead-\nlocks/s",
    "disk_flushes": "disk\nflushes\n/s",
    "disk_kb": "disk KB\n/event",
    "disk_reads": "disk\nreads/s",
    "disk_writes": "disk\nwrites/s",
    "encrypted": "en-\ncrypted %",
    "errors": "errors\n/s",
    "flush_ms": "flush\nms\n/event",
    "line_mbit": "line\nMbit/s",
    "lock_ms": "row lock\nms\n/event",
    "lock_waits": "row lock\nwaits\n/event",
    "log_kb_per_sync": "log KB\n/sync",
    "log_syncs": "log\nsyncs/s",
    "minor_faults": "minor\nfaults\n/event",
    "net_kb": "net KB\n/event",
    "other_ms": "other\nms",
    "questions": "ques-\ntions/s",
    "read_ms": "read\nms",
    "response_ms": "res-\nponse\nms",
    "running": "run-\nning",
    "server_sys": "server\nsys %",
    "server_us": "server\nCPU µs\n/event",
    "throttled": "throt-\ntled %",
    "transactions_per_sync": "trans-\nactions\n/sync",
    "waiting": "waiting\nfor rows",
    "write_ms": "write\nms",
}
"""With their units; what is by event says so."""


def columns_tables(
    wanted: Sequence[Figure], cells: Sequence[CellTable]
) -> Iterator[Padding | Text]:
    """A row for each variant in each cell; what is the same in all rows has no column."""
    for workload in dict.fromkeys(found.cell[0] for found in cells):
        yield Text(f"what server and host did meanwhile: {workload}", style="bold")
        mine = [found for found in cells if found.cell[0] == workload]
        yield Padding(_table(wanted, mine), (0, 0, 1, 0))


def _table(wanted: Sequence[Figure], cells: Sequence[CellTable]) -> Table:
    variants = len({row.variant for found in cells for row in found.rows}) > 1
    rates = any(found.cell[2] for found in cells)
    columns = [Column("variant", is_text=True, folds=False)] if variants else []
    searched = any(found.search for found in cells)
    heads = (
        *([] if searched else ["users"]),
        *(["due\n/s"] if rates else []),
        "found\n/s" if searched else "tps",
        *(HEADS[name] for name in wanted),
    )
    columns += [Column(head, least=5) for head in heads]
    rows = (
        (
            *([row.variant.replace(",", ",\n")] if variants else []),
            *([] if searched else [count(users)]),
            *([asked(due) if due else ""] if rates else []),
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
    """Steps that may be quoted; where there are none, all, as the rate beside them is a dash."""
    return [step for step in steps if quotable(step)] or steps
