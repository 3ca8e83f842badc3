"""Compares a server's ledger entries with those that a run's generator knows to be acknowledged.

All queries use one snapshot of the server, by user; single entries are searched only where a user's
numbers do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from loadstone.families import connect, family_of
from loadstone.model.failover import LedgerPlace, LedgerVerdict
from loadstone.model.target import Endpoint, Target
from loadstone.runs.ledger import Account, Book
from loadstone.servers.connection import Timeouts
from loadstone.servers.facts import TABLE_NAMES
from loadstone.servers.ledger import Found, LedgerEntries

_STATEMENT_S = 3600.0
"""Long, because counting reads an index of all entries."""

_PLACES = 5
"""How many places are named for each kind of problem."""

_CYCLE = 1000
_SUM_OF_CYCLE = _CYCLE * (_CYCLE + 1) // 2


def amount_of(user: int, number: int) -> int:
    """The amount of an entry, as the engine writes it: 1 to 1000."""
    return (user * 31 + number * 17) % _CYCLE + 1


def sum_of_amounts(user: int, numbers: int) -> int:
    """The sum of entries 1 to `numbers`: a thousand in a row have each amount once."""
    cycles, rest = divmod(numbers, _CYCLE)
    return cycles * _SUM_OF_CYCLE + sum(amount_of(user, number) for number in range(1, rest + 1))


def check_book(book: Book, endpoint: Endpoint) -> LedgerVerdict:
    """Compare the generator's book with one server.

    Raises:
        TargetError: the server cannot be reached, or has no such tables.
    """
    target = endpoint.target
    finding = _Finding()
    with connect(endpoint, Timeouts(statement_s=_STATEMENT_S)) as connection:
        family = family_of(target)
        family.take_snapshot(connection, target)
        asking = _Asking(family.ledger_entries(connection, target, book.number, _PLACES), book)
        for table in range(1, book.tables + 1):
            _look_into(asking, table, finding)
    return finding.verdict(book, target)


def check_books(book: Book, endpoints: Sequence[Endpoint]) -> tuple[LedgerVerdict, ...]:
    """Compare the book with all targets of a run; each has the entries of its own users."""
    parts = (
        (book.of_users(number, len(endpoints)), endpoint)
        for number, endpoint in enumerate(endpoints)
    )
    return tuple(check_book(part, endpoint) for part, endpoint in parts)


@dataclass
class _Finding:
    """Sums over all users."""

    lost: int = 0
    twice: int = 0
    beyond: int = 0
    """Entries that exist although they were never settled."""
    altered: int = 0
    in_doubt_present: int = 0
    sum_expected: int = 0
    sum_found: int = 0
    places: dict[str, list[LedgerPlace]] = field(default_factory=dict)

    def name(self, user: int, what: str, spans: Iterator[tuple[int, int]]) -> None:
        """Keep the first places for a kind of problem."""
        kept = self.places.setdefault(what, [])
        for first, last in spans:
            if len(kept) == _PLACES:
                return
            kept.append(LedgerPlace(user=user, what=what, first=first, last=last))

    def verdict(self, book: Book, target: Target) -> LedgerVerdict:
        """The verdict; entries after the last record of a killed generator are no error."""
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
    """A server, and the book that it is compared with."""

    entries: LedgerEntries
    book: Book


def _look_into(asking: _Asking, table: int, finding: _Finding) -> None:
    """Examine the entries of one table: those of its users, and those of strangers."""
    name = f"{TABLE_NAMES['ledger']}{table}"
    found = asking.entries.of_users(name)
    accounts = asking.book.accounts
    own = {user for user in accounts if asking.book.table_of(user) == table}
    # A user without an account in the book has only entries that nobody acknowledged.
    strangers = {user for user in found if asking.book.is_of(user) and user not in accounts}
    for user in sorted(own | strangers):
        _compare(asking, name, user, found.get(user, Found()), finding)


def _compare(asking: _Asking, table: str, user: int, found: Found, finding: _Finding) -> None:
    account = asking.book.accounts.get(user, Account())
    beyond = 0
    if found.greatest > account.settled:
        beyond = asking.entries.count_beyond(table, user, account.settled)
    doubts = asking.entries.present(table, user, account.doubts)
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
        gaps = asking.entries.gaps(table, user, account.settled)
        finding.name(user, "lost", _without(gaps, absent))
    if found.rows > found.entries:
        finding.name(user, "twice", _single(asking.entries.twice(table, user)))
    if found.altered:
        finding.name(user, "altered", _single(asking.entries.altered(table, user)))
    if beyond:
        what = "though_refused" if asking.book.is_complete else "untold"
        finding.name(user, what, _single(asking.entries.beyond(table, user, account.settled)))


def _single(numbers: Iterator[int]) -> Iterator[tuple[int, int]]:
    return ((number, number) for number in numbers)


def _without(gaps: Iterator[tuple[int, int]], doubts: set[int]) -> Iterator[tuple[int, int]]:
    """The gaps without the entries in doubt at their edges."""
    for first, last in gaps:
        while first in doubts:
            first += 1
        while last in doubts:
            last -= 1
        if first <= last:
            yield first, last
