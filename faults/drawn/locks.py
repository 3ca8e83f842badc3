"""Any lock, held by a session for some time, again and again."""

from __future__ import annotations

from collections.abc import Callable

from faults import injections, others
from faults.case import Draw, Fault, Inject
from faults.drawn.base import draw_base
from faults.drawn.beat import ROWS_TRUTH, TABLE_TRUTH, Beat, Made, definition
from faults.drawn.drawn import Drawn, Truth
from faults.drawn.postgresql_locks import MAKERS_OF_POSTGRESQL, SETTINGS
from faults.ground import ROWS, TABLES
from faults.injections import Holding

_HOLD_S = 0.02, 2.0
_PAUSE_S = 0.02, 1.0
"""Both together fit into a run of some seconds more than once."""


def draw_lock(draw: Draw, number: int, release: str) -> Drawn:
    """One of the locks, with its beat."""
    is_postgresql = draw.server == "postgresql"
    make = draw.chance.choice(MAKERS_OF_POSTGRESQL if is_postgresql else MAKERS)
    beat = Beat(draw.size(*_HOLD_S), draw.size(*_PAUSE_S))
    kind, what, inject, truth = make(draw, beat)
    base = draw_base(draw)
    size = f"{what} for {beat.hold_s:g} s, pauses of {beat.pause_s:g} s; {base.words}"
    settings = {**base.settings, **(SETTINGS if is_postgresql else {})}
    fault = Fault((), size, base.load, inject, settings)
    return Drawn(number, "lock", kind, release, fault, truth, start={})


def _row(draw: Draw, beat: Beat) -> Made:
    """One row of each table."""
    row = draw.between(1, ROWS)
    return "row", f"row {row}", _held(f"WHERE id = {row}", beat), ROWS_TRUTH


def _range(draw: Draw, beat: Beat) -> Made:
    """The first rows of each table, and the gaps between them."""
    last = draw.between(2, ROWS)
    return "range", f"{last} rows", _held(f"WHERE id BETWEEN 1 AND {last}", beat), ROWS_TRUTH


def _held(which: str, beat: Beat) -> Inject:
    tables = (f"sbtest{number}" for number in range(1, TABLES + 1))
    locks = [f"SELECT SUM(k) FROM {table} {which} FOR UPDATE" for table in tables]
    return others.rows_held(beat.hold_s, beat.pause_s, locks)


def _tables(mode: str) -> Callable[[Draw, Beat], Made]:
    def make(draw: Draw, beat: Beat) -> Made:
        count = draw.between(1, TABLES)
        tables = ", ".join(f"sbtest{number} {mode}" for number in range(1, count + 1))
        inject = injections.held(_holding(f"LOCK TABLES {tables}", beat))
        return f"LOCK TABLES {mode}", f"{count} tables", inject, TABLE_TRUTH

    return make


def _everything(draw: Draw, beat: Beat) -> Made:
    """As backups take it."""
    truth = Truth.of("table-locks tables-flushed", ("table lock",), also="other-clients")
    holding = _holding("FLUSH TABLES WITH READ LOCK", beat)
    return "FLUSH TABLES WITH READ LOCK", "everything", injections.held(holding), truth


def _holding(take: str, beat: Beat) -> Holding:
    return Holding((take,), ("UNLOCK TABLES",), beat.hold_s, beat.pause_s, "lock")


def _definition(draw: Draw, beat: Beat) -> Made:
    return definition(draw, beat, "COMMENT 'altered {number}'")


MAKERS: tuple[Callable[[Draw, Beat], Made], ...] = (
    _row,
    _range,
    _tables("READ"),
    _tables("WRITE"),
    _everything,
    _definition,
)
