"""Connections that are refused, and those that are opened again and again."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.cores import busy_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.lost_connections import lost
from loadstone.diagnosis.refused_connections import failures, share_of, without_connection
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client, dynamic, mysql_release
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

BY_EVENT = 0.1
"""[P] Connections opened per event; DIAGNOSIS 2 asks for one per transaction."""

FEWEST = 1.0
"""[P] Lower bound a second: an observer that reconnects is no storm."""

COST = 0.05
"""[P] Share of the server's CPU from which logins are a part of its work that matters: usual loads
have none."""

_BY_ACCOUNT = ("1203", "1226")
"""[S] Both manuals: more connections than max_user_connections, or than the account may have."""

PLAIN_S = 0.18e-3
"""[P] MariaDB's CPU for one connection: a thread, the login, its variables. Measured 0.2 ms with
MariaDB 10.11 and no cached threads, a statement of 25 µs included."""

MYSQL_S = 0.3e-3
"""[P] The same of MySQL. Measured 0.24 to 0.36 ms with MySQL 9.7 from 200 to 4,000 connections a
second, by the CPU that its threads without a session took."""

TLS_S = 1.5e-3
"""[P] The same for a TLS handshake with an RSA key of 2,048 bits, on top of that."""


def judge(case: Case) -> Finding | None:
    """Attempts that the server turned away."""
    failed = sum(case.step.connect_failures.values())
    refused = case.total("refused_connections") or 0.0
    if failed <= 0 and refused <= 0:
        return None
    limit = case.number("max_connections")
    full = refused > 0 or "1040" in case.step.connect_failures
    attempts = say_in("unit", "attempts")
    evidence: list[Evidence] = [case.seen(plain("connect_failures"), failed, attempts, 0.0)]
    if full:
        evidence.append(case.seen(plain("refused_connections"), refused, attempts, 0.0))
    return Finding(
        cause="connections-refused",
        group="validity",
        sentence=sentences(*_refused(case, round(max(failed, refused)), limit if full else None)),
        evidence=tuple(evidence),
        share=share_of(case),
        confidence=0.9,
        remedy=_way_in(case, full=full),
        trial=(
            dynamic(
                case,
                {"max_connections": str(case.users + 100)},
                say("refusing connections"),
            )
            if full
            else client("connect-at-once", "8", None, say("opening many connections at once"))
        ),
    )


def _refused(case: Case, failed: int, limit: float | None) -> Iterator[Message]:
    yield failures(case, failed)
    yield from without_connection(case)
    if limit:
        yield say("max_connections is {limit}.", limit=Number(limit))


def _way_in(case: Case, *, full: bool) -> Message:
    """What to do about connections that are turned away."""
    if full:
        return say("Raise max_connections above the number of users.")
    if any(code in case.step.connect_failures for code in _BY_ACCOUNT):
        return say(
            "Raise max_user_connections, or the account's own limit, above the number of users."
        )
    return say(
        "Look up the error codes. For a server that accepts slowly (back_log, connect_timeout), "
        "use a longer --connect-timeout and a smaller --connect-at-once."
    )


def judge_storm(case: Case) -> Finding | None:
    """Connections opened a second, compared with the events and the server's CPU."""
    opened = case.needed(case.rate("connections"))
    handshakes = case.rate("ssl_accepts") or 0.0
    cores = server_cores(case)
    share = min(_cost_s(case, opened) / cores, 1.0) if cores else None
    if opened < FEWEST or (opened < BY_EVENT * case.tps and (share or 0.0) < COST):
        return None
    return Finding(
        cause="connection-storm",
        group="setting",
        sentence=_opened(opened, case.tps, handshakes),
        evidence=(
            case.seen(plain("connections"), opened, say_in("unit", "/s"), BY_EVENT * case.tps),
            case.seen(plain("ssl_accepts"), handshakes, say_in("unit", "/s")),
            case.seen(
                plain("threads_created"), case.rate("threads_created") or 0.0, say_in("unit", "/s")
            ),
        ),
        share=share,
        confidence=0.85,
        remedy=say("Keep connections open (with a connection pool), or raise thread_cache_size."),
        trial=dynamic(
            case, {"thread_cache_size": "256"}, say("creating a thread for each connection")
        ),
        acts_on="server CPU",
    )


def _storm_holds(case: Case) -> Holds | None:
    """Users that open a connection are there; the server's work for it fills the cores for others.

    That work itself is in the users' time in connecting, as long as these are their connections.
    Other clients' is in no user's time.
    """
    opened = case.rate("connections")
    if opened is None:
        return None
    cost_s = _cost_s(case, opened)
    work = parts_of_work(case, cost_s)
    if case.step.connects:
        waits: dict[Place, float] = {place: work[place] for place in work if place != "on core"}
        return priced({"connecting": 1.0, **waits})
    busy = busy_cores(case.step.host) if case.step.host else None
    if not busy:
        return priced(work)
    part = min(cost_s / busy, 1.0)
    return priced({"waiting for a core": part, "in the server": part}, outer=True)


def _cost_s(case: Case, opened: float) -> float:
    """The server's CPU a second for so many connections a second.

    If they are other clients', that is no more than the kernel counts of all threads but the
    users': sessions that come and go are hardly ever seen on one.
    """
    plain_s = MYSQL_S if mysql_release(case.variable("version") or "") else PLAIN_S
    cost_s = opened * plain_s + (case.rate("ssl_accepts") or 0.0) * TLS_S
    account = case.step.account
    counted = account.cores if account else None
    if case.step.connects or counted is None or counted.own is None:
        return cost_s
    return min(cost_s, counted.own + counted.others)


def _opened(opened: float, events: float, handshakes: float) -> Message:
    if handshakes:
        return say(
            "{opened} connections a second are opened for {events} events, {part} of the "
            "connections with a TLS handshake. Each costs a thread, a login and a session.",
            opened=Number(opened),
            events=Number(events),
            part=Percent(min(handshakes / opened, 1.0)),
        )
    return say(
        "{opened} connections a second are opened for {events} events. Each costs a thread, a "
        "login and a session.",
        opened=Number(opened),
        events=Number(events),
    )


def judge_lost(case: Case) -> Finding | None:
    """Connections that broke in the window."""
    return lost(
        case,
        say(
            "Look for a restart, a KILL or a timeout in the server's error log; otherwise suspect "
            "the network."
        ),
    )


RULE = Rule("connections-refused", say("connections are refused"), judge, reads="client")
STORM_RULE = Rule(
    "connection-storm",
    say("connections are opened all the time"),
    judge_storm,
    holds=part_of("connecting", *CORES),
    holds_in=_storm_holds,
)
LOST_RULE = Rule("connections-lost", say("connections are lost"), judge_lost, reads="client")
