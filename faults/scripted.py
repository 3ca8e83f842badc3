"""Cases whose load is a script in Lua, as users bring them."""

from __future__ import annotations

from pathlib import Path

from faults import injections
from faults.case import Case, Draw, Fault, Load, Removal, both
from faults.ground import RELAXED

SCRIPTS = Path(__file__).with_name("scripts")
RECONNECTS = str(SCRIPTS / "reconnects.lua")
"""Each event is a connection of its own."""


def deadlocks(draw: Draw) -> Fault:
    """Transactions that lock two rows of a few in any order."""
    rows, users = draw.between(4, 20), draw.between(8, 24)
    return Fault(
        causes=("deadlocks", "row-locks"),
        size=f"{rows} rows, {users} users",
        load=Load(str(SCRIPTS / "deadlocks.lua"), (users,), (f"--rows={rows}",)),
        inject=injections.counted("Innodb_row_lock_waits", 20, "waits for rows"),
        settings=RELAXED,
    )


def old_snapshot(draw: Draw) -> Fault:
    """A queue's head is looked for past all entries that a transaction left open still sees."""
    users, near = draw.between(2, 8), draw.between(16, 64)
    head = "SELECT id FROM sbtest1 WHERE k > 0 ORDER BY k LIMIT 1"
    least = "SELECT id FROM sbtest1 WHERE id > 0 ORDER BY id LIMIT 1"
    return Fault(
        causes=("long-transaction",),
        size=f"{users} users",
        load=Load(str(SCRIPTS / "queue.lua"), (users,), (f"--near={near}",), times=1.6),
        inject=both(injections.old_snapshot(1000), injections.dearer(head, least, 2.0)),
        settings=RELAXED,
        removal=Removal(),
    )


def skewed_index(draw: Draw) -> Fault:
    """There is an index, and it tells next to nothing."""
    values, users = draw.between(2, 4), draw.between(2, 12)
    return Fault(
        causes=("missing-index",),
        size=f"{values} values",
        load=Load(str(SCRIPTS / "skewed.lua"), (users,), (f"--values={values}",)),
        inject=injections.skewed(values),
    )


CASES: tuple[Case, ...] = (
    Case("deadlocks", deadlocks),
    Case("old-snapshot", old_snapshot),
    Case("skewed-index", skewed_index),
)
