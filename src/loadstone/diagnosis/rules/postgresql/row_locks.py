"""Users wait for rows that others have locked.

Source: https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.row_waits import (
    HELD_S,
    advice,
    holder_s,
    lock_share,
    other_rows,
    waiting,
)
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Seconds
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time."""

_WAITING = "pg_stat_activity.waiting_for_rows"
_OLDEST = "pg_stat_activity.oldest_transaction_s"
_PREPARED = "pg_prepared_xacts.oldest_s"


def judge(case: Case) -> Finding | None:
    """Sessions that wait for the transaction that changed a row to end, or for their turn."""
    share = case.needed(lock_share(case))
    if share < SHARE:
        return None
    return Finding(
        cause="row-locks",
        group="wait",
        sentence=waiting(case, share),
        evidence=tuple(_evidence(case, share)),
        share=share,
        confidence=0.95,
        remedy=_remedy(case),
        trial=other_rows(case),
        acts_on="row locks",
    )


def _evidence(case: Case, share: float) -> Iterator[Evidence]:
    yield case.seen(say("users that wait for a row"), share, say("of the users' time"), SHARE)
    if (sessions := case.mean(_WAITING)) is not None:
        yield case.seen(plain(_WAITING), sessions, say_in("unit", "sessions"))
    if (oldest_s := case.highest(_OLDEST)) is not None:
        yield case.seen(plain(_OLDEST), oldest_s, say_in("unit", "s"))


def _remedy(case: Case) -> Message:
    """Advises to end the transaction that holds the rows, if it is far older than the load's."""
    if (prepared := end_prepared(case)) is not None:
        return prepared
    oldest = holder_s(case)
    if oldest is None:
        return advice(case)
    return say(
        "End the transaction that has been open for {time} (pg_blocking_pids(pid) says whom a "
        "session waits for, pg_stat_activity what that one does); commit sooner.",
        time=Seconds(oldest),
    )


def end_prepared(case: Case) -> Message | None:
    """Advises to end a prepared transaction, if it is older than all sessions' transactions.

    It keeps its locks, and belongs to no session any more.
    """
    prepared_s = case.highest(_PREPARED)
    if prepared_s is None or prepared_s < max(HELD_S, case.highest(_OLDEST) or 0.0):
        return None
    return say(
        "A transaction was prepared {time} ago, keeps its locks, and belongs to no session: SELECT "
        "gid, owner FROM pg_prepared_xacts, then COMMIT PREPARED or ROLLBACK PREPARED.",
        time=Seconds(prepared_s),
    )


RULE = Rule(
    "row-locks", say("row locks (hot rows)"), judge, holds=rest_of("row lock", is_timed=True)
)
