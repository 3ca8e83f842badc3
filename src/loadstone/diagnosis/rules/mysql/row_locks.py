"""Users wait for rows that others have locked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.row_waits import (
    HELD_S,
    advice,
    holder_s,
    is_old,
    lock_share,
    other_rows,
    waiting,
)
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import at_start, client, dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences
from loadstone.model.transactions import CHANGES_MOST

SHARE = 0.1
"""[P] Share of the users' time, as of every other lock."""

DEADLOCKS = 0.01
"""[P] Deadlocks per event (DIAGNOSIS 10)."""

_LOCK_GAPS = ("REPEATABLE-READ", "SERIALIZABLE")

COUNTED = 0.5
"""[P] Part of the waits for locks that the counters of waits for rows must explain."""

_AUTO_INCREMENT = "innodb_autoinc_lock_mode"

_SWITCHED_OFF = re.compile(r"autocommit\s*=\s*(0|off|false)", re.IGNORECASE)

LOST = 0.05
"""[P] Share of the events that are run again; below it nobody would notice the difference."""


def judge(case: Case) -> Finding | None:
    """By Little's law, the seconds waited each second are the number of users that wait."""
    waits = case.needed(case.rate("row_lock_waits"))
    share = case.needed(lock_share(case))
    if share < SHARE:
        return None
    if _at_auto_increment(case, share):
        return _inserting_in_turn(case, share)
    by_event = waits / case.tps if case.tps else None
    each = share * case.users / waits * 1000 if waits else None
    return Finding(
        cause="row-locks",
        group="wait",
        sentence=sentences(
            waiting(case, share),
            *_waits(by_event, each),
        ),
        evidence=(
            case.seen(plain("row_lock_time_s"), share, say("of the users' time"), SHARE),
            case.seen(plain("row_lock_waits"), waits, say_in("unit", "/s")),
            case.seen(
                plain("oldest_transaction_s"),
                case.highest("oldest_transaction_s") or 0.0,
                say_in("unit", "s"),
            ),
        ),
        share=share,
        confidence=0.95,
        remedy=_remedy(case),
        trial=_detecting(case) if _waits_in_circles(case) else other_rows(case),
        acts_on="row locks",
    )


def _at_auto_increment(case: Case, share: float) -> bool:
    """Whether users wait for a table's next number.

    By innodb_autoinc_lock_mode=0 that is a lock, kept to the end of a statement and its commit. The
    counters of waits for rows do not count it.
    """
    counted = (case.rate("row_lock_time_s") or 0.0) / case.users
    return case.variable(_AUTO_INCREMENT) == "0" and counted < COUNTED * share


def _inserting_in_turn(case: Case, share: float) -> Finding:
    counted = case.rate("row_lock_time_s") or 0.0
    return Finding(
        cause="row-locks",
        group="wait",
        sentence=say(
            "Users spend {share} of their time waiting to insert: innodb_autoinc_lock_mode=0 gives "
            "the next number of a table to one statement at a time, until it has ended.",
            share=Percent(share),
        ),
        evidence=(
            case.seen(say("users that wait for a lock"), share, say("of their time"), SHARE),
            case.seen(plain("row_lock_time_s"), counted, say("users that wait")),
        ),
        share=share,
        confidence=0.9,
        remedy=say(
            "Set innodb_autoinc_lock_mode=2, which needs row-based binary logs (binlog_format=ROW)."
        ),
        trial=at_start(case, {_AUTO_INCREMENT: "2"}, say("numbers that are given in turn")),
    )


def _waits(by_event: float | None, each_ms: float | None) -> Iterator[Message]:
    if each_ms is None:
        return
    if by_event is None:
        yield say("Each wait takes {each} ms.", each=Number(each_ms))
    else:
        yield say(
            "An event waits {waits} times, {each} ms each.",
            waits=Number(by_event),
            each=Number(each_ms),
        )


def _detecting(case: Case) -> Trial | None:
    detects = {"innodb_deadlock_detect": "ON"}
    return dynamic(case, detects, say("deadlocks that nobody detects"))


def _remedy(case: Case) -> Message:
    """What ends it, for who holds the rows: the load itself, nobody, a session of others."""
    if _never_commits(case):
        return say(
            "Set autocommit=ON for the load's sessions (the variable, init_connect): no COMMIT "
            "follows their changes, so each keeps its rows locked until it ends."
        )
    if (prepared_s := _prepared_s(case)) is not None:
        return say(
            "End the prepared transaction that no session has ({seconds} s old): XA RECOVER lists "
            "it, XA COMMIT or XA ROLLBACK ends it.",
            seconds=Number(prepared_s),
        )
    if _waits_in_circles(case):
        return say(
            "Set innodb_deadlock_detect=ON: transactions that wait for each other do so until "
            "innodb_lock_wait_timeout={timeout} s have passed.",
            timeout=case.variable("innodb_lock_wait_timeout") or "-",
        )
    oldest = holder_s(case)
    if oldest is None and _reads_lock(case):
        return say(
            "Set transaction_isolation=REPEATABLE-READ (or READ-COMMITTED): with SERIALIZABLE each "
            "SELECT in a transaction locks the rows that it reads."
        )
    if oldest is None:
        return advice(case)
    return say(
        "End the transaction that has been open for {seconds} s "
        "(information_schema.INNODB_TRX, sys.innodb_lock_waits); commit sooner.",
        seconds=Number(oldest),
    )


def _reads_lock(case: Case) -> bool:
    own = (case.drive.get("session") or {}).get("isolation")
    level = own or case.variable("transaction_isolation") or case.variable("tx_isolation") or ""
    return level.upper() == "SERIALIZABLE" and case.step.reads > 0


def _never_commits(case: Case) -> bool:
    """Whether the load's changes are neither committed by themselves nor by a statement."""
    changes = sum(case.rate(f"com_{what}") or 0.0 for what in ("insert", "update", "delete"))
    ended = sum(case.rate(f"com_{how}") or 0.0 for how in ("commit", "rollback"))
    by_itself = case.is_on("autocommit") is not False
    if by_itself and not _SWITCHED_OFF.search(case.variable("init_connect") or ""):
        return False
    return bool(changes) and ended < changes / CHANGES_MOST


def _prepared_s(case: Case) -> float | None:
    """Age of a prepared transaction that is older than all that sessions have, if there is one."""
    prepared_s = case.highest("oldest_prepared_transaction_s") or 0.0
    is_oldest = prepared_s >= HELD_S and prepared_s >= (holder_s(case) or 0.0)
    return prepared_s if is_oldest else None


def _waits_in_circles(case: Case) -> bool:
    """Whether transactions wait for long, and for none that goes on: nobody looks for deadlocks."""
    if case.is_on("innodb_deadlock_detect") is not False:
        return False
    if _never_commits(case) or _prepared_s(case) is not None or holder_s(case) is not None:
        return False
    return is_old(case, case.highest("oldest_waiting_transaction_s") or 0.0)


def judge_deadlocks(case: Case) -> Finding | None:
    """Transactions are rolled back and run again because they locked in different orders."""
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
        sentence=_rolled_back(deadlocks, by_event, level if gaps else None),
        evidence=(case.seen(plain("deadlocks"), by_event, say("per event"), DEADLOCKS),),
        share=min(by_event, 1.0),
        confidence=0.85,
        remedy=say(
            "Lock rows in the same order in all transactions and keep transactions short, or use "
            "READ-COMMITTED, which locks no gaps."
        )
        if gaps
        else say("Lock rows in the same order in all transactions, and keep transactions short."),
        trial=(
            client("isolation", "read-committed", level.lower(), say("locking gaps"))
            if gaps
            else None
        ),
        acts_on="row locks",
    )


def _rolled_back(deadlocks: float, by_event: float, locks_gaps: str | None) -> Message:
    said = say(
        "{deadlocks} deadlocks a second hit {share} of the events: their transactions were rolled "
        "back and run again.",
        deadlocks=Number(deadlocks),
        share=Percent(by_event),
    )
    if locks_gaps is None:
        return said
    return sentences(said, say("{level} also locks the gaps between rows.", level=locks_gaps))


RULE = Rule(
    "row-locks", say("row locks (hot rows)"), judge, holds=rest_of("row lock", is_timed=True)
)
DEADLOCKS_RULE = Rule("deadlocks", say("deadlocks"), judge_deadlocks, reads="client")
