"""Each waiting lock is checked for deadlocks against all other waiters."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.holds import CORES, part_of
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, user_count

FALL = 0.3
"""[P] Share of the peak's rate lost; [S] dom.as 2009: 20,000/s fell to 3,000 at 50 users."""

LOCKED = 0.5
"""[P] Share of the users that wait for a row."""

DEARER = 2.0
"""[P] Growth of the server's CPU per event from the peak on: waiting alone costs none."""


def judge(case: Case) -> Finding | None:
    """As more users wait, the rate falls and an event costs more CPU."""
    detect = case.needed(case.is_on("innodb_deadlock_detect"))
    share = case.needed(lock_share(case))
    rated = [step for step in case.ladder if step.tps]
    if not detect or share < LOCKED or len(rated) < 2 or not case.tps:
        return None
    peak = max(rated, key=lambda step: step.tps or 0.0)
    highest = peak.tps or 0.0
    now = case.needed(server_cores(case)) / case.tps
    before = case.needed(server_cores(case.at(peak))) / highest
    lost = 1 - case.tps / highest
    if lost < FALL or not before or now < DEARER * before:
        return None
    return Finding(
        cause="deadlock-checks",
        group="setting",
        sentence=say(
            "With {users} the rate is {lost} below that of {peak}, {share} of the users wait for a "
            "row, and an event takes {times} times the CPU: each waiter is checked for deadlocks "
            "against all others.",
            users=user_count(case.users),
            lost=Percent(lost),
            peak=user_count(peak.concurrency),
            share=Percent(share),
            times=Number(now / before),
        ),
        evidence=(
            case.seen(say("rate below the peak"), lost, plain(""), FALL),
            case.seen(
                say("CPU per event compared with the peak"),
                now / before,
                say_in("unit", "times"),
                DEARER,
            ),
        ),
        share=lost,
        confidence=0.6,
        remedy=say(
            "Set innodb_deadlock_detect=OFF with a short innodb_lock_wait_timeout (1 s), or let "
            "fewer users compete for the row (a thread pool, a queue in front of the server)."
        ),
        trial=dynamic(
            case,
            {"innodb_lock_wait_timeout": "1", "innodb_deadlock_detect": "OFF"},
            say("checking for deadlocks"),
            costs=say("deadlocks last until a lock wait times out (innodb_lock_wait_timeout=1)"),
        ),
        acts_on="server CPU",
    )


RULE = Rule(
    "deadlock-checks",
    say("deadlock checks on a hot row"),
    judge,
    last_only=True,
    holds=part_of(*CORES, "latch"),
)
