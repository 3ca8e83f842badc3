"""A transaction, a replica or its slot keeps all versions of changed rows from being cleaned up.

Source: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.grown_work import grown
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import versions
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.hot_spots import Keeper
from loadstone.model.message import Message, plain, say, say_in, sentences

OLD_S = 5.0
"""[P] Lower bound of the oldest transaction's age: far longer than any event of the load."""

TIMES_P99 = 20.0
"""[P] The same as a multiple of the load's own p99."""

KEPT = 10_000.0
"""[P] Transactions since the oldest snapshot: a busy load has a thousand while one event runs."""

MATTERS = 0.05
"""[P] Part of the server's CPU that it takes, from which it is no note."""

MOST = 0.5
"""Part of the dead versions that must be younger than the oldest snapshot to be its doing."""

_SESSIONS = "pg_stat_activity.oldest_xmin_age"
_STANDBYS = "pg_stat_activity.standby_xmin_age"
_SLOTS = "pg_replication_slots.xmin_age"
_PREPARED = "pg_prepared_xacts.xmin_age"
_CHANGES = ("pg_stat_database.target.tup_updated", "pg_stat_database.target.tup_deleted")

_Kind = Literal["session", "prepared", "slot", "standby"]

FEEDBACK_S = 10.0
"""How often a standby says which rows its queries need: wal_receiver_status_interval. What it keeps
between two messages is no query's.

Source: https://www.postgresql.org/docs/current/runtime-config-replication.html
"""


class _Oldest(NamedTuple):
    """What keeps versions for the longest."""

    kind: _Kind
    counter: str
    age: float
    """Transactions since its snapshot."""
    open_s: float
    """How long it has been open."""


def judge(case: Case) -> Finding | None:
    """The oldest snapshot that somebody keeps, while rows change; and what that costs events."""
    oldest = _oldest(case)
    changed = sum(case.needed(case.rate(name)) for name in _CHANGES)
    if oldest.age < KEPT or not changed or not _is_old(case, oldest):
        return None
    cost = _cost(case, oldest)
    return Finding(
        cause="long-transaction",
        group="wait" if cost >= MATTERS else "note",
        sentence=sentences(*_said(case, oldest)),
        evidence=tuple(_evidence(case, oldest)),
        share=cost,
        confidence=0.7,
        remedy=_REMEDIES[oldest.kind],
        acts_on="server CPU",
    )


def keeps_most(case: Case) -> bool:
    """Whether the oldest snapshot is named, and most dead versions are younger than it."""
    return judge(case) is not None and _keeps_most(case, _oldest(case))


_REMEDIES: dict[_Kind, Message] = {
    "slot": say(
        "Remove the slot, or let its replica catch up (pg_replication_slots); without "
        "hot_standby_feedback its queries keep no rows here."
    ),
    "standby": say(
        "End the long query on that standby (pg_stat_replication.backend_xmin names the standby), "
        "or switch hot_standby_feedback off there: then queries there are cancelled rather than "
        "rows kept here."
    ),
    "session": say(
        "End that transaction (pg_stat_activity.xact_start names it); "
        "idle_in_transaction_session_timeout ends those that are forgotten. VACUUM then removes "
        "what it has kept."
    ),
    "prepared": say(
        "COMMIT PREPARED or ROLLBACK PREPARED (pg_prepared_xacts names it): no timeout ends it, "
        "and it survives a restart. VACUUM then removes what it has kept."
    ),
}


def _oldest(case: Case) -> _Oldest:
    """The one with the highest age."""
    prepared_s = case.highest("pg_prepared_xacts.oldest_s") or 0.0
    prepared = _Oldest("prepared", _PREPARED, case.highest(_PREPARED) or 0.0, prepared_s)
    slot, standby = _of_a_replica(case, "slot", _SLOTS), _of_a_replica(case, "standby", _STANDBYS)
    open_s = case.highest("pg_stat_activity.oldest_xmin_s") or 0.0
    session = _Oldest("session", _SESSIONS, case.needed(case.highest(_SESSIONS)), open_s)
    return max(slot, standby, prepared, session, key=lambda one: one.age)


def _of_a_replica(case: Case, kind: _Kind, counter: str) -> _Oldest:
    """Nobody knows since when it keeps rows: as many transactions ago as it is old."""
    age, per_s = case.highest(counter) or 0.0, case.rate("transactions_writing")
    between_s = 0.0 if kind == "slot" and _is_unread(case) else FEEDBACK_S
    return _Oldest(kind, counter, age, age / per_s - between_s if per_s else math.inf)


def _is_unread(case: Case) -> bool:
    """Whether nobody uses the slot that keeps the most rows."""
    spots = case.step.hot_spots
    slots = [one for one in spots.keepers if one.kind == "slot"] if spots else []
    oldest = max(slots, key=lambda one: one.age, default=None)
    return oldest is not None and oldest.state == "inactive"


def _is_old(case: Case, oldest: _Oldest) -> bool:
    usual_s = TIMES_P99 * (case.step.latency.response.p99 or 0.0) / 1000
    return oldest.open_s >= max(OLD_S, usual_s)


def _keeper(case: Case, oldest: _Oldest) -> Keeper | None:
    """The one that the server's views name, if it is of that kind."""
    spots = case.step.hot_spots
    of_kind = [one for one in spots.keepers if one.kind == oldest.kind] if spots else []
    return max(of_kind, key=lambda one: one.age, default=None)


def _said(case: Case, oldest: _Oldest) -> Iterator[Message]:
    keeper = _keeper(case, oldest)
    if oldest.kind == "slot":
        yield say(
            "Versions of changed rows pile up: a replication slot keeps all that {age} "
            "transactions have left.",
            age=Number(oldest.age),
        )
    elif oldest.kind == "standby":
        yield say(
            "Versions of changed rows pile up: a standby's query keeps all that {age} transactions "
            "have left.",
            age=Number(oldest.age),
        )
    elif oldest.kind == "prepared":
        yield say(
            "Versions of changed rows pile up: a transaction was prepared {seconds} s ago and "
            "neither committed nor rolled back, and {age} later ones may have left some.",
            seconds=Number(oldest.open_s),
            age=Number(oldest.age),
        )
    else:
        yield say(
            "Versions of changed rows pile up: a transaction has been open for {seconds} s, and "
            "{age} later ones may have left some.",
            seconds=Number(oldest.open_s),
            age=Number(oldest.age),
        )
    if keeper:
        yield _named(keeper)
    if came := grown(case, oldest.counter):
        yield say(
            "An event's CPU grows with them: {grown} of it within the window came with what is "
            "kept.",
            grown=Percent(came),
        )
    met = versions.visits(case)
    passed = met.passed(are_kept=True) if met and _keeps_most(case, oldest) else 0.0
    if passed and case.tps:
        yield say(
            "Each event passes {visits} dead versions, in scans and of rows that indexes lead to.",
            visits=Number(passed / case.tps),
        )


def _named(keeper: Keeper) -> Message:
    if keeper.kind == "session":
        return say(
            "It is of {name} ({state}), whose last statement was: {statement}",
            name=keeper.name,
            state=keeper.state or "-",
            statement=keeper.statement or "-",
        )
    return say("It is {name} ({state}).", name=keeper.name, state=keeper.state or "-")


def _evidence(case: Case, oldest: _Oldest) -> Iterator[Evidence]:
    yield case.seen(plain(oldest.counter), oldest.age, say_in("unit", "transactions"), KEPT)
    came = grown(case, oldest.counter)
    yield case.seen(say("growth of the CPU per event"), came, plain(""), MATTERS)
    found, met = versions.tables(case), versions.visits(case)
    if found and met:
        dead = sum(one.dead for one in found)
        yield case.seen(plain("pg_stat_user_tables.n_dead_tup"), dead, say_in("unit", "rows"))
        yield case.seen(say("dead versions passed in scans"), met.in_scans, say_in("unit", "/s"))
        yield case.seen(say("index entries without a row"), met.by_entries, say_in("unit", "/s"))
        yield case.seen(say("dead versions of rows looked up"), met.in_chains, say_in("unit", "/s"))


def _keeps_most(case: Case, oldest: _Oldest) -> bool:
    """Whether most dead versions were left by transactions that are younger than its snapshot."""
    found = versions.tables(case) or ()
    made = oldest.age * versions.made_by_transaction(case, found)
    return made >= MOST * sum(one.dead for one in found)


def _cost(case: Case, oldest: _Oldest) -> float:
    """The part of the server's CPU that it takes."""
    cores, came = server_cores(case), grown(case, oldest.counter)
    return max(came, min(_passing(case, oldest) / cores, 1.0)) if cores else came


def _passing(case: Case, oldest: _Oldest) -> float:
    """Cores that come past what it keeps."""
    met = versions.visits(case) if _keeps_most(case, oldest) else None
    return met.cores(are_kept=True) if met else 0.0


def _holds(case: Case) -> Holds | None:
    """What came to the work of events, and as large a part of the wait for a core.

    What came while it was watched is a lower bound, as is what comes past by a constant.
    """
    account = case.step.account
    used = account.users * account.share_of("on core") if account else 0.0
    oldest = _oldest(case)
    came, passing = grown(case, oldest.counter) * used, _passing(case, oldest)
    parts = parts_of_work(case, max(came, passing)) if came or passing else {}
    return priced(parts) if parts else None


RULE = Rule(
    "long-transaction",
    say("a long transaction"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
