"""Users wait for rows that others have locked."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

SHARE = 0.3
"""[P] Share of the users' time (DIAGNOSIS 10)."""

HELD_S = 5.0
"""[P] Age of the oldest transaction from which it is the one that holds the rows."""

TIMES_MEDIAN = 20.0
"""[P] The same age divided by the median event: a waiting user has an old transaction as well."""

DEADLOCKS = 0.01
"""[P] Deadlocks per event (DIAGNOSIS 10)."""

_DRAWN = ("oltp_", "select_random_")
"""What the names of workloads begin with whose keys follow --distribution."""

_LOCK_GAPS = ("REPEATABLE-READ", "SERIALIZABLE")

LOST = 0.05
"""[P] Share of the events that are run again; below it nobody would notice the difference."""


def judge(case: Case) -> Finding | None:
    """By Little's law, the seconds waited each second are the number of users that wait."""
    waits = case.needed(case.rate("row_lock_waits"))
    share = case.needed(lock_share(case))
    if share < SHARE:
        return None
    by_event = waits / case.tps if case.tps else None
    each = share * case.users / waits * 1000 if waits else None
    return Finding(
        cause="row-locks",
        group="wait",
        sentence=sentences(
            say(
                "Users spend {share} of their time waiting for locked rows: at any moment "
                "{waiting} of {users} wait.",
                share=Percent(share),
                waiting=Number(share * case.users),
                users=Count(case.users),
            ),
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
        trial=(
            client("distribution", "uniform", None, say("changing the same rows"))
            if case.step.workload.startswith(_DRAWN)
            else None
        ),
        acts_on="row locks",
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


def _remedy(case: Case) -> Message:
    """Advises to end the transaction that holds the rows, if it is far older than the load's."""
    oldest = case.highest("oldest_transaction_s") or 0.0
    if oldest >= max(HELD_S, TIMES_MEDIAN * (case.step.latency.service.p50 or 0.0) / 1000):
        return say(
            "End the transaction that has been open for {seconds} s "
            "(information_schema.INNODB_TRX, sys.innodb_lock_waits); commit sooner.",
            seconds=Number(oldest),
        )
    if case.step.workload == "tpcc":
        return say(
            "Load more warehouses (--warehouses): users of the same warehouse change the same row. "
            "Fewer users wait less and do as much."
        )
    return say(
        "Spread the changes over more rows (a counter in several rows, another key distribution), "
        "change the hot row last in the transaction, and keep transactions short. Fewer users wait "
        "less and do as much."
    )


def lock_share(case: Case) -> float | None:
    """Share of the users that wait for a row at any moment; the largest of three measures.

    Time is counted when a wait ends, so that long waits show late; the number of waiting users is
    read once a second; looks are taken at random moments.
    """
    counted = (case.rate("row_lock_time_s"), case.mean("row_lock_current_waits"))
    known = [value / case.users for value in counted if value is not None and case.users]
    looks, account = case.time_at("row lock"), case.step.account
    if looks is not None and account is not None:
        # Waits that began before the window are counted in it when they end.
        most = looks + account.unnamed + (case.time_at("in the server") or 0.0)
        known = [looks, *(min(value, most) for value in known)]
    return min(max(known), 1.0) if known else None


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
