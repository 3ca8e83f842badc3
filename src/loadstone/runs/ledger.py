"""ledger.jsonl: what the generator knows about the entries that it wrote, saved as it runs.

There is one JSON document per line. Each step that writes entries begins with its book; then each
second has a line with the users whose entries were settled in it; the last line says that the
generator reported everything. If that line is missing, the generator was killed, and may have
written more than it reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, TypeAdapter, ValidationError

from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.message import say
from loadstone.model.records import Entries
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import AppendOnly

LEDGER = "ledger.jsonl"


class BookOpened(Frozen):
    """A step starts to write entries."""

    kind: Literal["book"] = "book"
    step: PositiveInt
    book: PositiveInt
    """Distinguishes its entries from all others in the tables."""
    tables: PositiveInt
    """User n writes into the table with the number n modulo this, plus one."""


class BookTold(Frozen):
    """The outcome of entries since the previous line."""

    kind: Literal["told"] = "told"
    step: PositiveInt
    entries: tuple[Entries, ...]


class BookClosed(Frozen):
    """The step's generator has reported everything."""

    kind: Literal["closed"] = "closed"
    step: PositiveInt


_Line = BookOpened | BookTold | BookClosed
_LINE: TypeAdapter[_Line] = TypeAdapter(
    Annotated[_Line, Field(discriminator="kind")], config=DEFERRED
)


@dataclass
class Account:
    """What one user knows about its entries."""

    settled: int = 0
    """All up to this number are finished: acknowledged, unless in doubt."""
    doubts: list[int] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """How many were acknowledged."""
        return self.settled - len(self.doubts)


@dataclass
class Book:
    """What all users of a step know about their entries."""

    step: int
    number: int
    tables: int
    accounts: dict[int, Account] = field(default_factory=dict)
    """By user; users that have settled no entries are missing."""
    is_complete: bool = False
    """Whether the generator reported everything."""
    remainder: int = 0
    modulus: int = 1
    """The book contains the users whose number leaves this remainder."""

    def is_of(self, user: int) -> bool:
        """Whether a user's entries belong to this book."""
        return user % self.modulus == self.remainder

    def table_of(self, user: int) -> int:
        """The number of the table that a user writes to."""
        return user % self.tables + 1

    def of_users(self, remainder: int, modulus: int) -> Book:
        """The part of the book with the users whose number leaves this remainder."""
        part = replace(self, accounts={}, remainder=remainder, modulus=modulus)
        part.accounts |= {user: each for user, each in self.accounts.items() if part.is_of(user)}
        return part

    def take(self, entries: Iterable[Entries]) -> None:
        """Add the next reported entries."""
        for user, settled, doubts in entries:
            account = self.accounts.setdefault(user, Account())
            account.settled = settled
            account.doubts.extend(doubts)


class LedgerFile:
    """Writes the file, which is created with the first book."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LEDGER
        self._file: AppendOnly | None = None

    def open_book(self, step: int, book: int, tables: int) -> None:
        """Record that a step starts to write entries.

        Raises:
            StoreError: the file cannot be written; the other methods raise it, too.
        """
        if self._file is None:
            again = self._path.exists()
            self._file = AppendOnly(self._path, again=again)
            if again:
                self._file.take_up()
        self._append(BookOpened(step=step, book=book, tables=tables))

    def tell(self, step: int, entries: tuple[Entries, ...]) -> None:
        """Record the outcome of entries."""
        if entries:
            self._append(BookTold(step=step, entries=entries))

    def close_book(self, step: int) -> None:
        """Record that the generator has reported the whole step; it is on disk on return."""
        if self._file is not None:
            self._append(BookClosed(step=step))
            self._file.sync()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _append(self, line: _Line) -> None:
        if self._file is not None:
            self._file.append(line.model_dump_json().encode() + b"\n")


def read_books(folder: Path) -> dict[int, Book]:
    """The books by step, of a run that has ended, is running or was killed.

    Raises:
        StoreError: the run wrote no entries, or the file is damaged.
    """
    path = folder / LEDGER
    books: dict[int, Book] = {}
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.endswith(b"\n"):  # only the last line can be cut short by a crash
                    _add(books, _parsed(line, f"{path}:{number}"))
    except FileNotFoundError:
        raise StoreError(
            say("{folder} has no {file}: its load wrote no entries", folder=folder, file=LEDGER),
            say("loadstone run ledger --timeline --target URL writes some"),
        ) from None
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
    return books


def _parsed(line: bytes, place: str) -> _Line:
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        raise StoreError(
            say("{place} is not a line of a ledger", place=place),
            say("the file was changed after it was written, or is from a newer Loadstone"),
        ) from error


def _add(books: dict[int, Book], line: _Line) -> None:
    match line:
        case BookOpened():
            books[line.step] = Book(line.step, line.book, line.tables)
        case BookTold() if line.step in books:
            books[line.step].take(line.entries)
        case BookClosed() if line.step in books:
            books[line.step].is_complete = True
