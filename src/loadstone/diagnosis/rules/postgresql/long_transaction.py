"""A transaction, or a slot of a replica, keeps all versions of changed rows from being cleaned up.

Source: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of
from loadstone.diagnosis.page_reads import by_thirds
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

OLD_S = 5.0
"""[P] Lower bound of the oldest transaction's age: far longer than any event of the load."""

TIMES_P99 = 20.0
"""[P] The same as a multiple of the load's own p99."""

KEPT = 10_000.0
"""[P] Transactions since the oldest snapshot: a busy load has a thousand while one event runs."""

MATTERS = 0.05
"""[P] Part of the CPU per event by which it grew, from which it is no note."""

_SESSIONS = "pg_stat_activity.oldest_xmin_age"
_SLOTS = "pg_replication_slots.xmin_age"
_CHANGES = ("pg_stat_database.target.tup_updated", "pg_stat_database.target.tup_deleted")


def judge(case: Case) -> Finding | None:
    """The oldest snapshot that somebody keeps, while rows change; and what that costs events."""
    by_session = case.needed(case.highest(_SESSIONS))
    by_slot = case.highest(_SLOTS) or 0.0
    age = max(by_session, by_slot)
    changed = sum(case.needed(case.rate(name)) for name in _CHANGES)
    is_slot = by_slot >= age
    if age < KEPT or not changed or not (is_slot or _is_old(case)):
        return None
    grown = _grown(case)
    return Finding(
        cause="long-transaction",
        group="wait" if grown >= MATTERS else "note",
        sentence=sentences(*_said(case, age, grown, is_slot=is_slot)),
        evidence=tuple(_evidence(case, age, grown, is_slot=is_slot)),
        share=grown,
        confidence=0.7,
        remedy=say(
            "Remove the slot, or let its replica catch up (pg_replication_slots); without "
            "hot_standby_feedback its queries keep no rows here."
        )
        if is_slot
        else say(
            "End that transaction (pg_stat_activity.xact_start names it, pg_prepared_xacts those "
            "that are prepared); idle_in_transaction_session_timeout ends those that are forgotten."
        ),
        acts_on="server CPU",
    )


def _is_old(case: Case) -> bool:
    oldest = case.highest("oldest_transaction_s") or 0.0
    return oldest >= max(OLD_S, TIMES_P99 * (case.step.latency.response.p99 or 0.0) / 1000)


def _said(case: Case, age: float, grown: float, *, is_slot: bool) -> Iterator[Message]:
    if is_slot:
        yield say(
            "Versions of changed rows pile up: a replication slot keeps all that {age} "
            "transactions have left.",
            age=Number(age),
        )
    else:
        yield say(
            "Versions of changed rows pile up: a transaction has been open for {seconds} s, and "
            "{age} later ones may have left some.",
            seconds=Number(case.highest("oldest_transaction_s") or 0.0),
            age=Number(age),
        )
    if grown:
        yield say("Within the window {grown} of an event's CPU came to it.", grown=Percent(grown))


def _evidence(case: Case, age: float, grown: float, *, is_slot: bool) -> Iterator[Evidence]:
    yield case.seen(
        plain(_SLOTS if is_slot else _SESSIONS), age, say_in("unit", "transactions"), KEPT
    )
    yield case.seen(say("growth of the CPU per event"), grown, plain(""), MATTERS)


def _grown(case: Case) -> float:
    """The part of an event's CPU in the last third of the window that the first did not have."""
    cpu, events = _cpu(case), case.series("load", "tps")
    thirds = by_thirds(cpu, events) if cpu and events else None
    if thirds is None or not thirds[1]:
        return 0.0
    return max(1 - thirds[0] / thirds[1], 0.0)


def _cpu(case: Case) -> Series | None:
    """Cores that the server's processes used, by second."""
    user = case.series("host", "process.cpu_user_s")
    system = dict(case.series("host", "process.cpu_sys_s") or ())
    return user and tuple((at, value + system.get(at, 0.0)) for at, value in user)


def _holds(case: Case) -> Holds | None:
    """What came to the work of events, and as large a part of the wait for a core."""
    account = case.step.account
    used = account.users * account.share_of("on core") if account else 0.0
    parts = parts_of_work(case, _grown(case) * used) if used else {}
    return parts_of(parts) if parts else None


RULE = Rule(
    "long-transaction",
    say("a long transaction"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
