"""The figures of a step that an experiment can show next to its rates.

`analyse.derived_figures` computes them, `report.columns` has their headings, and
docs/experiments.md defines each.
"""

from __future__ import annotations

from typing import Literal, get_args

Column = Literal[
    "binlog_syncs",
    "client_us",
    "commits",
    "connect_failures",
    "connected",
    "context_switches",
    "cpu_idle",
    "cpu_sys",
    "cpu_user",
    "deadlocks",
    "disk_flushes",
    "disk_kb",
    "disk_reads",
    "disk_writes",
    "encrypted",
    "errors",
    "flush_ms",
    "line_mbit",
    "log_kb",
    "log_kb_per_sync",
    "log_syncs",
    "lock_ms",
    "lock_waits",
    "minor_faults",
    "net_kb",
    "other_ms",
    "questions",
    "read_ms",
    "response_ms",
    "running",
    "server_sys",
    "server_us",
    "throttled",
    "transactions_per_sync",
    "waiting",
    "write_ms",
]

COLUMNS: tuple[Column, ...] = get_args(Column)
