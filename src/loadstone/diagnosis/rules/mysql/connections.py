"""Connections that are refused, and those that are opened again and again."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client, dynamic
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

BY_EVENT = 0.1
"""[P] connections opened by event; DIAGNOSIS 2 asks for one by transaction."""

FEWEST = 1.0
"""[P] a second, at least: an observer that connects anew is no storm."""

COST = 0.15
"""[P] of the server's CPU, from which logins are much of its work however many events there are."""

_BY_ACCOUNT = ("1203", "1226")
"""[S] both manuals: more connections than max_user_connections, or than the account may have."""

PLAIN_S = 0.18e-3
"""[P] the server's CPU for one connection: a thread, the login, its variables. Measured 0.2 ms with
MariaDB 10.11 and no cached threads, a statement of 25 µs included."""

TLS_S = 1.5e-3
"""[P] beside it that of a TLS handshake with an RSA key of 2,048 bits."""


def judge(case: Case) -> Finding | None:
    """Attempts that the server turned away."""
    failed = sum(case.step.connect_failures.values())
    refused = case.total("refused_connections") or 0.0
    if failed <= 0 and refused <= 0:
        return None
    limit = case.number("max_connections")
    full = refused > 0 or "1040" in case.step.connect_failures
    numbers = ", ".join(f"{count:,} × {code}" for code, count in case.step.connect_failures.items())
    missing = max(case.users - case.step.users, 0)
    evidence: list[Evidence] = [case.seen("connect_failures", failed, "attempts", 0.0)]
    if full:
        evidence.append(case.seen("refused_connections", refused, "attempts", 0.0))
    return Finding(
        cause="connections-refused",
        group="validity",
        sentence=(
            f"{num(max(failed, refused))} connection attempts failed"
            + (f" ({numbers})" if numbers else "")
            + (f"; {missing:,} of {case.users:,} users had none at the end" if missing else "")
            + (f": max_connections is {num(limit)}." if full and limit else ".")
        ),
        evidence=tuple(evidence),
        share=missing / case.users if missing else 0.05,
        confidence=0.9,
        remedy=_way_in(case, full=full),
        trial=(
            dynamic(case, {"max_connections": str(case.users + 100)}, "refusing connections")
            if full
            else client("connect-at-once", "8", None, "connecting many at once")
        ),
    )


def _way_in(case: Case, *, full: bool) -> str:
    """What to do about connections that are turned away."""
    if full:
        return "Raise max_connections above the number of users."
    if any(code in case.step.connect_failures for code in _BY_ACCOUNT):
        return "Raise max_user_connections, or the account's own limit, above the number of users."
    return (
        "Look at the error numbers; a longer --connect-timeout and a smaller --connect-at-once "
        "help servers that accept slowly (back_log, connect_timeout)."
    )


def judge_storm(case: Case) -> Finding | None:
    """Connections opened by second, within the window, against the events and the server's CPU."""
    opened = case.needed(case.rate("connections"))
    handshakes = case.rate("ssl_accepts") or 0.0
    cost_s = opened * PLAIN_S + handshakes * TLS_S
    cores = server_cores(case)
    share = min(cost_s / cores, 1.0) if cores else None
    if opened < FEWEST or (opened < BY_EVENT * case.tps and (share or 0.0) < COST):
        return None
    return Finding(
        cause="connection-storm",
        group="setting",
        sentence=(
            f"{num(opened)} connections a second are opened for {num(case.tps)} events"
            + (
                f", {pct(min(handshakes / opened, 1.0))} of them with a TLS handshake"
                if handshakes
                else ""
            )
            + ": each costs a thread, a login and its session."
        ),
        evidence=(
            case.seen("connections", opened, "/s", BY_EVENT * case.tps),
            case.seen("ssl_accepts", handshakes, "/s"),
            case.seen("threads_created", case.rate("threads_created") or 0.0, "/s"),
        ),
        share=share,
        confidence=0.85,
        remedy="Keep connections open (a connection pool); a larger thread_cache_size.",
        trial=dynamic(case, {"thread_cache_size": "256"}, "making a thread for each connection"),
        acts_on="server CPU",
    )


def judge_lost(case: Case) -> Finding | None:
    """Connections that broke in the window: what is measured is also the time without."""
    reconnects = case.step.reconnects
    if not case.step.outages or not reconnects:
        return None
    reason = case.step.outages[0].reason
    return Finding(
        cause="connections-lost",
        group="validity",
        sentence=f"{reconnects:,} connections were lost and opened again, first with: {reason}.",
        evidence=(case.seen("reconnects", reconnects, "", 0.0),),
        share=min(reconnects / max(case.users, 1), 1.0) * 0.5,
        confidence=0.9,
        remedy="See the server's error log: a restart, a kill, a timeout, or the network.",
    )


RULE = Rule("connections-refused", say("connections are refused"), judge)
STORM_RULE = Rule("connection-storm", say("connections are opened all the time"), judge_storm)
LOST_RULE = Rule("connections-lost", say("connections are lost"), judge_lost)
