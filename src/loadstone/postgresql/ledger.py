"""The ledger's entries on a server of this family."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.model.target import Target
from loadstone.postgresql.errors import statement_errors
from loadstone.servers.connection import Connection, Cursor
from loadstone.servers.ledger import LedgerEntries

_FOLLOWED = (
    "SELECT seq, following FROM (SELECT seq, lead(seq) OVER (ORDER BY seq) AS following FROM"
    " (SELECT DISTINCT seq FROM {table} WHERE book = %s AND user_no = %s) AS entries) AS pairs"
    " WHERE seq < %s AND following IS DISTINCT FROM seq + 1 ORDER BY seq"
)
"""With a window function: of joins the planner chooses nested ones, as a table without statistics
looks small, and those take the square of the entries."""


def ledger_entries(connection: Connection, target: Target, book: int, most: int) -> LedgerEntries:
    """The ledger's entries of a book; `most`: how many are named per kind of problem."""

    @contextmanager
    def cursor() -> Iterator[Cursor]:
        with statement_errors(target), connection.cursor() as opened:
            yield opened

    return LedgerEntries(cursor, book, most, _FOLLOWED)
