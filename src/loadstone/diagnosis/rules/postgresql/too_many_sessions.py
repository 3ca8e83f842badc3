"""More sessions are at work than the cores can serve: each is a process of its own.

Source: https://www.postgresql.org/docs/current/tutorial-arch.html
"""

from __future__ import annotations

from loadstone.diagnosis import crowds
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_full
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.pooled import through_pooler
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import say, user_count


def judge(case: Case) -> Finding | None:
    """Beyond the peak the rate falls, and events cost the server more CPU."""
    running = case.needed(crowds.running(case))
    cores = case.needed(case.host("cores"))
    peak = crowds.peak_of(case)
    crowd = crowds.crowd_of(case, running, cores)
    if not crowd.is_one or (lock_share(case) or 0.0) >= crowds.LOCKS:
        return None
    lost = crowds.lost(case, peak)
    if not case.tps or lost < crowds.FALL or not _is_crowded(case):
        return None
    dearer = case.needed(crowds.dearer(case, peak))
    if dearer < crowds.DEARER:
        return None
    return Finding(
        cause="too-many-sessions",
        group="setting",
        sentence=say(
            "With {users} the rate is {lost} below that of {peak}, and an event takes {times} "
            "times the server's CPU: {sessions} sessions, each a process, take turns on {cores} "
            "cores.",
            users=user_count(case.users),
            lost=Percent(lost),
            peak=user_count(peak.users),
            times=Number(dearer),
            sessions=Number(crowd.sessions),
            cores=Number(cores),
        ),
        evidence=tuple(crowds.evidence(case, crowd, lost, dearer)),
        share=min(max(lost, crowds.switching(case, cores)), 1.0),
        confidence=0.8,
        remedy=say(
            "Put a pooler such as PgBouncer before the server (pool_mode=transaction), with some "
            "connections for each core, or drive fewer users."
        ),
        trial=through_pooler(case, peak),
        acts_on="server CPU",
    )


def _is_crowded(case: Case) -> bool:
    """Whether sessions wait for cores or for each other; active is who waits for a disk, too."""
    return is_full(case) or (case.time_at("waiting for a core", "latch") or 0.0) >= crowds.FALL


RULE = Rule(
    "too-many-sessions",
    say("more sessions at work than the cores can serve"),
    judge,
    holds=part_of(*CORES, "latch"),
)
