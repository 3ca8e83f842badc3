"""Statements start processes that help them, and wait for these to start and end.

Source: https://www.postgresql.org/docs/current/how-parallel-query-works.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from loadstone.analyse.postgresql.settings import size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, parts_of, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

MATTERS = 0.05
"""[P] Share of the users' time."""

PART = 0.2
"""[P] Part of the waits for workers that their start and end have, from which these do more of that
than of the work."""

_WORKERS = "pg_stat_activity.parallel_workers"
_AUTOVACUUM = "pg_stat_activity.autovacuum_workers"

_COMES_AND_GOES = tuple(
    f"IPC:{name}"
    for name in (
        *("BgworkerStartup", "BgWorkerStartup", "BgworkerShutdown", "BgWorkerShutdown"),
        "ParallelFinish",
    )
)
"""States of a session that waits for a worker's start or end."""

_WAITS = (
    *_COMES_AND_GOES,
    *("IPC:ExecuteGather", "IPC:ParallelBitmapScan", "IPC:ParallelCreateIndexScan"),
    *("IPC:MessageQueueInternal", "IPC:MessageQueueReceive", "IPC:MessageQueueSend"),
    "IPC:MessageQueuePutMessage",
)
"""The same, or for what workers send: those who have not started yet send nothing."""

_USUAL: Mapping[str, float] = {
    "parallel_setup_cost": 1000.0,
    "parallel_tuple_cost": 0.1,
    "min_parallel_table_scan_size": float(8 << 20),
    "min_parallel_index_scan_size": float(512 << 10),
}
"""[S] The server's defaults: lower ones start workers for less."""

_FORCED = ("debug_parallel_query", "force_parallel_mode")


def judge(case: Case) -> Finding | None:
    """Users wait for workers that mostly start and end."""
    states = case.needed(case.states())
    waiting, comes = _seen(states, _WAITS), _seen(states, _COMES_AND_GOES)
    share = _share(case)
    if comes < MATTERS * case.users or comes < PART * waiting or not share:
        return None
    return Finding(
        cause="parallel-workers",
        group="setting",
        sentence=sentences(*_said(case, waiting, comes, share)),
        evidence=tuple(_evidence(case, waiting, comes)),
        share=share,
        confidence=0.8,
        remedy=sentences(*_remedies(case)),
        trial=dynamic(
            case, {"max_parallel_workers_per_gather": "0"}, say("workers for short statements")
        ),
        acts_on="server CPU",
    )


def _seen(states: Mapping[str, float], names: Iterable[str]) -> float:
    """Mean number of users in these states."""
    return sum(states.get(name, 0.0) for name in names)


def _said(case: Case, waiting: float, comes: float, share: float) -> Iterator[Message]:
    yield say(
        "Statements start worker processes that do little: at any moment {waiting} users wait for "
        "theirs, {comes} of them for one to start or to end.",
        waiting=Number(waiting),
        comes=Number(comes),
    )
    if lowered := _lowered(case):
        yield say(
            "Workers start for little because of {settings}.",
            settings=Joined([f"{name}={case.variable(name)}" for name in lowered]),
        )
    yield say("This takes {share} of the users' time.", share=Percent(share))


def _lowered(case: Case) -> list[str]:
    """Settings by which workers start earlier than by the server's defaults."""
    return [*_cheap(case), *_forced(case)]


def _cheap(case: Case) -> list[str]:
    return [name for name in _USUAL if _is_lower(case, name)]


def _forced(case: Case) -> list[str]:
    return [name for name in _FORCED if case.variable(name) in ("on", "regress")]


def _is_lower(case: Case, name: str) -> bool:
    # The server writes zero without a unit.
    value = size_of(case.variable(name)) or case.number(name)
    return value is not None and value < _USUAL[name]


def _evidence(case: Case, waiting: float, comes: float) -> Iterator[Evidence]:
    unit = say_in("unit", "connections")
    yield case.seen(say("users that wait for workers"), waiting, unit)
    least = MATTERS * case.users
    yield case.seen(say("users that wait for a worker's start or end"), comes, unit, least)
    workers = case.mean(_WORKERS)
    if workers is not None:
        yield case.seen(plain(_WORKERS), workers, say_in("unit", "processes"))


def _remedies(case: Case) -> Iterator[Message]:
    forced = _forced(case)
    if forced:
        yield say("Switch {settings} off.", settings=Joined(forced))
    yield say(
        "Set max_parallel_workers_per_gather=0 for this load, or raise the settings by which the "
        "planner takes workers: {settings}.",
        settings=Joined(_cheap(case) or _USUAL),
    )


def _share(case: Case) -> float | None:
    """The share of the users' time; without an account that of the users' states."""
    if case.step.account is None:
        return _seen(case.states() or {}, _WAITS) / case.users
    return time_of(case, _parts(case))


def _parts(case: Case) -> dict[Place, float]:
    """Of other waits those for workers; of the wait for a core what the server uses for itself.

    That is mostly the workers, and starting them: they are gone before anybody has looked at them.
    What autovacuum's may use at most is none of it.
    """
    account, states = case.step.account, case.states() or {}
    if account is None:
        return {}
    other, cores = account.share_of("other"), account.cores
    parts: dict[Place, float] = {}
    if other:
        parts["other"] = min(_seen(states, _WAITS) / case.users / other, 1.0)
    if cores and cores.own:
        everything = cores.users + cores.others + cores.own
        own = max(cores.own - (case.mean(_AUTOVACUUM) or 0.0), 0.0)
        parts["waiting for a core"] = own / everything
    return parts


def _holds(case: Case) -> Holds | None:
    parts = _parts(case)
    return parts_of(parts) if parts else None


RULE = Rule(
    "parallel-workers",
    say("short statements start worker processes"),
    judge,
    holds=time_at("other", *CORES),
    holds_in=_holds,
)
