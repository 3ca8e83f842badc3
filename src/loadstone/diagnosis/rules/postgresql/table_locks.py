"""Users wait for a table or another lock that is none of a row's: DDL, VACUUM FULL, LOCK TABLE.

Source: https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import row_locks
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time; a healthy load waits for no table at all."""

SEEN = 0.03
"""[P] The same where looks at random moments saw it: states that are read once a second may be
those of one moment alone."""

LOCKED: Mapping[str, Message] = {
    "Lock:relation": say("a table: LOCK TABLE, ALTER TABLE, VACUUM FULL, or an index being made"),
    "Lock:virtualxid": say("a transaction that an index being made, or VACUUM, waits for"),
    "Lock:advisory": say("an advisory lock, which a program takes by itself"),
    "Lock:object": say(
        "an object of the catalog that another session changes, or the queue of NOTIFY, into which "
        "one session commits at a time"
    ),
}
"""Wait events, and what a session waits for with each."""

_OTHER = say("a lock of the server")


def judge(case: Case) -> Finding | None:
    """Wait events show what sessions wait for, and how many at any moment."""
    found = _waits(case.states() or {})
    share = case.needed(_share(case, found))
    if share < _least(case):
        return None
    _, state = max(found, default=(0.0, ""))
    return Finding(
        cause="table-locks",
        group="wait",
        sentence=_sentence(case, share, state),
        evidence=tuple(_evidence(case, share, state)),
        share=share,
        confidence=0.95,
        remedy=_remedy(case, state),
    )


def _remedy(case: Case, state: str) -> Message:
    if (prepared := row_locks.end_prepared(case)) is not None:
        return prepared
    if state == "Lock:object":
        return say(
            "Send fewer notifications (NOTIFY, pg_notify), one for many changes, and outside of "
            "the transactions that matter. If nobody sends any, find the session that holds the "
            "lock (pg_blocking_pids(pid), pg_locks)."
        )
    return say(
        "Find the session that holds the lock (pg_blocking_pids(pid), pg_locks), and end it or "
        "move its work away from the load."
    )


def _share(case: Case, found: list[tuple[float, str]]) -> float | None:
    """Share of the users' time in such waits, by looks at random moments where there are any."""
    seen = case.time_at("table lock")
    if seen is None and case.states() is not None:
        return min(sum(value for value, _ in found) / case.users, 1.0)
    return seen


def _least(case: Case) -> float:
    return SHARE if case.step.account is None else SEEN


def _waits(states: Mapping[str, float]) -> list[tuple[float, str]]:
    return [(value, state) for state, value in states.items() if state in LOCKED]


def _sentence(case: Case, share: float, state: str) -> Message:
    values = {
        "waiting": Number(share * case.users),
        "users": Count(case.users),
        "share": Percent(share),
        "what": LOCKED.get(state, _OTHER),
    }
    if not state:
        return say("At any moment {waiting} of {users} users ({share}) wait for {what}.", **values)
    return say(
        'At any moment {waiting} of {users} users ({share}) wait for {what} (state "{state}").',
        **values,
        state=state,
    )


def _evidence(case: Case, share: float, state: str) -> Iterator[Evidence]:
    of_time = say("of the users' time")
    yield case.seen(say("users that wait for a table"), share, of_time, _least(case))
    if state:
        sessions = (case.states() or {})[state]
        yield case.seen(plain(f"state.{state}"), sessions, say_in("unit", "connections"))


RULE = Rule(
    "table-locks",
    say("table and metadata locks"),
    judge,
    holds=rest_of("table lock", is_timed=True),
)
