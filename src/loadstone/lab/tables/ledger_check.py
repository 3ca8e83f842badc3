"""What a server has of the entries that a run's generator knows to be acknowledged.

All is asked in one snapshot of the server, by user; single entries are looked for only where a
user's numbers do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.model.failover import LedgerPlace, LedgerVerdict
from loadstone.model.target import Endpoint, Target
from loadstone.mysql.connect import Connection, Timeouts, connect, statement_errors
from loadstone.mysql.facts import TABLE_NAMES
from loadstone.runs.ledger import Account, Book

_STATEMENT_S = 3600.0
"""Counting reads an index of all entries."""

_PLACES = 5
"""So many are named of each kind of trouble."""

_AT_ONCE = 1000
"""Entries in doubt that one statement asks for."""

_CYCLE = 1000
_SUM_OF_CYCLE = _CYCLE * (_CYCLE + 1) // 2
_AMOUNT = "(user_no * 31 + seq * 17) MOD 1000 + 1"


def amount_of(user: int, number: int) -> int:
    """What an entry is of, as the engine writes it: 1 to 1000."""
    return (user * 31 + number * 17) % _CYCLE + 1


def sum_of_amounts(user: int, numbers: int) -> int:
    """Of the entries 1 to `numbers`: a thousand in a row have each amount once."""
    cycles, rest = divmod(numbers, _CYCLE)
    return cycles * _SUM_OF_CYCLE + sum(amount_of(user, number) for number in range(1, rest + 1))


def check_book(book: Book, endpoint: Endpoint) -> LedgerVerdict:
    """Compare what was told with what one server has.

    Raises:
        TargetError: it cannot be reached, or has no such tables.
    """
    target = endpoint.target
    finding = _Finding()
    with connect(endpoint, Timeouts(statement_s=_STATEMENT_S)) as connection:
        _take_snapshot(connection, target)
        asking = _Asking(connection, target, book)
        for table in range(1, book.tables + 1):
            _look_into(asking, table, finding)
    return finding.verdict(book, target)


def check_books(book: Book, endpoints: Sequence[Endpoint]) -> tuple[LedgerVerdict, ...]:
    """The same of a run's targets: each has the entries of the users that it had."""
    parts = (
        (book.of_users(number, len(endpoints)), endpoint)
        for number, endpoint in enumerate(endpoints)
    )
    return tuple(check_book(part, endpoint) for part, endpoint in parts)


@dataclass(frozen=True)
class _Found:
    """What a server has of one user."""

    rows: int = 0
    entries: int = 0
    """Different numbers."""
    greatest: int = 0
    amount: int = 0
    altered: int = 0


@dataclass
class _Finding:
    """The sums over all users."""

    lost: int = 0
    twice: int = 0
    beyond: int = 0
    """Entries that are there and were never settled."""
    altered: int = 0
    in_doubt_present: int = 0
    sum_expected: int = 0
    sum_found: int = 0
    places: dict[str, list[LedgerPlace]] = field(default_factory=dict)

    def name(self, user: int, what: str, spans: Iterator[tuple[int, int]]) -> None:
        """Keep the first places of a kind of trouble."""
        kept = self.places.setdefault(what, [])
        for first, last in spans:
            if len(kept) == _PLACES:
                return
            kept.append(LedgerPlace(user=user, what=what, first=first, last=last))

    def verdict(self, book: Book, target: Target) -> LedgerVerdict:
        """What is told; entries after the last word of a killed generator are nobody's fault."""
        accounts = book.accounts.values()
        refused = self.beyond if book.is_complete else 0
        doubts = sum(len(account.doubts) for account in accounts)
        return LedgerVerdict(
            target=target.url,
            holds=not (self.lost or self.twice or refused or self.altered),
            is_complete=book.is_complete,
            users=len(book.accounts),
            acknowledged=sum(account.acknowledged for account in accounts),
            lost=self.lost,
            twice=self.twice,
            though_refused=refused,
            altered=self.altered,
            in_doubt_present=self.in_doubt_present,
            in_doubt_absent=doubts - self.in_doubt_present,
            untold_present=self.beyond - refused,
            sum_expected=self.sum_expected,
            sum_found=self.sum_found,
            places=tuple(place for places in self.places.values() for place in places),
        )


@dataclass(frozen=True)
class _Asking:
    """A server that is asked for the entries of one book."""

    connection: Connection
    target: Target
    book: Book

    def rows(self, statement: str, *values: int) -> Sequence[tuple[Any, ...]]:
        """The first `%s` of the statement is the book."""
        with statement_errors(self.target), self.connection.cursor() as cursor:
            cursor.execute(statement, (self.book.number, *values))
            return cursor.fetchall()

    def of_users(self, table: str) -> dict[int, _Found]:
        """What is there, by user."""
        return {
            int(user): _Found(int(rows), int(entries), int(greatest), int(amount), int(altered))
            for user, rows, entries, greatest, amount, altered in self.rows(
                "SELECT user_no, COUNT(*), COUNT(DISTINCT seq), MAX(seq), SUM(amount),"
                f" SUM(amount <> {_AMOUNT}) FROM {table} WHERE book = %s GROUP BY user_no"
            )
        }

    def count_beyond(self, table: str, user: int, settled: int) -> int:
        """Entries with a number above the last one that was settled."""
        (row,) = self.rows(
            f"SELECT COUNT(DISTINCT seq) FROM {table}"
            " WHERE book = %s AND user_no = %s AND seq > %s",
            user,
            settled,
        )
        return int(row[0])

    def present(self, table: str, user: int, numbers: Sequence[int]) -> list[int]:
        """Those of these entries that are there."""
        found: list[int] = []
        for start in range(0, len(numbers), _AT_ONCE):
            asked = ", ".join(str(number) for number in numbers[start : start + _AT_ONCE])
            rows = self.rows(
                f"SELECT DISTINCT seq FROM {table}"
                f" WHERE book = %s AND user_no = %s AND seq IN ({asked})",
                user,
            )
            found.extend(int(number) for (number,) in rows)
        return found

    def gaps(self, table: str, user: int, settled: int) -> Iterator[tuple[int, int]]:
        """Entries up to `settled` that are not there, in doubt or not; first and last of each gap.

        Without window functions, as MySQL 5.7 has none.
        """
        rows = self.rows(
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
            first = self.rows(
                f"SELECT MIN(seq) FROM {table} WHERE book = %s AND user_no = %s", user
            )
            yield 1, _before(first[0][0], settled)
        for number, following in rows:
            yield int(number) + 1, _before(following, settled)

    def numbers(self, table: str, user: int, having: str) -> Iterator[tuple[int, int]]:
        """The first entries of a user for which a condition holds."""
        rows = self.rows(
            f"SELECT seq FROM {table} WHERE book = %s AND user_no = %s GROUP BY seq"
            f" HAVING {having} ORDER BY seq LIMIT {_PLACES}",
            user,
        )
        for (number,) in rows:
            yield int(number), int(number)


_GAPS_LOOKED_AT = 1000
"""Most may be entries in doubt, of which a user has one for each connection that it lost."""


def _before(following: int | None, settled: int) -> int:
    return settled if following is None else min(int(following) - 1, settled)


def _take_snapshot(connection: Connection, target: Target) -> None:
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")


def _look_into(asking: _Asking, table: int, finding: _Finding) -> None:
    """The entries of the users that write into one table, and of strangers in it."""
    name = f"{TABLE_NAMES['ledger']}{table}"
    found = asking.of_users(name)
    accounts = asking.book.accounts
    own = {user for user in accounts if asking.book.table_of(user) == table}
    # Whoever was never told of is there only by entries that nobody acknowledged.
    strangers = {user for user in found if asking.book.is_of(user) and user not in accounts}
    for user in sorted(own | strangers):
        _compare(asking, name, user, found.get(user, _Found()), finding)


def _compare(asking: _Asking, table: str, user: int, found: _Found, finding: _Finding) -> None:
    account = asking.book.accounts.get(user, Account())
    beyond = 0
    if found.greatest > account.settled:
        beyond = asking.count_beyond(table, user, account.settled)
    doubts = asking.present(table, user, account.doubts)
    lost = account.acknowledged - (found.entries - beyond - len(doubts))
    finding.lost += lost
    finding.twice += found.rows - found.entries
    finding.beyond += beyond
    finding.altered += found.altered
    finding.in_doubt_present += len(doubts)
    absent = set(account.doubts) - set(doubts)
    finding.sum_expected += sum_of_amounts(user, account.settled)
    finding.sum_expected -= sum(amount_of(user, number) for number in absent)
    finding.sum_found += found.amount
    if lost:
        gaps = asking.gaps(table, user, account.settled)
        finding.name(user, "lost", _without(gaps, absent))
    if found.rows > found.entries:
        finding.name(user, "twice", asking.numbers(table, user, "COUNT(*) > 1"))
    if found.altered:
        wrong = f"SUM(amount <> {_AMOUNT}) > 0"
        finding.name(user, "altered", asking.numbers(table, user, wrong))
    if beyond:
        what = "though_refused" if asking.book.is_complete else "untold"
        later = f"seq > {account.settled}"
        finding.name(user, what, asking.numbers(table, user, later))


def _without(gaps: Iterator[tuple[int, int]], doubts: set[int]) -> Iterator[tuple[int, int]]:
    """The same, and entries in doubt at their edges are no part of them."""
    for first, last in gaps:
        while first in doubts:
            first += 1
        while last in doubts:
            last -= 1
        if first <= last:
            yield first, last
