"""What a null server counted, as a small table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say
from loadstone.model.null_server import NullServerStats
from loadstone.model.numbers import NOTHING, count, digits, duration


def counters(stats: NullServerStats, words: Language = ENGLISH) -> Table:
    """A row a counter; those that only a script or a mistake raises are left out at zero."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(justify="right", overflow="fold", no_wrap=True)
    for name, value in _rows(stats):
        table.add_row(words(name), value)
    return table


def _rows(stats: NullServerStats) -> Iterator[tuple[Message, str]]:
    a_statement = digits(stats.cpu_us / stats.statements) if stats.statements else NOTHING
    yield say("statements"), count(stats.statements)
    yield say("answered"), count(stats.answered)
    yield say("connections"), count(stats.connections)
    yield say("most connections at once"), count(stats.open_max)
    yield say("ran for"), duration(stats.wall_us / 1e6)
    yield say("CPU µs per statement"), a_statement
    seldom = [
        (say("errors"), stats.errors),
        (say("never answered"), stats.dropped_answers + stats.owed),
        (say("refused"), stats.refused),
        (say("dropped"), stats.dropped),
        (say("encrypted"), stats.encrypted),
        (say("handshakes failed"), stats.tls_failed),
        (say("not MySQL protocol"), stats.garbled),
        (say("log records"), stats.log_records),
        (say("log records lost"), stats.log_lost),
    ]
    yield from ((name, count(value)) for name, value in seldom if value)
    if stats.timed:
        yield say("latest answer, µs late"), digits(stats.late_ns_max / 1000)
