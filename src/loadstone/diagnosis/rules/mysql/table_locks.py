"""Users wait for a table: LOCK TABLES, FLUSH, DDL, a backup, or an engine that locks tables."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time; a healthy load waits for no table at all."""

SEEN = 0.03
"""[P] The same where looks at random moments saw it: the few names of states that are read once a
second may meet one moment alone."""

LOCKED = (
    ("metadata lock", say("a table's metadata lock: LOCK TABLES, DDL, or a transaction left open")),
    ("table level lock", say("a table's lock: LOCK TABLES, or an engine that locks whole tables")),
    ("global read lock", say("the global read lock: FLUSH TABLES WITH READ LOCK, or read_only")),
    ("commit lock", say("the global read lock: FLUSH TABLES WITH READ LOCK")),
    ("backup lock", say("the backup lock: a backup, or BACKUP STAGE")),
    ("backup stage", say("the backup lock: a backup, or BACKUP STAGE")),
    ("user lock", say("a lock of GET_LOCK(), which a program takes by itself")),
    ("table flush", say("FLUSH TABLES: a session still uses the old table")),
)
"""Parts of states in the process list, and what a connection in such a state waits for."""


_OF_ENGINES = "table level lock"

OFTEN = 0.1
"""[P] Waits for a table per event, from which they are of the load's own statements."""

_BY_ENGINE = say(
    "No session has locked tables: their engine locks a table for each statement (MyISAM, MEMORY, "
    "Aria). Change them to InnoDB (ALTER TABLE … ENGINE=InnoDB), which locks rows."
)


def judge(case: Case) -> Finding | None:
    """The process list shows what connections wait for, and how many at any moment."""
    states = case.states()
    if states is None and case.step.account is None:
        case.needed(states)
    found = _waits(states or {})
    total = wait_share(case)
    if total < SHARE and (case.time_at("table lock") or 0.0) < SEEN:
        return None
    by_states = bool(found)
    _, state, what = max(found) if by_states else (0.0, "", say("a table or a global lock"))
    counter = plain(f"state.{state}") if by_states else say("users that wait for a table")
    least = SHARE if case.step.account is None else SEEN
    evidence: list[Evidence] = [case.seen(counter, total, say("of the users"), least)]
    waited = case.rate("table_locks_waited")
    if waited is not None:
        evidence.append(case.seen(plain("table_locks_waited"), waited, say_in("unit", "/s")))
    return Finding(
        cause="table-locks",
        group="wait",
        sentence=_sentence(case, total, what, state),
        evidence=tuple(evidence),
        share=total,
        confidence=0.95,
        remedy=_BY_ENGINE
        if _is_the_engines(case, state)
        else say(
            "Find the session that holds the lock (performance_schema.metadata_locks, "
            "SHOW PROCESSLIST), and end it or move its work away from the load."
        ),
        acts_on=None,
    )


def _is_the_engines(case: Case, state: str) -> bool:
    """Whether the load's own statements wait for each other: often, and nobody locks tables."""
    waits, locked = case.rate("table_locks_waited"), case.rate("com_lock_tables")
    return _OF_ENGINES in state and locked == 0.0 and (waits or 0.0) >= OFTEN * case.tps


def _sentence(case: Case, total: float, what: Message, state: str) -> Message:
    values = {
        "waiting": Number(total * case.users),
        "users": Count(case.users),
        "share": Percent(total),
        "what": what,
    }
    if not state:
        return say("At any moment {waiting} of {users} users ({share}) wait for {what}.", **values)
    return say(
        'At any moment {waiting} of {users} users ({share}) wait for {what} (state "{state}").',
        **values,
        state=state,
    )


def wait_share(case: Case) -> float:
    """Share of the users' time in such waits, the larger of the process list's and the looks'.

    Zero where neither was read.
    """
    by_states = sum(value for value, _, _ in _waits(case.states() or {})) / case.users
    return min(max(by_states, case.time_at("table lock") or 0.0), 1.0)


def _waits(states: Mapping[str, float]) -> list[tuple[float, str, Message]]:
    """For each such state: its connections, its name, and what is waited for."""
    return [
        (value, state, what)
        for state, value in states.items()
        for text, what in LOCKED
        if text in state
    ]


RULE = Rule(
    "table-locks",
    say("table and metadata locks"),
    judge,
    holds=rest_of("table lock", is_timed=True),
)
