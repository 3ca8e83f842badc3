"""The query cache has one lock, which each statement takes."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.cpu import state_share
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.trials import dynamic
from loadstone.diagnose.words import num, pct
from loadstone.model.finding import Finding

SHARE = 0.1
"""[P] of the users' time that they stand at the cache: a lookup takes a microsecond."""


def judge(case: Case) -> Finding | None:
    """It is on (MariaDB, MySQL up to 5.7), and connections are seen in its states."""
    size = case.needed(case.number("query_cache_size"))
    kind = (case.variable("query_cache_type") or "OFF").upper()
    share = case.needed(state_share(case, "query cache"))
    if not size or kind in ("OFF", "0") or share < SHARE:
        return None
    return Finding(
        cause="query-cache",
        group="wait",
        sentence=(
            f"{num(share * case.users)} of {case.users:,} users ({pct(share)}) stand at any moment "
            f"at the query cache (query_cache_type={kind}), which has one lock for all and throws "
            "out a table's answers with each change."
        ),
        evidence=(case.seen("states with query cache", share, "of the users", SHARE),),
        share=share,
        confidence=0.9,
        remedy="SET GLOBAL query_cache_type = OFF and query_cache_size = 0.",
        # With the type off new sessions do not ask it, whatever its size.
        trial=dynamic(case, {"query_cache_type": "OFF"}, "the query cache"),
        acts_on="server CPU",
    )


RULE = Rule("query-cache", judge)
