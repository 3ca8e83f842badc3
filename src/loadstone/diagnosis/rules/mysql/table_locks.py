"""Users wait for a table: LOCK TABLES, FLUSH, DDL, a backup, or an engine that locks tables."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.1
"""[P] of the users' time; a healthy load waits for no table at all."""

LOCKED = (
    ("metadata lock", "a table's metadata lock: LOCK TABLES, DDL, or a transaction left open"),
    ("table level lock", "a table's lock: LOCK TABLES, or an engine that locks whole tables"),
    ("global read lock", "the global read lock: FLUSH TABLES WITH READ LOCK, or read_only"),
    ("commit lock", "the global read lock: FLUSH TABLES WITH READ LOCK"),
    ("backup lock", "the backup lock: a backup, or BACKUP STAGE"),
    ("backup stage", "the backup lock: a backup, or BACKUP STAGE"),
    ("table flush", "FLUSH TABLES: somebody still uses the old table"),
)


def judge(case: Case) -> Finding | None:
    """The process list says for what connections wait, by their number at any moment."""
    found = _waits(case.needed(case.states()))
    total = wait_share(case)
    if total < SHARE:
        return None
    _, state, what = max(found)
    evidence: list[Evidence] = [case.seen(f"state.{state}", total, "of the users", SHARE)]
    waited = case.rate("table_locks_waited")
    if waited is not None:
        evidence.append(case.seen("table_locks_waited", waited, "/s"))
    return Finding(
        cause="table-locks",
        group="wait",
        sentence=(
            f"{num(total * case.users)} of {case.users:,} users ({pct(total)}) wait at any moment "
            f'for {what} (state "{state}").'
        ),
        evidence=tuple(evidence),
        share=total,
        confidence=0.95,
        remedy=(
            "Find the session that holds the lock (performance_schema.metadata_locks, "
            "SHOW PROCESSLIST), end it or move its work away from the load."
        ),
        acts_on=None,
    )


def wait_share(case: Case) -> float:
    """Share of the users' time in such waits; nought where the process list was not seen."""
    return min(sum(value for value, _, _ in _waits(case.states() or {})) / case.users, 1.0)


def _waits(states: Mapping[str, float]) -> list[tuple[float, str, str]]:
    """Connections in it, the state, what is waited for."""
    return [
        (value, state, what)
        for state, value in states.items()
        for text, what in LOCKED
        if text in state
    ]


RULE = Rule("table-locks", say("table and metadata locks"), judge)
