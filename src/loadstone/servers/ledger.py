"""What a server contains of the entries that loads of the ledger wrote into one of its books."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from loadstone.servers.connection import Cursor

_AT_ONCE = 1000
"""Entries in doubt per statement."""

_GAPS_LOOKED_AT = 1000
"""Most gaps may be entries in doubt, of which a user has one per lost connection."""

_AMOUNT = "(mod(user_no * 31 + seq * 17, 1000) + 1)"
"""The amount of an entry, as the engine computes it."""

_ALTERED = f"SUM(CASE WHEN amount <> {_AMOUNT} THEN 1 ELSE 0 END)"
"""How many entries have another."""


@dataclass(frozen=True)
class Found:
    """What a server contains for one user."""

    rows: int = 0
    entries: int = 0
    """Number of different entry numbers."""
    greatest: int = 0
    amount: int = 0
    altered: int = 0


@dataclass(frozen=True)
class LedgerEntries:
    """The entries of one book, by table and user; all queries use one connection."""

    cursor: Callable[[], AbstractContextManager[Cursor]]
    """A cursor whose errors are the family's."""
    book: int
    """Its number."""
    most: int
    """How many entries are named per kind of problem."""
    followed: str
    """The family's query for entries that the next number does not follow, with the number that
    does, or NULL: ordered, of `{table}`, and of the book, the user and the settled number `%s`."""

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
        """The missing entries up to `settled`, in doubt or not: first and last of each gap."""
        query = f"{self.followed.format(table=table)} LIMIT {_GAPS_LOOKED_AT}"
        rows = self._rows(query, user, settled)
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
