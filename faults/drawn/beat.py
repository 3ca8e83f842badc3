"""What the locks of all servers have: how long they are held, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

from faults import others
from faults.case import Draw, Inject
from faults.drawn.drawn import Truth
from faults.ground import TABLES

ROWS_TRUTH = Truth.of("row-locks", ("row lock",), also="long-transaction deadlocks")
TABLE_TRUTH = Truth.of("table-locks", ("table lock",), also="other-clients")


@dataclass(frozen=True)
class Beat:
    """How long a lock is held, and how long it is not."""

    hold_s: float
    pause_s: float


Made = tuple[str, str, Inject, Truth]
"""The kind, what of it was drawn, the injection, and what is known of it."""


def definition(draw: Draw, beat: Beat, change: str) -> Made:
    """A transaction left open, a change of its table that waits, and everybody behind that."""
    table = f"sbtest{draw.between(1, TABLES)}"
    inject = others.definition_held(table, change, beat.hold_s, beat.pause_s)
    truth = Truth.of("table-locks", ("table lock",), also="other-clients long-transaction")
    return "ALTER TABLE that waits", table, inject, truth
