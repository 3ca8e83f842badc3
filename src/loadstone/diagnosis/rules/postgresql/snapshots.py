"""Each statement looks at all sessions for what it may see: many of them, and it takes long.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LWLOCK-TABLE
"""

from __future__ import annotations

from loadstone.diagnosis import crowds
from loadstone.diagnosis.context import Case, Missing
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.diagnosis.rules.postgresql.pooled import through_pooler
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in

_LOCK = Lock(
    "snapshots",
    (*named("ProcArray", "XidGen"), "IPC:ProcArrayGroupUpdate"),
    say(
        "Each statement's snapshot looks at all sessions, and each transaction that ends changes "
        "what they look at."
    ),
    say(
        "Connect through a pooler with far fewer connections than users (some per core), or drive "
        "fewer users; REPEATABLE READ takes one snapshot for each transaction."
    ),
)


def judge(case: Case) -> Finding | None:
    """Waits of who takes a snapshot, or ends a transaction."""
    sessions = case.mean("threads_connected")
    evidence = (
        ()
        if sessions is None
        else (case.seen(plain("threads_connected"), sessions, say_in("unit", "connections")),)
    )
    found = _LOCK.judge(case, *evidence)
    return found and found.model_copy(update={"trial": _fewer_sessions(case)})


def _fewer_sessions(case: Case) -> Trial | None:
    """Where fewer users do more, as far as that is known: others may have the host's cores."""
    peak = crowds.peak_of(case)
    try:
        falls = crowds.lost(case, peak) >= crowds.FALL
    except Missing:  # the host is not observed
        return None
    return through_pooler(case, peak) if falls else None


RULE = Rule(
    _LOCK.cause,
    say("snapshots of many sessions"),
    judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
