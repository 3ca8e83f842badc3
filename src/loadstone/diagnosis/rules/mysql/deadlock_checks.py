"""Each waiting lock is checked for deadlocks against all other waiters."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.row_locks import lock_share
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, users

FALL = 0.3
"""[P] of the peak's rate that is lost; [S] dom.as 2009: 20,000/s fell to 3,000 at 50 users."""

LOCKED = 0.5
"""[P] share of the users that wait for a row."""

DEARER = 2.0
"""[P] growth of the server's CPU by event from the peak on: waiting alone costs none."""


def judge(case: Case) -> Finding | None:
    """On a ladder of waiters the rate falls and an event's CPU grows with the queue."""
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
        sentence=(
            f"With {users(case.users)} the rate is {pct(lost)} below that of "
            f"{users(peak.concurrency)}, {pct(share)} of the users wait for a row, and an event "
            f"takes {num(now / before)} times the CPU: each waiter is checked for deadlocks "
            "against all others."
        ),
        evidence=(
            case.seen("rate below the peak", lost, "", FALL),
            case.seen("CPU by event against the peak's", now / before, "times", DEARER),
        ),
        share=lost,
        confidence=0.6,
        remedy=(
            "innodb_deadlock_detect=OFF with a short innodb_lock_wait_timeout (1 s), or fewer "
            "users on the row (a thread pool, a queue before the server)."
        ),
        trial=dynamic(
            case,
            {"innodb_lock_wait_timeout": "1", "innodb_deadlock_detect": "OFF"},
            "checking for deadlocks",
            costs="deadlocks last until innodb_lock_wait_timeout=1 (s) ends a statement of theirs",
        ),
        acts_on="server CPU",
    )


RULE = Rule("deadlock-checks", say("deadlock checks on a hot row"), judge, last_only=True)
