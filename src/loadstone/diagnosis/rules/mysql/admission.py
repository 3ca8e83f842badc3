"""The server lets fewer statements in than there are users, while cores are free."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, busy_share, outside
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

INSIDE = 0.5
"""[P] Least share of the users' time that they spend in the server."""


def judge(case: Case) -> Finding | None:
    """innodb_thread_concurrency admits that many threads to InnoDB; the others queue."""
    allowed = case.needed(case.number("innodb_thread_concurrency"))
    busy = case.needed(busy_share(case))
    inside = 1 - case.needed(outside(case))
    if not allowed or allowed >= case.users or busy > FULL or inside < INSIDE:
        return None
    return Finding(
        cause="thread-concurrency-low",
        group="setting",
        sentence=say(
            "innodb_thread_concurrency={limit} lets {allowed} of {users} users work in InnoDB at "
            "once, while {idle} of the cores are idle.",
            limit=Number(allowed),
            allowed=Number(allowed),
            users=Count(case.users),
            idle=Percent(1 - busy),
        ),
        evidence=(
            case.seen(
                plain("innodb_thread_concurrency"), allowed, say_in("unit", "threads"), case.users
            ),
            case.seen(say("CPU busy"), busy, say("of the cores"), FULL),
        ),
        share=case.time_at("admission", "paused") or 1 - allowed / case.users,
        confidence=0.6,
        remedy=say("Set innodb_thread_concurrency to 0 (no limit)."),
        trial=dynamic(case, {"innodb_thread_concurrency": "0"}, say("queueing in front of InnoDB")),
    )


RULE = Rule(
    "thread-concurrency-low",
    say("innodb_thread_concurrency is too low"),
    judge,
    holds=rest_of("admission", "paused"),
)
