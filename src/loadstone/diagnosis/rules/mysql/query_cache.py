"""The query cache has one lock, which each statement takes."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores, state_share
from loadstone.diagnosis.holds import CORES, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time at the cache: a lookup takes a microsecond."""

STORED = 1.0
"""[P] Results stored for each one answered from the cache, from which it is work for nothing."""

STORE_S = 8e-6
"""[P] CPU of storing and discarding a result: blocks of memory, and a hash by table."""

COST = 0.05
"""[P] Share of the server's CPU from which it would be noticed."""


def judge(case: Case) -> Finding | None:
    """The query cache is on (MariaDB, MySQL up to 5.7), and connections are seen in its states.

    Or it stores more than it answers: most loads change their tables too often for it.
    """
    size = case.needed(case.number("query_cache_size"))
    kind = (case.variable("query_cache_type") or "OFF").upper()
    share = case.needed(state_share(case, "query cache"))
    if not size or kind in ("OFF", "0"):
        return None
    if share >= SHARE:
        sentence = say(
            "At any moment {at} of {users} users ({share}) are at the query cache "
            "(query_cache_type={kind}): it has one lock for all, and each change of a table "
            "discards that table's results.",
            at=Number(share * case.users),
            users=Count(case.users),
            share=Percent(share),
            kind=kind,
        )
        seen = case.seen(say("users in query cache states"), share, say("of the users"), SHARE)
        return _finding(case, sentence, (seen,), (share, 0.9))
    return _stores_for_nothing(case, kind)


def _stores_for_nothing(case: Case, kind: str) -> Finding | None:
    stored, cores = case.rate("qcache_inserts"), server_cores(case)
    answered = case.rate("qcache_hits") or 0.0
    if stored is None or not cores or stored < STORED * answered:
        return None
    cost = min(stored * STORE_S / cores, 1.0)
    if cost < COST:
        return None
    sentence = say(
        "The query cache (query_cache_type={kind}) stores {stored} results a second and answers "
        "{answered} statements: about {cost} of the server's CPU for nothing, under one lock for "
        "all.",
        kind=kind,
        stored=Number(stored),
        answered=Number(answered),
        cost=Percent(cost),
    )
    evidence = (
        case.seen(plain("qcache_inserts"), stored, say_in("unit", "/s"), STORED * answered),
        case.seen(say("query cache's share of the server's CPU (estimate)"), cost, plain(""), COST),
    )
    return _finding(case, sentence, evidence, (cost, 0.6))


def _finding(
    case: Case, sentence: Message, evidence: tuple[Evidence, ...], weight: tuple[float, float]
) -> Finding:
    return Finding(
        cause="query-cache",
        group="wait",
        sentence=sentence,
        evidence=evidence,
        share=weight[0],
        confidence=weight[1],
        remedy=say("SET GLOBAL query_cache_type = OFF and query_cache_size = 0."),
        # With the type off new sessions do not ask it, whatever its size.
        trial=dynamic(case, {"query_cache_type": "OFF"}, say("the query cache")),
        acts_on="server CPU",
    )


RULE = Rule(
    "query-cache", say("the query cache"), judge, holds=time_at("table lock", "latch", *CORES)
)
