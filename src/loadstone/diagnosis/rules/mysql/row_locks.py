"""Users wait for rows that others have locked."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.3
"""[P] DIAGNOSIS 10: of the users' time."""

HELD_S = 5.0
"""[P] age of the oldest transaction from which it is whoever holds the rows."""

TIMES_MEDIAN = 20.0
"""[P] and that by the median of an event: who waits has an old transaction as well."""

DEADLOCKS = 0.01
"""[P] DIAGNOSIS 10: by event."""

_LOCK_GAPS = ("REPEATABLE-READ", "SERIALIZABLE")

LOST = 0.05
"""[P] of the events that are begun anew; below it nobody would see the difference."""


def judge(case: Case) -> Finding | None:
    """By Little's law, seconds waited by second are the users that wait."""
    waits = case.needed(case.rate("row_lock_waits"))
    share = case.needed(lock_share(case))
    if share < SHARE:
        return None
    by_event = waits / case.tps if case.tps else None
    each = share * case.users / waits * 1000 if waits else None
    return Finding(
        cause="row-locks",
        group="wait",
        sentence=(
            f"Users wait for locked rows {pct(share)} of their time: "
            f"{num(share * case.users)} of {case.users:,} wait at any moment"
            + (f", {num(by_event)} waits an event" if by_event is not None else "")
            + (f" of {num(each)} ms each." if each is not None else ".")
        ),
        evidence=(
            case.seen("row_lock_time_s", share, "of the users' time", SHARE),
            case.seen("row_lock_waits", waits, "/s"),
            case.seen("oldest_transaction_s", case.highest("oldest_transaction_s") or 0.0, "s"),
        ),
        share=share,
        confidence=0.95,
        remedy=_remedy(case),
        trial=client("distribution", "uniform", None, "changing the same rows"),
        acts_on="row locks",
    )


def _remedy(case: Case) -> str:
    """Whoever keeps them, where a transaction is far older than any of the load takes."""
    oldest = case.highest("oldest_transaction_s") or 0.0
    if oldest >= max(HELD_S, TIMES_MEDIAN * (case.step.latency.service.p50 or 0.0) / 1000):
        return (
            f"End the transaction that has been open for {num(oldest)} s "
            "(information_schema.INNODB_TRX, sys.innodb_lock_waits); commit sooner."
        )
    return (
        "Spread the changes over more rows (a counter in several rows, other key "
        "distribution), change the hot row last in the transaction, keep transactions short; "
        "fewer users wait less and do as much."
    )


def lock_share(case: Case) -> float | None:
    """Share of the users that wait for a row at any moment; the larger of two measures.

    Time is counted when a wait ends, so that long waits show late; the number of those that wait
    is seen once a second.
    """
    time, now = case.rate("row_lock_time_s"), case.mean("row_lock_current_waits")
    known = [value for value in (time, now) if value is not None]
    return min(max(known) / case.users, 1.0) if known and case.users else None


def judge_deadlocks(case: Case) -> Finding | None:
    """Transactions are rolled back and begun anew because they locked in different orders."""
    deadlocks = case.rate("deadlocks")
    if deadlocks is None:
        deadlocks = (
            case.step.errors.get("1213", 0) / case.step.seconds if case.step.seconds else 0.0
        )
    if not case.tps or deadlocks < DEADLOCKS * case.tps:
        return None
    level = case.variable("transaction_isolation") or case.variable("tx_isolation") or ""
    gaps = level in _LOCK_GAPS
    by_event = deadlocks / case.tps
    return Finding(
        cause="deadlocks",
        group="wait" if by_event >= LOST else "note",
        sentence=(
            f"{num(deadlocks)} deadlocks a second, {pct(by_event)} of the events: their "
            "transactions were rolled back and begun anew"
            + (f" ({level} also locks the gaps between rows)." if gaps else ".")
        ),
        evidence=(case.seen("deadlocks", by_event, "by event", DEADLOCKS),),
        share=min(by_event, 1.0),
        confidence=0.85,
        remedy=(
            "Lock rows in the same order in all transactions, keep them short"
            + (", or take READ-COMMITTED, which locks no gaps." if gaps else ".")
        ),
        trial=(
            client("isolation", "read-committed", level.lower(), "locking gaps") if gaps else None
        ),
        acts_on="row locks",
    )


RULE = Rule("row-locks", say("row locks (hot rows)"), judge)
DEADLOCKS_RULE = Rule("deadlocks", say("deadlocks"), judge_deadlocks)
