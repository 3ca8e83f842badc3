"""Users wait before a pooler that has few connections, while the server has cores to spare.

Source: https://www.pgbouncer.org/config.html#default_pool_size
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case, Missing
from loadstone.diagnosis.cpu import FULL, busy_share
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules import between_core
from loadstone.diagnosis.rules.postgresql.pooled import larger_pool
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time; users that a pooler does not keep waiting have none of it."""

_POOLS = {
    "pgbouncer.cl_waiting": say("clients"),
    "pgbouncer.sv_active": say_in("unit", "connections"),
    "pgbouncer.sv_idle": say_in("unit", "connections"),
    "pgbouncer.maxwait_s": say_in("unit", "s"),
}


def judge(case: Case) -> Finding | None:
    """The pooler counts how long its clients wait; whether they could be let in, the cores say.

    On a server whose cores are used up more connections would only wait inside.
    """
    share = case.needed(case.time_at("admission"))
    if share < SHARE:
        return None
    busy = busy_share(case)
    if (busy is not None and busy > FULL) or _gives_none_back(case):
        return None
    return Finding(
        cause="pooler-small",
        group="setting",
        sentence=_sentence(case, share, busy),
        evidence=(
            case.seen(say("users before the pooler"), share, say("of their time"), SHARE),
            *(() if busy is None else (_busy(case, busy),)),
            *_pools(case),
        ),
        share=share,
        # Behind the pooler the server's cores may be used up.
        confidence=0.6 if busy is None else 0.85,
        remedy=say(
            "Give the pooler more connections (PgBouncer: default_pool_size), or keep transactions "
            "shorter. If its own process uses a whole core, it is the limit: start more of them "
            "(so_reuseport)."
        ),
        trial=larger_pool(case, busy),
    )


def _sentence(case: Case, share: float, busy: float | None) -> Message:
    waits = {"share": Percent(share), "waiting": Number(share * case.users)}
    if busy is None:
        return say(
            "Users spend {share} of their time waiting for a connection of the pooler, {waiting} "
            "at any moment. The server's cores were not observed.",
            **waits,
        )
    return say(
        "Users spend {share} of their time waiting for a connection of the pooler, {waiting} at "
        "any moment, while {idle} of the cores are idle.",
        **waits,
        idle=Percent(1 - busy),
    )


def _busy(case: Case, busy: float) -> Evidence:
    return case.seen(say("CPU busy"), busy, say("of the cores"), FULL)


def _gives_none_back(case: Case) -> bool:
    """Whether it is the pooler's thread that does not come to lend its connections again."""
    try:
        return between_core.never_rests(case)
    except Missing:  # on another host; how many connections wait for work says the same
        idle = case.mean("pgbouncer.sv_idle")
        return idle is not None and idle >= 1


def _pools(case: Case) -> Iterator[Evidence]:
    """PgBouncer's own figures, where this user may see them."""
    for name, unit in _POOLS.items():
        value = case.highest(name) if name.endswith("_s") else case.mean(name)
        if value is not None:
            yield case.seen(plain(name), value, unit)


RULE = Rule(
    "pooler-small",
    say("the pooler has few connections"),
    judge,
    holds=rest_of("admission"),
)
