"""Enters what there is for the traffic of each family of servers: logs, and how SQL is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.traffic import digests, general_log, grammar_mysql, sendable_mysql, slow_log
from loadstone.traffic.counted_statements import CountedStatements
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.grammar import Grammar
from loadstone.traffic.logfile import Line
from loadstone.traffic.postgresql import grammar as grammar_postgresql
from loadstone.traffic.postgresql import log, statements
from loadstone.traffic.postgresql import sendable as sendable_postgresql
from loadstone.traffic.postgresql.records import records_of_csv, records_of_json
from loadstone.traffic.sendable import Sendable

LogKind = Literal["slow", "general", "csvlog", "jsonlog"]
FAMILIES: Mapping[LogKind, str] = {
    "slow": MYSQL, "general": MYSQL, "csvlog": POSTGRESQL, "jsonlog": POSTGRESQL,
}  # fmt: skip
"""The family of servers that write a kind of log."""


def _of_csvlog(lines: Iterable[Line], stats: ReadStats, encoding: str) -> Iterator[Entry]:
    return log.entries_of(records_of_csv(lines, stats, encoding), stats, "csvlog")


def _of_jsonlog(lines: Iterable[Line], stats: ReadStats, encoding: str) -> Iterator[Entry]:
    return log.entries_of(records_of_json(lines, stats, encoding), stats, "jsonlog")


READERS: Mapping[LogKind, Callable[[Iterable[Line], ReadStats, str], Iterator[Entry]]] = {
    "slow": slow_log.entries_of,
    "general": general_log.entries_of,
    "csvlog": _of_csvlog,
    "jsonlog": _of_jsonlog,
}
"""The reader of each kind of log; a log of unknown kind is tried in this order."""

SENDABLE: Mapping[str, Sendable] = {MYSQL: sendable_mysql, POSTGRESQL: sendable_postgresql}
"""What judges a statement before it is sent again, by family."""

COUNTED: Mapping[str, CountedStatements] = {MYSQL: digests, POSTGRESQL: statements}
"""Where servers count statements, by family."""

GRAMMARS: Mapping[str, Grammar] = {MYSQL: grammar_mysql, POSTGRESQL: grammar_postgresql}
"""What reads statements for templates, by family."""
