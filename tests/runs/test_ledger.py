"""ledger.jsonl: what a server acknowledged to a generator, also to one killed while it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.records import Entries
from loadstone.runs.errors import StoreError
from loadstone.runs.ledger import LEDGER, Account, LedgerFile, read_books


def written(folder: Path, *, complete: bool = False) -> None:
    ledger = LedgerFile(folder)
    ledger.open_book(1, 4711, 2)
    ledger.tell(1, (Entries(0, 5, ()), Entries(3, 2, (2,))))
    ledger.tell(1, ())
    ledger.tell(1, (Entries(3, 9, (7, 8)),))
    if complete:
        ledger.close_book(1)
    ledger.close()


def test_what_was_told_last_counts_and_doubts_are_added_up(tmp_path: Path) -> None:
    written(tmp_path, complete=True)
    (book,) = read_books(tmp_path).values()
    assert (book.step, book.number, book.tables, book.is_complete) == (1, 4711, 2, True)
    assert book.accounts == {0: Account(5, []), 3: Account(9, [2, 7, 8])}
    assert book.accounts[3].acknowledged == 6
    assert (book.table_of(0), book.table_of(3)) == (1, 2)


def test_a_killed_generator_has_told_what_stands_there(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / LEDGER
    path.write_bytes(path.read_bytes() + b'{"kind":"told","step":1,"entr')
    (book,) = read_books(tmp_path).values()
    assert not book.is_complete
    assert book.accounts[3].settled == 9


def test_a_run_that_is_taken_up_adds_its_books(tmp_path: Path) -> None:
    written(tmp_path, complete=True)
    path = tmp_path / LEDGER
    path.write_bytes(path.read_bytes() + b"half a line")
    again = LedgerFile(tmp_path)
    again.open_book(2, 4712, 2)
    again.tell(2, (Entries(0, 1, ()),))
    again.close()
    books = read_books(tmp_path)
    assert [(book.step, book.is_complete) for book in books.values()] == [(1, True), (2, False)]


def test_users_of_one_of_several_targets_are_a_part(tmp_path: Path) -> None:
    written(tmp_path)
    (book,) = read_books(tmp_path).values()
    assert [set(book.of_users(number, 2).accounts) for number in (0, 1)] == [{0}, {3}]
    assert book.of_users(1, 2).is_of(5)
    assert not book.of_users(1, 2).is_of(4)


def test_a_damaged_line_is_named_and_a_run_without_entries_says_how_to_write_some(
    tmp_path: Path,
) -> None:
    with pytest.raises(StoreError, match=r"has no ledger\.jsonl") as caught:
        read_books(tmp_path)
    assert "loadstone run ledger" in str(caught.value.hint)
    written(tmp_path)
    path = tmp_path / LEDGER
    path.write_bytes(path.read_bytes() + b'{"kind":"told","step":1,"entries":[[0,"x",[]]]}\n')
    with pytest.raises(StoreError, match=r"ledger\.jsonl:4 is not a line of a ledger"):
        read_books(tmp_path)
