"""The ledger's entries on a server of this family."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.servers.connection import Connection, Cursor
from loadstone.servers.ledger import LedgerEntries

_FOLLOWED = (
    "SELECT this.seq, (SELECT MIN(later.seq) FROM {table} AS later WHERE later.book = this.book"
    " AND later.user_no = this.user_no AND later.seq > this.seq) FROM {table} AS this"
    " LEFT JOIN {table} AS next_one ON next_one.book = this.book"
    " AND next_one.user_no = this.user_no AND next_one.seq = this.seq + 1"
    " WHERE this.book = %s AND this.user_no = %s AND this.seq < %s AND next_one.seq IS NULL"
    " GROUP BY this.book, this.user_no, this.seq ORDER BY this.seq"
)
"""Without window functions, which MySQL 5.7 lacks."""


def ledger_entries(connection: Connection, target: Target, book: int, most: int) -> LedgerEntries:
    """The ledger's entries of a book; `most`: how many are named per kind of problem."""

    @contextmanager
    def cursor() -> Iterator[Cursor]:
        with statement_errors(target), connection.cursor() as opened:
            yield opened

    return LedgerEntries(cursor, book, most, _FOLLOWED)
