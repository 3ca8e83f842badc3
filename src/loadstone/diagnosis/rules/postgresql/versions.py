"""Versions of rows that nobody can see any more: how many there are, and who comes past them.

A page that has room again removes what HOT updates left in it by itself, and the server takes that
off its count. So what it counts as dead is what VACUUM alone removes.

Source: https://www.postgresql.org/docs/current/storage-hot.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.model.hot_spots import HotSpots, SequenceVisits, TableVersions
from loadstone.model.message import say

ROW_S = 0.1e-6
"""[P] CPU of reading one row in a scan with a simple condition: measured 0.1 µs for rows of 100 and
of 1,000 bytes (PostgreSQL 15, an EPYC)."""

PAGE_S = 0.2e-6
POINTER_S = 1.1e-9
"""[P] CPU of a page in a scan that has no row, and of each pointer that is left of a dead version.
Measured 0.15 to 0.18 µs for a page with 37 pointers and 0.3 to 0.47 for one with 224; of several
users at the same pages 0.25 for an empty one, 0.44 with 226 pointers."""

POINTERS = 291
"""The most pointers of rows that a page of 8 KiB has (MaxHeapTuplesPerPage in htup_details.h)."""

ENTRY_S = 0.5e-6
"""[P] CPU of coming to a version that an entry of an index leads to, and that is dead: measured
0.54 µs for rows of 100 versions on as many pages; 0.9 under load with 700 versions of 20 rows."""

KIND = "versions"

_LOCKS = re.compile(r"\bFOR\s+(NO\s+KEY\s+UPDATE|UPDATE|KEY\s+SHARE|SHARE)\b", re.IGNORECASE)
"""Clauses of statements that lock the rows that they read."""


class Visits(NamedTuple):
    """Dead versions that statements come past, a second."""

    in_scans: float
    pages: float
    """The part of the pages that scans look at which they fill."""
    by_entries: float
    """Entries of indexes that lead to nothing."""
    in_chains: float
    """Versions of the rows that indexes lead to: an entry leads to the oldest of a chain."""

    def passed(self, *, are_kept: bool) -> float:
        """Versions in scans, and those that indexes lead to."""
        return self.in_scans + self._by_indexes(are_kept=are_kept)

    def cores(self, *, are_kept: bool) -> float:
        """Cores that they take.

        Those that somebody may still see are looked at one by one. Of others a full page keeps
        pointers only, and a scan reads pages that have nothing.
        """
        pointers = min(self.in_scans, POINTERS * self.pages)
        stubs = self.pages * PAGE_S + pointers * POINTER_S
        scans = self.in_scans * ROW_S if are_kept else stubs
        return scans + self._by_indexes(are_kept=are_kept) * ENTRY_S

    def _by_indexes(self, *, are_kept: bool) -> float:
        """Chains are long only where no page may remove what HOT updates leave."""
        return max(self.by_entries, self.in_chains) if are_kept else self.by_entries


def tables(case: Case) -> tuple[TableVersions, ...] | None:
    """The tables that are in use; `None`: the views were not read."""
    spots = _spots(case)
    return None if spots is None else spots.versions


def sequences(case: Case) -> tuple[SequenceVisits, ...] | None:
    """The sequences that are in use; `None`: they were not read."""
    spots = _spots(case)
    return None if spots is None else spots.sequences


def changes_of(one: TableVersions) -> int:
    """Rows of one table that were inserted, updated or deleted in the step."""
    return one.inserted + one.updated + one.deleted


def locked_of(case: Case, one: TableVersions) -> int:
    """Rows of one table that were locked in the step, at most: those that indexes led to.

    Nobody counts locks. The checks of foreign keys take them, and statements of the load, where
    pg_stat_statements has one that does so.
    """
    return one.fetched if one.referenced or _locks_rows(case) else 0


def _locks_rows(case: Case) -> bool:
    spots = _spots(case)
    return any(_LOCKS.search(one.statement) for one in (spots.counted if spots else ()))


def per_s(case: Case, total: float) -> float | None:
    """What was counted over the whole step, by second of its window.

    A step is longer than its window by its warm-up, in which as much is done for each transaction.
    """
    commits, rate = case.total("transactions_committed"), case.rate("transactions_committed")
    return None if not commits or rate is None else total / commits * rate


def visits(case: Case) -> Visits | None:
    """Dead versions that statements come past; `None`: not counted."""
    found = tables(case)
    if found is None:
        return None
    in_scans = per_s(case, sum(map(in_scans_of, found)))
    pages = per_s(case, sum(map(pages_of, found)))
    by_entries = per_s(case, sum(map(by_entries_of, found)))
    in_chains = per_s(case, sum(map(in_chains_of, found)))
    if in_scans is None or pages is None or by_entries is None or in_chains is None:
        return None
    return Visits(in_scans, pages, by_entries, in_chains)


def visited(one: TableVersions) -> float:
    """The versions of one table that statements came past in the step."""
    return in_scans_of(one) + by_entries_of(one)


def in_scans_of(one: TableVersions) -> float:
    """Dead versions that scans have come past: as many for each live row as the table has."""
    return one.scanned * dead_of(one) / one.live if one.live else 0.0


def pages_of(one: TableVersions) -> float:
    """The part of the pages in scans that dead versions fill."""
    everything = one.live + dead_of(one)
    if not one.scanned or not everything:
        return 0.0
    return _pages_scanned(one) * dead_of(one) / everything


def empty_pages_of(one: TableVersions) -> float:
    """The pages in scans beyond one for each row and dead version in them.

    A table has none if it has fewer pages than rows. VACUUM comes to all of its pages as well.
    """
    if not one.scanned or one.pages <= one.live + dead_of(one):
        return 0.0
    scanned = _pages_scanned(one) - one.vacuums * one.pages
    return max(scanned - one.scanned - in_scans_of(one), 0.0)


def _pages_scanned(one: TableVersions) -> int:
    """Pages that scans looked at.

    Rows that indexes lead to, and changes, have page accesses of their own: a change comes to the
    page of the old version twice, and to that of the new one.
    """
    changes = 3 * one.updated + 2 * one.deleted + one.inserted
    entries = max(sum(index.entries for index in one.indexes), one.fetched)
    return max(one.page_visits - entries - changes, 0)


def by_entries_of(one: TableVersions) -> float:
    """Entries that led to no row.

    Scans of an index alone read entries as well. They look at the page only if it may have dead
    versions: no more entries are counted than pages were looked at.
    """
    if not dead_of(one):
        return 0.0
    entries = sum(index.entries for index in one.indexes)
    return float(min(max(entries - one.fetched, 0), one.page_visits))


def in_chains_of(one: TableVersions) -> float:
    """Dead versions of the rows that indexes led to, if each row has as many."""
    return one.fetched * dead_of(one) / one.live if one.live else 0.0


def dead_of(one: TableVersions) -> float:
    """Dead versions, mean of the step's start and end."""
    return (one.dead_before + one.dead) / 2


def made_by_transaction(case: Case, found: Iterable[TableVersions]) -> float:
    """Versions that a transaction with a number leaves behind."""
    changes = sum(one.updated + one.deleted for one in found)
    writing = case.total("transactions_writing")
    return changes / writing if writing else 0.0


def _spots(case: Case) -> HotSpots | None:
    case.reads.append(say("the server's views of its tables"))
    spots = case.step.hot_spots
    return None if spots is None or KIND in spots.not_evaluated else spots
