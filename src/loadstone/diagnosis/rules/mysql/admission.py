"""The server lets fewer statements in than there are users, while cores are free."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, busy_share, outside
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

INSIDE = 0.5
"""[P] of the users' time that they spend in the server."""


def judge(case: Case) -> Finding | None:
    """innodb_thread_concurrency lets so many into the storage engine, the rest queue."""
    allowed = case.needed(case.number("innodb_thread_concurrency"))
    busy = case.needed(busy_share(case))
    inside = 1 - case.needed(outside(case))
    if not allowed or allowed >= case.users or busy > FULL or inside < INSIDE:
        return None
    return Finding(
        cause="thread-concurrency-low",
        group="setting",
        sentence=(
            f"innodb_thread_concurrency={num(allowed)} lets {num(allowed)} of {case.users:,} users "
            f"work in InnoDB at once, while {pct(1 - busy)} of the cores are idle."
        ),
        evidence=(
            case.seen("innodb_thread_concurrency", allowed, "threads", case.users),
            case.seen("CPU busy", busy, "of the cores", FULL),
        ),
        share=1 - allowed / case.users,
        confidence=0.6,
        remedy="Set innodb_thread_concurrency to 0 (no limit).",
        trial=dynamic(case, {"innodb_thread_concurrency": "0"}, "queueing before InnoDB"),
    )


RULE = Rule("thread-concurrency-low", say("innodb_thread_concurrency is too low"), judge)
