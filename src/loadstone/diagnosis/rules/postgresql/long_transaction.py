"""A transaction, a replica or its slot keeps all versions of changed rows from being cleaned up.

Source: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean, linear_regression
from typing import Literal, NamedTuple

from loadstone.analyse.foretelling import NORMAL_80
from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of, priced
from loadstone.diagnosis.page_reads import FEWEST, by_second, by_thirds
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
    if grown := _grown(case, oldest):
        yield say(
            "An event's CPU grows with them: {grown} of it within the window came with what is "
            "kept.",
            grown=Percent(grown),
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
    grown = _grown(case, oldest)
    yield case.seen(say("growth of the CPU per event"), grown, plain(""), MATTERS)
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
    cores, grown = server_cores(case), _grown(case, oldest)
    return max(grown, min(_passing(case, oldest) / cores, 1.0)) if cores else grown


def _passing(case: Case, oldest: _Oldest) -> float:
    """Cores that come past what it keeps."""
    met = versions.visits(case) if _keeps_most(case, oldest) else None
    return met.cores(are_kept=True) if met else 0.0


def _grown(case: Case, oldest: _Oldest) -> float:
    """The part of an event's CPU that came with what is kept.

    At least what the last third of the window has and the first had not; where a line through the
    seconds says so, also what had come before.
    """
    cpu, events = _cpu(case), case.series("load", "tps")
    thirds = by_thirds(cpu, events) if cpu and events else None
    within = 1 - thirds[0] / thirds[1] if thirds and thirds[1] else 0.0
    return max(within, _by_age(case, oldest), 0.0)


def _by_age(case: Case, oldest: _Oldest) -> float:
    """The part of an event's CPU in the window that grows with the snapshot's age.

    An event comes past all versions that its rows have, so its CPU is a straight line over the
    transactions since the snapshot. Where that reaches none, the CPU is an event's own, of which
    the upper end of the 80 % interval counts. Seconds before the window are part of the line: the
    further it reaches, the better is its beginning known.
    """
    ages = case.series("server", f"{oldest.counter}.now", warmup=True)
    events = case.series("load", "tps", warmup=True)
    cpu = _cpu(case, warmup=True)
    if not ages or not events or not cpu or case.step.window is None:
        return 0.0
    rates, used = by_second(events), by_second(cpu)
    each = {at: used[at] / rates[at] for at in used if rates.get(at)}
    points = [(_age_at(ages, at - 0.5), one) for at, one in each.items() if at - 0.5 > ages[0][0]]
    if len(points) < FEWEST or len({age for age, _ in points}) < FEWEST:
        return 0.0
    own = _upper_start(points)
    now = fmean(one for at, one in each.items() if at > case.step.window.from_s)
    return 1 - max(own, 0.0) / now if now else 0.0


def _age_at(ages: Series, at: float) -> float:
    """The age at a moment, on the straight line between two looks."""
    before = max(one for one in ages if one[0] <= at)
    after = min((one for one in ages if one[0] > at), default=before)
    span = after[0] - before[0]
    return before[1] + (after[1] - before[1]) * ((at - before[0]) / span if span else 0.0)


def _upper_start(points: list[tuple[float, float]]) -> float:
    """The upper end of the 80 % interval for the value where a line through the points begins."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    slope, start = linear_regression(xs, ys)
    middle = fmean(xs)
    off = sum((y - start - slope * x) ** 2 for x, y in points) / (len(points) - 2)
    spread = sum((x - middle) ** 2 for x in xs)
    return start + NORMAL_80 * math.sqrt(off * (1 / len(points) + middle**2 / spread))


def _cpu(case: Case, *, warmup: bool = False) -> Series | None:
    """Cores that the server's processes used, by second."""
    user = case.series("host", "process.cpu_user_s", warmup=warmup)
    system = dict(case.series("host", "process.cpu_sys_s", warmup=warmup) or ())
    return user and tuple((at, value + system.get(at, 0.0)) for at, value in user)


def _holds(case: Case) -> Holds | None:
    """What came to the work of events, and as large a part of the wait for a core."""
    account = case.step.account
    used = account.users * account.share_of("on core") if account else 0.0
    oldest = _oldest(case)
    grown, passing = _grown(case, oldest) * used, _passing(case, oldest)
    parts = parts_of_work(case, max(grown, passing)) if grown or passing else {}
    return (priced(parts) if passing > grown else parts_of(parts)) if parts else None


RULE = Rule(
    "long-transaction",
    say("a long transaction"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
