"""The figures that an experiment asked to see beside its rates, all cells in one table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from loadstone.analyse import columns
from loadstone.analyse.comparison import CellTable, Row
from loadstone.analyse.ladder import quotable
from loadstone.model.columns import Column
from loadstone.model.result import StepResult
from loadstone.report.numbers import asked, count, rate

HEADS: dict[Column, str] = {
    "binlog_syncs": "binlog\nsyncs/s",
    "client_us": "client\nµs/query",
    "commits": "commits\n/s",
    "connect_failures": "connect\nfailures",
    "connected": "conn-\nected",
    "context_switches": "switches\n/event",
    "cpu_idle": "idle\n%",
    "cpu_sys": "sys\n%",
    "cpu_user": "user\n%",
    "deadlocks": "dead-\nlocks/s",
    "disk_flushes": "disk\nflushes/s",
    "disk_kb": "disk KB\n/event",
    "disk_reads": "disk\nreads/s",
    "disk_writes": "disk\nwrites/s",
    "encrypted": "en-\ncrypted %",
    "errors": "errors\n/s",
    "flush_ms": "flush\nms/event",
    "line_mbit": "line\nMbit/s",
    "lock_ms": "row lock\nms/event",
    "lock_waits": "row lock\nwaits/event",
    "log_kb_per_sync": "log KB\n/sync",
    "log_syncs": "log\nsyncs/s",
    "minor_faults": "minor\nfaults/event",
    "net_kb": "net KB\n/event",
    "other_ms": "other\nms",
    "questions": "ques-\ntions/s",
    "read_ms": "read\nms",
    "response_ms": "response\nms",
    "running": "run-\nning",
    "server_sys": "server\nsys %",
    "server_us": "server\nCPU µs/event",
    "throttled": "throt-\ntled %",
    "transactions_per_sync": "trans-\nactions/sync",
    "waiting": "waiting\nfor rows",
    "write_ms": "write\nms",
}
"""With their units; what is by event says so."""


def columns_table(wanted: Sequence[Column], cells: Sequence[CellTable]) -> Table:
    """A row for each variant in each cell; what is the same in all rows has no column."""
    several = {
        "workload": len({found.cell[0] for found in cells}) > 1,
        "variant": len({row.variant for found in cells for row in found.rows}) > 1,
        "due\n/s": any(found.cell[2] for found in cells),
    }
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for head in ("workload", "variant"):
        if several[head]:
            table.add_column(head, vertical="bottom")
    heads = ["users", *(["due\n/s"] if several["due\n/s"] else []), "tps"]
    for head in heads + [HEADS[column] for column in wanted]:
        table.add_column(head, justify="right", vertical="bottom", no_wrap=True, min_width=5)
    for found in cells:
        for row in found.rows:
            table.add_row(*_names(found, row, several), *_figures(wanted, row))
    return table


def _names(found: CellTable, row: Row, several: dict[str, bool]) -> list[str]:
    workload, users, due = found.cell
    return [
        *([workload] if several["workload"] else []),
        *([row.variant] if several["variant"] else []),
        count(users),
        *([asked(due) if due else ""] if several["due\n/s"] else []),
    ]


def _figures(wanted: Sequence[Column], row: Row) -> list[str]:
    steps = good_steps(row.steps)
    return [
        rate(row.mean.value if row.mean else None),
        *(rate(columns.value(column, steps)) for column in wanted),
    ]


def good_steps(steps: Sequence[StepResult]) -> Sequence[StepResult]:
    """Those that may be quoted; where there are none, all, as the rate beside them is a dash."""
    return [step for step in steps if quotable(step)] or steps
