"""Statements start processes that help them, and are over sooner than a process starts.

Source: https://www.postgresql.org/docs/current/how-parallel-query-works.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.analyse.postgresql.settings import size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, parts_of, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

MATTERS = 0.05
"""[P] Share of the users' time."""

LONG_S = 0.1
"""[P] Time of a statement from which workers may be worth it: starting one takes 1 to 3 ms, and
several start one after the other."""

_WORKERS = "pg_stat_activity.parallel_workers"

_WAITS = tuple(
    f"IPC:{name}"
    for name in (
        *("BgworkerStartup", "BgWorkerStartup", "BgworkerShutdown", "BgWorkerShutdown"),
        *("ParallelFinish", "ExecuteGather", "ParallelBitmapScan", "ParallelCreateIndexScan"),
        *("MessageQueueInternal", "MessageQueueReceive", "MessageQueueSend"),
        "MessageQueuePutMessage",
    )
)
"""Of a session that waits for its workers, or for what they send."""

_USUAL: Mapping[str, float] = {
    "parallel_setup_cost": 1000.0,
    "parallel_tuple_cost": 0.1,
    "min_parallel_table_scan_size": float(8 << 20),
    "min_parallel_index_scan_size": float(512 << 10),
}
"""[S] The server's defaults: lower ones start workers for less."""

_FORCED = ("debug_parallel_query", "force_parallel_mode")


def judge(case: Case) -> Finding | None:
    """Users wait for workers of statements that are short."""
    states = case.needed(case.states())
    share = _share(case)
    statements = case.step.qps
    if not share or share < MATTERS or not statements:
        return None
    each_s = case.users / statements
    if each_s > LONG_S:
        return None
    waiting = sum(states.get(name, 0.0) for name in _WAITS)
    return Finding(
        cause="parallel-workers",
        group="setting",
        sentence=sentences(*_said(case, waiting, each_s, share)),
        evidence=tuple(_evidence(case, waiting, each_s)),
        share=share,
        confidence=0.8,
        remedy=_remedy(case),
        trial=dynamic(
            case, {"max_parallel_workers_per_gather": "0"}, say("workers for short statements")
        ),
        acts_on="server CPU",
    )


def _said(case: Case, waiting: float, each_s: float, share: float) -> Iterator[Message]:
    yield say(
        "Statements of {each} ms start worker processes: at any moment {waiting} users wait for "
        "theirs to start, to send rows or to end.",
        each=Number(1000 * each_s),
        waiting=Number(waiting),
    )
    if lowered := _lowered(case):
        yield say(
            "Workers start for little because of {settings}.",
            settings=Joined([f"{name}={case.variable(name)}" for name in lowered]),
        )
    yield say("This takes {share} of the users' time.", share=Percent(share))


def _lowered(case: Case) -> list[str]:
    """Settings by which workers start earlier than by the server's defaults."""
    found = [name for name in _USUAL if _is_lower(case, name)]
    return found + [name for name in _FORCED if case.variable(name) in ("on", "regress")]


def _is_lower(case: Case, name: str) -> bool:
    # The server writes zero without a unit.
    value = size_of(case.variable(name)) or case.number(name)
    return value is not None and value < _USUAL[name]


def _evidence(case: Case, waiting: float, each_s: float) -> Iterator[Evidence]:
    yield case.seen(say("users that wait for workers"), waiting, say_in("unit", "connections"))
    yield case.seen(say("time of a statement"), each_s, say_in("unit", "s"), LONG_S)
    workers = case.mean(_WORKERS)
    if workers is not None:
        yield case.seen(plain(_WORKERS), workers, say_in("unit", "processes"))


def _remedy(case: Case) -> Message:
    return say(
        "Set max_parallel_workers_per_gather=0 for this load, or raise the settings by which the "
        "planner takes workers: {settings}.",
        settings=Joined(_lowered(case) or _USUAL),
    )


def _share(case: Case) -> float | None:
    """The share of the users' time; without an account that of the users' states."""
    account, parts = case.step.account, _parts(case)
    if account is None:
        states = case.states() or {}
        return sum(states.get(name, 0.0) for name in _WAITS) / case.users
    return sum(part * account.share_of(place) for place, part in parts.items())


def _parts(case: Case) -> dict[Place, float]:
    """Of other waits those for workers; of the wait for a core what the server uses for itself.

    That is mostly the workers, and starting them: they are gone before anybody has looked at them.
    """
    account, states = case.step.account, case.states() or {}
    if account is None:
        return {}
    waits = sum(states.get(name, 0.0) for name in _WAITS) / case.users
    other = account.share_of("other")
    parts: dict[Place, float] = {"other": min(waits / other, 1.0)} if other else {}
    cores = account.cores
    if waits and cores and cores.own:
        parts["waiting for a core"] = cores.own / (cores.users + cores.others + cores.own)
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
