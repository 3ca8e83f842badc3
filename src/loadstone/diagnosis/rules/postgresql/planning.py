"""Statements are planned each time, which takes long where many partitions or indexes are planned.

A prepared statement keeps a plan after five executions, unless plans for single values look cheaper
than that, as they do where a value leaves out most partitions.

Sources: https://www.postgresql.org/docs/current/sql-prepare.html and
https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of
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


def judge(case: Case) -> Finding | None:
    """The server's own clock says how long it plans; a setting that wants it is another cause."""
    users = case.needed(counted.planning(case))
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


def _parts(case: Case) -> Mapping[Place, float]:
    """Of the work on a core, and of the wait for one; empty without an account."""
    used = counted.cores_of(case, counted.planning(case))
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
    return parts_of(parts) if parts else None


RULE = Rule(
    "planning",
    say("statements are planned each time"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
