"""The query cache has one lock, which each statement takes."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores, state_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.1
"""[P] of the users' time that they stand at the cache: a lookup takes a microsecond."""

STORED = 1.0
"""[P] answers that are put into it for one that is taken out: then it is work for nothing."""

STORE_S = 8e-6
"""[P] of CPU for an answer that is put in and thrown out: blocks of memory, and a hash by table."""

COST = 0.05
"""[P] of the server's CPU from which it would be seen."""


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
        sentence = (
            f"{num(share * case.users)} of {case.users:,} users ({pct(share)}) stand at any moment "
            f"at the query cache (query_cache_type={kind}), which has one lock for all and throws "
            "out a table's answers with each change."
        )
        evidence = (case.seen("states with query cache", share, "of the users", SHARE),)
        return _finding(case, sentence, evidence, (share, 0.9))
    return _stores_for_nothing(case, kind)


def _stores_for_nothing(case: Case, kind: str) -> Finding | None:
    stored, cores = case.rate("qcache_inserts"), server_cores(case)
    answered = case.rate("qcache_hits") or 0.0
    if stored is None or not cores or stored < STORED * answered:
        return None
    cost = min(stored * STORE_S / cores, 1.0)
    if cost < COST:
        return None
    sentence = (
        f"The query cache (query_cache_type={kind}) takes in {num(stored)} answers a second and "
        f"gives {num(answered)}: about {pct(cost)} of the server's CPU for nothing, under one lock "
        "for all."
    )
    evidence = (
        case.seen("qcache_inserts", stored, "/s", STORED * answered),
        case.seen("the query cache's part of the server's CPU (estimate)", cost, "", COST),
    )
    return _finding(case, sentence, evidence, (cost, 0.6))


def _finding(
    case: Case, sentence: str, evidence: tuple[Evidence, ...], weight: tuple[float, float]
) -> Finding:
    return Finding(
        cause="query-cache",
        group="wait",
        sentence=sentence,
        evidence=evidence,
        share=weight[0],
        confidence=weight[1],
        remedy="SET GLOBAL query_cache_type = OFF and query_cache_size = 0.",
        # With the type off new sessions do not ask it, whatever its size.
        trial=dynamic(case, {"query_cache_type": "OFF"}, "the query cache"),
        acts_on="server CPU",
    )


RULE = Rule("query-cache", say("the query cache"), judge)
