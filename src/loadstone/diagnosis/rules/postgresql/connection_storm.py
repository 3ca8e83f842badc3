"""Connections are opened again and again: for each the server forks a process, and logs it in.

Source: https://www.postgresql.org/docs/current/tutorial-arch.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

LOGIN_MOST_S = 10e-3
"""[P] The most CPU of a login: a process is forked, logs the user in, fills its caches of catalogs,
and ends. What is counted is the work of the server outside of sessions, which other things do, too.
Measured 8.2 ms on a virtual machine of two cores whose pages take long to map (PostgreSQL 15, 146
connections a second)."""

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

FEWEST = 1.0
"""[P] Connections a second, lower bound: a program that starts is no storm."""

COUNTER = "connections"


def judge(case: Case) -> Finding | None:
    """Connections opened a second, and the users' time that goes into opening them."""
    opened = case.needed(_opened(case))
    share = case.needed(time_of(case, _parts(case, opened)))
    if opened < FEWEST or share < MATTERS or not case.tps:
        return None
    return Finding(
        cause="connection-storm",
        group="setting",
        sentence=sentences(*_said(case, opened, share)),
        evidence=tuple(_evidence(case, opened)),
        share=share,
        confidence=0.85,
        remedy=say(
            "Keep connections open: in the program's own pool, or with a pooler such as PgBouncer "
            "before the server."
        ),
        trial=_kept_open(case),
        acts_on="server CPU",
    )


def _opened(case: Case) -> float | None:
    """Connections opened a second: by anybody, as the server counts them from 14 on, or by us."""
    counted, step = case.rate(COUNTER), case.step
    if counted is not None or not step.connects or not step.seconds:
        return counted
    return step.connects / step.seconds


def _said(case: Case, opened: float, share: float) -> Iterator[Message]:
    yield say(
        "{opened} connections a second are opened for {events} events. For each the server forks a "
        "process, which logs the user in and fills its caches before the first statement.",
        opened=Number(opened),
        events=Number(case.tps),
    )
    opening = case.step.connect
    if opening and opening.mean is not None and case.step.connects:
        yield say(
            "Opening one takes the user {time} ms (mean; p99 {p99} ms).",
            time=Number(opening.mean),
            p99=Number(opening.p99 or 0.0),
        )
    if cores := _cores(case, opened):
        yield say(
            "A login takes {cpu} ms of the server's CPU: its work outside of sessions, divided by "
            "the connections.",
            cpu=Number(1000 * cores / opened),
        )
    yield say("This takes {share} of the users' time.", share=Percent(share))


def _evidence(case: Case, opened: float) -> Iterator[Evidence]:
    by_server = case.rate(COUNTER) is not None
    counter = plain("pg_stat_database.sessions") if by_server else say("connections")
    yield case.seen(counter, opened, say_in("unit", "/s"), FEWEST)
    if (connecting := case.time_at("connecting")) is not None:
        yield case.seen(say("opening connections"), connecting, say("of the users' time"))
    if (cores := _cores(case, opened)) is not None:
        yield case.seen(say("server CPU per login"), 1000 * cores / opened, say_in("unit", "ms"))


def _kept_open(case: Case) -> Trial | None:
    """The load with connections that stay; `None`: others open theirs."""
    after = case.drive.get("reconnect_after")
    if not after or not case.step.connects:
        return None
    return client("reconnect", "never", str(after), say("opening connections again and again"))


def _cores(case: Case, opened: float) -> float | None:
    """Cores that logins use; `None`: the server's processes were not observed.

    A process that logs in is no session yet, and one that works for an event is gone before most
    looks: their work is counted with the server's own.
    """
    cores = case.step.account.cores if case.step.account else None
    if cores is None or cores.own is None:
        return None
    return min(cores.own, opened * LOGIN_MOST_S)


def _parts(case: Case, opened: float) -> Mapping[Place, float]:
    """Users that open a connection are there; others wait for a core that logins use.

    The work itself is in the time of connecting, of these users or of other clients.
    """
    cores = case.step.account.cores if case.step.account else None
    used = _cores(case, opened)
    if cores is None or not used:
        return {"connecting": 1.0}
    all_of_them = cores.users + (cores.others or 0.0) + (cores.own or 0.0)
    return {"connecting": 1.0, "waiting for a core": used / all_of_them}


def _holds(case: Case) -> Holds | None:
    opened = _opened(case)
    return None if opened is None else parts_of(_parts(case, opened))


RULE = Rule(
    "connection-storm",
    say("connections are opened all the time"),
    judge,
    holds=part_of("connecting", *CORES),
    holds_in=_holds,
)
