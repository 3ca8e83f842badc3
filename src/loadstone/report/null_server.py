"""What a null server counted, as a small table."""

from __future__ import annotations

from rich.table import Table

from loadstone.model.null_server import NullServerStats
from loadstone.model.numbers import NOTHING, count, digits, duration


def counters(stats: NullServerStats) -> Table:
    """A row a counter; those that only a script or a mistake brings are left out at nought."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for name, value in _rows(stats):
        table.add_row(name, value)
    return table


def _rows(stats: NullServerStats) -> list[tuple[str, str]]:
    a_statement = digits(stats.cpu_us / stats.statements) if stats.statements else NOTHING
    always = [
        ("statements", count(stats.statements)),
        ("answered", count(stats.answered)),
        ("connections", count(stats.connections)),
        ("at once", count(stats.open_max)),
        ("ran for", duration(stats.wall_us / 1e6)),
        ("CPU, µs a statement", a_statement),
    ]
    late_us = stats.late_ns_max / 1000
    seldom = [
        ("errors", stats.errors),
        ("never answered", stats.dropped_answers + stats.owed),
        ("refused", stats.refused),
        ("dropped", stats.dropped),
        ("encrypted", stats.encrypted),
        ("handshakes failed", stats.tls_failed),
        ("no protocol", stats.garbled),
        ("log records", stats.log_records),
        ("log records lost", stats.log_lost),
    ]
    there = [(name, count(value)) for name, value in seldom if value]
    late = [("latest answer, µs late", digits(late_us))] if stats.timed else []
    return always + there + late
