"""Transactions that lock in different orders wait for each other until the server looks for that.

A session looks for a deadlock once it has waited for deadlock_timeout. Until then the transactions
keep their rows locked, and others queue behind them.

Source: https://www.postgresql.org/docs/current/runtime-config-locks.html
"""

from __future__ import annotations

from loadstone.analyse.postgresql.durations import seconds_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.locked_rows import hold_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.error_codes import DEADLOCKS
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in

BY_EVENT = 0.01
"""[P] Deadlocks per event (DIAGNOSIS 10)."""

SHARE = 0.01
"""[P] Share of the users' time that is spent because deadlocks are found late."""

LOST = 0.05
"""[P] Share of the users' time, or of the events that are run again, from which it is no note."""

WAIT = 2.0
"""[P] Transactions that wait, and keep rows locked, until a deadlock is found: the one that looks
for it does so for the whole timeout, the other one for nearly as long."""

_COUNTER = "pg_stat_database.deadlocks"

SOON = "50ms"
SOON_S = 0.05
"""[P] A timeout that ends deadlocks soon, and is longer than most other waits for rows."""


def judge(case: Case) -> Finding | None:
    """Deadlocks a second times the time until each is found: Little's law."""
    deadlocks = _counted(case)
    timeout_s = case.needed(seconds_of(case.variable("deadlock_timeout")))
    if not deadlocks:
        return None
    by_event = min(deadlocks / case.tps, 1.0) if case.tps else 1.0
    share = _share(case, WAIT * deadlocks * timeout_s)
    if by_event < BY_EVENT and share < SHARE:
        return None
    return Finding(
        cause="deadlocks",
        group="wait" if max(by_event, share) >= LOST else "note",
        sentence=say(
            "{deadlocks} deadlocks a second, each of which is found only after "
            "deadlock_timeout={timeout}: until then its transactions keep their rows locked, and "
            "users wait for {share} of their time because of that. {part} of the events are rolled "
            "back and run again.",
            deadlocks=Number(deadlocks),
            timeout=case.variable("deadlock_timeout"),
            share=Percent(share),
            part=Percent(by_event),
        ),
        evidence=(
            case.seen(plain(_COUNTER), deadlocks, say_in("unit", "/s")),
            case.seen(say("deadlocks per event"), by_event, plain(""), BY_EVENT),
            case.seen(say("waiting because of deadlocks"), share, say("of the users' time"), SHARE),
        ),
        share=share,
        confidence=0.9,
        remedy=say("Lock rows in the same order in all transactions, and keep transactions short."),
        trial=_sooner(case, timeout_s),
        acts_on="row locks",
    )


def _share(case: Case, deadlocked: float) -> float:
    """The waits for rows that so many transactions in deadlocks cause, as a share of all time.

    Who waits for a row waits for one of those that keep rows locked: in a deadlock, or at work.
    """
    own, waits, hold = deadlocked / case.users, case.time_at("row lock"), hold_of(case)
    if waits is None or hold is None:
        return min(own, 1.0 if waits is None else waits)
    return waits * own / (own + sum(hold.places.values()))


def _counted(case: Case) -> float:
    """Deadlocks a second by the server, else by the errors of the load."""
    counted = case.rate(_COUNTER)
    if counted is not None or not case.step.seconds:
        return counted or 0.0
    return sum(case.step.errors.get(code, 0) for code in DEADLOCKS) / case.step.seconds


def _sooner(case: Case, timeout_s: float) -> Trial | None:
    if timeout_s <= 2 * SOON_S:
        return None
    return dynamic(
        case,
        {"deadlock_timeout": SOON},
        say("waiting until deadlocks are found"),
        costs=say("each wait for a lock that lasts so long makes its session look for deadlocks"),
    )


RULE = Rule("deadlocks", say("deadlocks"), judge, holds=time_at("row lock"))
