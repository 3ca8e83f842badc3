"""Queries a server for entries of the ledger, with statements of every family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from loadstone.servers.connection import Cursor
from loadstone.servers.ledger import Found

_AT_ONCE = 1000
"""Entries in doubt per statement."""

_GAPS_LOOKED_AT = 1000
"""Most gaps may be entries in doubt, of which a user has one per lost connection."""

_AMOUNT = "(mod(user_no * 31 + seq * 17, 1000) + 1)"
"""The amount of an entry, as the engine computes it."""

_ALTERED = f"SUM(CASE WHEN amount <> {_AMOUNT} THEN 1 ELSE 0 END)"
"""How many entries have another."""


@dataclass(frozen=True)
class LedgerEntries:
    """Queries a server for the entries of one book."""

    cursor: Callable[[], AbstractContextManager[Cursor]]
    """A cursor whose errors are the family's."""
    book: int
    """Its number."""
    most: int
    """How many entries are named per kind of problem."""

    def _rows(self, statement: str, *values: int) -> Sequence[tuple[Any, ...]]:
        """Execute a statement whose first `%s` is the book."""
        with self.cursor() as cursor:
            cursor.execute(statement, (self.book, *values))
            return cursor.fetchall()

    def of_users(self, table: str) -> dict[int, Found]:
        """The existing entries, by user."""
        return {
            int(user): Found(int(rows), int(entries), int(greatest), int(amount), int(altered))
            for user, rows, entries, greatest, amount, altered in self._rows(
                "SELECT user_no, COUNT(*), COUNT(DISTINCT seq), MAX(seq), SUM(amount),"
                f" {_ALTERED} FROM {table} WHERE book = %s GROUP BY user_no"
            )
        }

    def count_beyond(self, table: str, user: int, settled: int) -> int:
        """Number of entries above the last one that was settled."""
        (row,) = self._rows(
            f"SELECT COUNT(DISTINCT seq) FROM {table}"
            " WHERE book = %s AND user_no = %s AND seq > %s",
            user,
            settled,
        )
        return int(row[0])

    def present(self, table: str, user: int, numbers: Sequence[int]) -> list[int]:
        """Those of these entries that exist."""
        found: list[int] = []
        for start in range(0, len(numbers), _AT_ONCE):
            asked = ", ".join(str(number) for number in numbers[start : start + _AT_ONCE])
            rows = self._rows(
                f"SELECT DISTINCT seq FROM {table}"
                f" WHERE book = %s AND user_no = %s AND seq IN ({asked})",
                user,
            )
            found.extend(int(number) for (number,) in rows)
        return found

    def gaps(self, table: str, user: int, settled: int) -> Iterator[tuple[int, int]]:
        """The missing entries up to `settled`, in doubt or not: first and last of each gap.

        The query has no window functions, as MySQL 5.7 lacks them.
        """
        rows = self._rows(
            "SELECT this.seq, (SELECT MIN(later.seq) FROM"
            f" {table} AS later WHERE later.book = this.book AND later.user_no = this.user_no"
            f" AND later.seq > this.seq) FROM {table} AS this LEFT JOIN {table} AS next_one"
            " ON next_one.book = this.book AND next_one.user_no = this.user_no"
            " AND next_one.seq = this.seq + 1"
            " WHERE this.book = %s AND this.user_no = %s AND this.seq < %s"
            " AND next_one.seq IS NULL GROUP BY this.book, this.user_no, this.seq"
            f" ORDER BY this.seq LIMIT {_GAPS_LOOKED_AT}",
            user,
            settled,
        )
        if not self.present(table, user, [1]):
            first = self._rows(
                f"SELECT MIN(seq) FROM {table} WHERE book = %s AND user_no = %s", user
            )
            yield 1, _before(first[0][0], settled)
        for number, following in rows:
            yield int(number) + 1, _before(following, settled)

    def twice(self, table: str, user: int) -> Iterator[int]:
        """The first entries that exist more than once."""
        return self._numbers(table, user, "COUNT(*) > 1")

    def altered(self, table: str, user: int) -> Iterator[int]:
        """The first entries whose amount is not the one that was written."""
        return self._numbers(table, user, f"{_ALTERED} > 0")

    def beyond(self, table: str, user: int, settled: int) -> Iterator[int]:
        """The first entries above the last one that was settled."""
        return self._numbers(table, user, f"seq > {settled}")

    def _numbers(self, table: str, user: int, having: str) -> Iterator[int]:
        """The first entries of a user for which a condition holds."""
        rows = self._rows(
            f"SELECT seq FROM {table} WHERE book = %s AND user_no = %s GROUP BY seq"
            f" HAVING {having} ORDER BY seq LIMIT {self.most}",
            user,
        )
        for (number,) in rows:
            yield int(number)


def _before(following: int | None, settled: int) -> int:
    return settled if following is None else min(int(following) - 1, settled)
