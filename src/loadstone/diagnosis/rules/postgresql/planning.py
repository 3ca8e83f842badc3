"""Statements are planned each time, which takes long where many partitions or indexes are planned.

A prepared statement keeps a plan after five executions, unless plans for single values look cheaper
than that, as they do where a value leaves out most partitions.

Sources: https://www.postgresql.org/docs/current/sql-prepare.html and
https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case, Missing
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import (
    counted,
    lock_manager,
    plan_cache,
    versions,
)
from loadstone.diagnosis.trials import client, dynamic
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

SHARE = 0.1
"""[P] Share of the users' time. Statements that keep their plan have none of it."""

RELATION_S = 5e-6
"""[P] CPU of planning one more partition or index of a table, where the server times no planning.
Measured 2.6 to 7.6 µs (PostgreSQL 15 and 18; 50, 200 and 400 partitions with two indexes each).
"""

_HELD = "pg_locks.held.relation"
_RUNNING = ("pg_stat_activity.active", "pg_stat_activity.idle_in_transaction")


def judge(case: Case) -> Finding | None:
    """The server's own clock says how long it plans; a setting that wants it is another cause."""
    users = counted.planning(case)
    if users is None:
        return _priced(case)
    share = case.needed(time_of(case, _parts(case)))
    if share < SHARE or plan_cache.is_forced(case):
        return None
    return Finding(
        cause="planning",
        group="setting",
        sentence=sentences(*_said(case, users, share)),
        evidence=tuple(_evidence(case, share)),
        share=share,
        confidence=0.8,
        remedy=_remedy(case),
        trial=_trial(case),
        acts_on="server CPU",
    )


def _priced(case: Case) -> Finding | None:
    """Nobody times planning: a transaction has each table and index locked that it plans.

    It may plan one more than once, and has not yet locked all when it is looked at. What it inserts
    into has its indexes locked as well, which are not planned.
    """
    timed = case.reads[-1]
    locked = _locked(case)
    if locked is None:
        raise Missing(timed)
    share = case.needed(time_of(case, _parts(case)))
    if locked <= lock_manager.FEWEST_SLOTS or share < SHARE or plan_cache.is_forced(case):
        return None
    return Finding(
        cause="planning",
        group="setting",
        sentence=say(
            "A transaction has {locks} tables, partitions and indexes locked in the mean: to plan "
            "so many takes {each} µs or more, which is {share} of the users' time.",
            locks=Number(locked),
            each=Number(1e6 * RELATION_S * locked),
            share=Percent(share),
        ),
        evidence=tuple(
            (
                case.seen(
                    say("tables, partitions and indexes locked"),
                    locked,
                    say("of a transaction"),
                    lock_manager.FEWEST_SLOTS,
                ),
                case.seen(
                    say("time of planning (estimate)"), share, say("of the users' time"), SHARE
                ),
                *lock_manager.evidence(case),
            )
        ),
        share=share,
        # A script may have prepared its statements: they take the locks, and keep their plan.
        confidence=0.5 if case.is_scripted else 0.7,
        remedy=_remedy(case),
        trial=_trial(case),
        acts_on="server CPU",
    )


def _locked(case: Case) -> float | None:
    """Tables, partitions and indexes that a transaction has locked; `None`: not known.

    Statements that the load prepares lock them as well, and may keep their plan, and inserts lock
    indexes: then it is `None`.
    """
    held, running = case.mean(_HELD), [case.mean(name) for name in _RUNNING]
    if held is None or None in running or (plan_cache.is_prepared(case) and not case.is_scripted):
        return None
    transactions = sum(number or 0.0 for number in running)
    if case.step.reads < case.step.writes:
        return None
    # Others may hold many: the load's own sessions were seen with no more than that.
    most = lock_manager.most_of_a_session(case)
    return min(held / transactions, most) if transactions and most else None


def _cores(case: Case) -> float | None:
    """Cores that plan, as timed or else priced; `None`: neither."""
    timed = counted.cores_of(case, counted.planning(case))
    if timed is not None:
        return timed
    locked = _locked(case)
    return None if locked is None else case.tps * locked * RELATION_S


def _parts(case: Case) -> Mapping[Place, float]:
    """Of the work on a core, and of the wait for one; empty without an account."""
    used = _cores(case)
    return {} if used is None else parts_of_work(case, used)


def _plans(case: Case) -> float:
    """A second."""
    return versions.per_s(case, counted.total(case, lambda one: one.plans) or 0.0) or 0.0


def _said(case: Case, users: float, share: float) -> Iterator[Message]:
    plans = _plans(case)
    yield say(
        "Planning statements takes {share} of the users' time: {plans} plans a second of {each} µs "
        "each.",
        share=Percent(share),
        plans=Number(plans),
        each=Number(1e6 * users / plans if plans else 0.0),
    )
    locks = lock_manager.most_of_a_session(case)
    if locks is not None and locks > lock_manager.FEWEST_SLOTS:
        yield say(
            "A session has up to {locks} tables, partitions and indexes locked at once: so many "
            "are planned.",
            locks=Number(locks),
        )
    yield from counted.most_by(case, lambda one: one.plan_s)


def _evidence(case: Case, share: float) -> Iterator[Evidence]:
    yield case.seen(say("time of planning"), share, say("of the users' time"), SHARE)
    yield case.seen(plain("pg_stat_statements.plans"), _plans(case), say_in("unit", "/s"))
    yield from lock_manager.evidence(case)


def _remedy(case: Case) -> Message:
    if plan_cache.is_prepared(case) and not plan_cache.wants_generic(case):
        return say(
            "Set plan_cache_mode=force_generic_plan for these sessions, which plans prepared "
            "statements once (a script may send text: have it prepare them); name the partition's "
            "key in the WHERE clause, so that few partitions are planned, and drop indexes that "
            "nobody uses."
        )
    return say(
        "Prepare statements once and execute them often; name the partition's key in the WHERE "
        "clause, so that few partitions are planned, and drop indexes that nobody uses."
    )


def _trial(case: Case) -> Trial | None:
    """Plans that are kept: by a setting, or because statements are prepared at all."""
    if plan_cache.is_prepared(case):
        kept = {"plan_cache_mode": "force_generic_plan"}
        trial = dynamic(case, kept, say("planning each time"))
        # The time is measured: without an effect the plans that are kept are as dear to execute,
        # or the load's script sends text.
        return trial and trial.model_copy(update={"refutes": False})
    if case.drive.get("protocol") != "text":
        return None  # a trial tells prepared statements and texts apart alone
    return client("prepared", "on", "off", say("planning each time"), refutes=False)


def _holds(case: Case) -> Holds | None:
    parts = _parts(case)
    is_timed = counted.planning(case) is not None
    return (parts_of(parts) if is_timed else priced(parts)) if parts else None


RULE = Rule(
    "planning",
    say("statements are planned each time"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
