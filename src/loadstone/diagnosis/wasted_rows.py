"""Rows that are read for nothing, in scans or through an index, for any family of servers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loadstone.diagnosis.context import Case
from loadstone.model.figure import Number
from loadstone.model.message import Message, say

_SUMS = re.compile(r"\b(AVG|COUNT|MAX|MIN|SUM)\s*\(", re.IGNORECASE)

WASTE = 10.0
"""[P] Rows read in scans for each one returned or changed."""

BY_EVENT = 500.0
"""[P] Rows that an event reads in scans: smaller tables are as well read whole."""

LONG = 5_000.0
"""[P] Rows to which an index leads an event: more than any range of the usual loads."""

LONG_WASTE = 100.0
"""[P] Such rows for each one returned or changed: sums and counts walk tens for one."""

FEWEST = 50_000.0
"""[P] Rows a second: reading the server's statistics scans some thousand a second itself."""

MOST = 0.5
"""[P] Part of all rows that are read."""


@dataclass(frozen=True)
class RowsRead:
    """Rows a second that are read, and those that are of use."""

    read: float
    few: float
    """So many may be read."""
    useful: float
    by_index: bool
    """Whether an index led to them, and no scan."""

    @property
    def wasted(self) -> float:
        """Rows a second that were read for nothing."""
        return max(self.read - self.useful, 0.0)

    @property
    def said(self) -> Message:
        """A sentence: how they are read, and how many for each of use."""
        figures = {
            "rows": Number(self.read),
            "useful": Number(self.useful),
            "each": Number(self.read / self.useful),
        }
        if self.by_index:
            return say(
                "An index is missing or not used: {rows} rows a second are read through an index "
                "that is not selective, for {useful} rows returned or changed, {each} for each of "
                "them.",
                **figures,
            )
        return say(
            "An index is missing or not used: {rows} rows a second are read in table scans, for "
            "{useful} rows returned or changed, {each} for each of them.",
            **figures,
        )


def sums_up(statement: str) -> bool:
    """Whether a statement gives one row for all that it reads, so that it needs them.

    With more than one condition an index on one of them may lead to rows that the others drop.
    """
    text = " ".join(statement.upper().split())
    if not _SUMS.search(text) or "GROUP BY" in text:
        return False
    return text.count(" AND ") <= text.count(" BETWEEN ")


def rows_read(case: Case, *, scanned: float, led_to: float, useful: float) -> RowsRead:
    """Rows read in scans, or through an index where these are more and far too many; a second."""
    few = max(FEWEST, LONG * case.tps, LONG_WASTE * useful)
    if led_to >= few and led_to > scanned:
        return RowsRead(led_to, few, useful, by_index=True)
    few = max(FEWEST, BY_EVENT * case.tps, WASTE * useful)
    return RowsRead(scanned, few, useful, by_index=False)
