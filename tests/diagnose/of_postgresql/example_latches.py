"""Waits for locks of the server's memory, by their names."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import (
    hot_pages,
    lock_manager,
    page_table,
    snapshots,
    table_growth,
    transaction_status,
    wal_insertion,
)

_WAITING = an_account(latch=0.4, on_core=0.1)
_BLIND = Figures(
    server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}}
)


def _of(rule: Rule, state: str) -> Example:
    """Three quarters of the waits; next to it, an account in which nobody waits for long."""
    names = {f"state.{state}": 4.5, "state.LWLock:OfAnExtension": 1.5}
    return Example(
        rule,
        a_case(at(_WAITING, means=names)),
        a_case(at(an_account(latch=0.06), means=names)),
        a_case(_BLIND),
        needs="states of the connections",
    )


EXAMPLES = (
    _of(wal_insertion.RULE, "LWLock:WALInsert"),
    _of(hot_pages.RULE, "LWLock:BufferContent"),
    _of(page_table.RULE, "LWLock:BufferMapping"),
    _of(lock_manager.RULE, "LWLock:LockManager"),
    _of(snapshots.RULE, "LWLock:ProcArray"),
    _of(transaction_status.RULE, "LWLock:SubtransSLRU"),
    _of(table_growth.RULE, "Lock:extend"),
)
