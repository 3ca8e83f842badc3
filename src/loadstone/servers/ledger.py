"""What a server has of the entries that loads of the ledger have written into one of its books."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Found:
    """What a server has of one user."""

    rows: int = 0
    entries: int = 0
    """Different numbers."""
    greatest: int = 0
    amount: int = 0
    altered: int = 0


class Entries(Protocol):
    """The entries of one book, by table and user; all is asked through one connection."""

    def of_users(self, table: str) -> dict[int, Found]:
        """What is there, by user."""

    def count_beyond(self, table: str, user: int, settled: int) -> int:
        """Entries with a number above the last one that was settled."""

    def present(self, table: str, user: int, numbers: Sequence[int]) -> list[int]:
        """Those of these entries that are there."""

    def gaps(self, table: str, user: int, settled: int) -> Iterator[tuple[int, int]]:
        """Entries up to `settled` that are not there, in doubt or not: first and last of gaps."""

    def twice(self, table: str, user: int) -> Iterator[int]:
        """The first entries that are there more than once."""

    def altered(self, table: str, user: int) -> Iterator[int]:
        """The first entries whose amount is not the one that was written."""

    def beyond(self, table: str, user: int, settled: int) -> Iterator[int]:
        """The first entries with a number above the last one that was settled."""
