"""What a server contains of the entries that loads of the ledger wrote into one of its books."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Found:
    """What a server contains for one user."""

    rows: int = 0
    entries: int = 0
    """Number of different entry numbers."""
    greatest: int = 0
    amount: int = 0
    altered: int = 0


class Entries(Protocol):
    """The entries of one book, by table and user; all queries use one connection."""

    def of_users(self, table: str) -> dict[int, Found]:
        """The existing entries, by user."""

    def count_beyond(self, table: str, user: int, settled: int) -> int:
        """Number of entries above the last one that was settled."""

    def present(self, table: str, user: int, numbers: Sequence[int]) -> list[int]:
        """Those of these entries that exist."""

    def gaps(self, table: str, user: int, settled: int) -> Iterator[tuple[int, int]]:
        """The missing entries up to `settled`, in doubt or not: first and last of each gap."""

    def twice(self, table: str, user: int) -> Iterator[int]:
        """The first entries that exist more than once."""

    def altered(self, table: str, user: int) -> Iterator[int]:
        """The first entries whose amount is not the one that was written."""

    def beyond(self, table: str, user: int, settled: int) -> Iterator[int]:
        """The first entries above the last one that was settled."""
