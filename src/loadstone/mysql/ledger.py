"""Queries a server for entries of the ledger: implements `servers.ledger.Entries`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.servers.connection import Connection, Cursor
from loadstone.servers.ledger_entries import LedgerEntries


def ledger_entries(connection: Connection, target: Target, book: int, most: int) -> LedgerEntries:
    """The ledger's entries of a book; `most`: how many are named per kind of problem."""

    @contextmanager
    def cursor() -> Iterator[Cursor]:
        with statement_errors(target), connection.cursor() as opened:
            yield opened

    return LedgerEntries(cursor, book, most)
