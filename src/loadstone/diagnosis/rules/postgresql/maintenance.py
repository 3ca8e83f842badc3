"""The server's own processes vacuum tables or send a base backup, and take cores and the disk.

What a session of somebody does, VACUUM as well, is another client's.

Sources: https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM and
https://www.postgresql.org/docs/current/progress-reporting.html#BASEBACKUP-PROGRESS-REPORTING
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import Holds, part_of_waits, parts_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.users_time import time_of
from loadstone.diagnosis.waits_for_threads import with_waits_for
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

MATTERS = 0.1
"""[P] Share of the users' time: with the server's defaults autovacuum rests most of the time."""

AT_WORK = 0.5
"""[P] Mean number of such processes: less is over before long."""

_VACUUM = "pg_stat_activity.autovacuum_workers"
_BACKUP = "pg_stat_progress_basebackup"
_WORKERS = "pg_stat_activity.parallel_workers"


def judge(case: Case) -> Finding | None:
    """Processes of the server at work on maintenance, and what they take from users."""
    if _at_work(case) < AT_WORK:
        return None
    share = case.needed(time_of(case, _parts(case)))
    if share < MATTERS:
        return None
    return Finding(
        cause="maintenance",
        group="validity",
        sentence=sentences(*_said(case, share)),
        evidence=tuple(_evidence(case)),
        share=share,
        # The server's other processes are counted with them.
        confidence=0.7,
        remedy=sentences(*_remedies(case)),
        acts_on="server CPU",
    )


def _of(case: Case, name: str) -> float:
    return case.mean(name) or 0.0


def _at_work(case: Case) -> float:
    return _of(case, _VACUUM) + _of(case, _BACKUP)


def _said(case: Case, share: float) -> Iterator[Message]:
    if _of(case, _VACUUM) >= _of(case, _BACKUP):
        yield say(
            "Autovacuum is at work while it is measured: {workers} of its processes at any moment.",
            workers=Number(_of(case, _VACUUM)),
        )
    else:
        yield say(
            "A base backup is taken while it is measured: {backups} at any moment.",
            backups=Number(_of(case, _BACKUP)),
        )
    yield say(
        "What the server does for itself takes {share} of the users' time. Do not compare these "
        "figures.",
        share=Percent(share),
    )


def _evidence(case: Case) -> Iterator[Evidence]:
    for name in (_VACUUM, _BACKUP):
        if _of(case, name):
            yield case.seen(plain(name), _of(case, name), say_in("unit", "processes"), AT_WORK)
    account = case.step.account
    if account and account.cores and account.cores.own is not None:
        yield case.seen(say("CPU of the server's own"), account.cores.own, say_in("unit", "cores"))


def _remedies(case: Case) -> Iterator[Message]:
    if _of(case, _VACUUM) >= _of(case, _BACKUP):
        yield say(
            "Measure once it is done (pg_stat_progress_vacuum), and have it rest more: "
            "autovacuum_vacuum_cost_delay is {delay}, autovacuum_vacuum_cost_limit {limit}.",
            delay=case.variable("autovacuum_vacuum_cost_delay") or "-",
            limit=case.variable("autovacuum_vacuum_cost_limit") or "-",
        )
    else:
        yield say(
            "Measure once it is done (pg_stat_progress_basebackup), or take it from a standby."
        )


def _parts(case: Case) -> Mapping[Place, float]:
    """Of the wait for a core, and for pages, what these processes have; empty without an account.

    Each uses a core at most. Workers of parallel queries, and from 18 on those that read pages, are
    processes of the server's own as well.
    """
    account, workers = case.step.account, case.mean(_WORKERS) or 0.0
    cores, disks = (account.cores, account.disks) if account else (None, None)
    parts: dict[Place, float] = {}
    if cores and cores.own:
        work = min(max(cores.own - workers, 0.0), _at_work(case))
        parts["waiting for a core"] = work / (cores.users + cores.others + cores.own)
    reads_for_users = workers > 0 or case.variable("io_method") == "worker"
    if disks and disks.own and disks.own.read and not reads_for_users:
        everything = disks.users.read + disks.others.read + disks.own.read
        parts["disk read"] = disks.own.read / everything
    return parts


def _holds(case: Case) -> Holds | None:
    account, parts = case.step.account, _parts(case)
    if account is None or not parts:
        return None
    return parts_of(with_waits_for(account, parts, parts), outer=True)


RULE = Rule(
    "maintenance",
    say("the server's own maintenance"),
    judge,
    holds=part_of_waits(),
    holds_in=_holds,
)
