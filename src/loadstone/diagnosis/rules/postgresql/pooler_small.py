"""Users wait before a pooler that has few connections, while the server has cores to spare.

Source: https://www.pgbouncer.org/config.html#default_pool_size
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, busy_share
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import say

SHARE = 0.1
"""[P] Share of the users' time; users that a pooler does not keep waiting have none of it."""


def judge(case: Case) -> Finding | None:
    """The pooler counts how long its clients wait; whether they could be let in, the cores say.

    On a server whose cores are used up more connections would only wait inside.
    """
    share = case.needed(case.time_at("admission"))
    if share < SHARE:
        return None
    busy = case.needed(busy_share(case))
    if busy > FULL:
        return None
    return Finding(
        cause="pooler-small",
        group="setting",
        sentence=say(
            "Users spend {share} of their time waiting for a connection of the pooler, {waiting} "
            "at any moment, while {idle} of the cores are idle.",
            share=Percent(share),
            waiting=Number(share * case.users),
            idle=Percent(1 - busy),
        ),
        evidence=(
            case.seen(say("users before the pooler"), share, say("of their time"), SHARE),
            case.seen(say("CPU busy"), busy, say("of the cores"), FULL),
        ),
        share=share,
        confidence=0.85,
        remedy=say(
            "Give the pooler more connections (PgBouncer: default_pool_size), or keep transactions "
            "shorter. If its own process uses a whole core, it is the limit: start more of them "
            "(so_reuseport)."
        ),
    )


RULE = Rule(
    "pooler-small",
    say("the pooler has few connections"),
    judge,
    holds=rest_of("admission"),
)
