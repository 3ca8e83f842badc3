"""Users wait for the pages that say which transactions are over: subtransactions, shared row locks.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-SLRU-VIEW
"""

from __future__ import annotations

from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.model.message import say

_KINDS = ("Xact", "Subtrans", "MultiXactOffset", "MultiXactMember", "CommitTs")

_LOCK = Lock(
    "transaction-status",
    (
        *named(*(kind + end for kind in _KINDS for end in ("SLRU", "Buffer"))),
        *named("MultiXactGen", "MultiXactTruncation"),
        "IPC:XactGroupUpdate",
    ),
    say(
        "Few pages in memory say which transactions are over, which are subtransactions "
        "(SAVEPOINT, EXCEPTION in PL/pgSQL) and who shares the lock of a row."
    ),
    say(
        "End long transactions, use fewer savepoints (at most 64 in a transaction), and lock rows "
        "that many refer to (FOREIGN KEY, FOR SHARE) for less time; from version 17 on raise "
        "subtransaction_buffers and multixact_offset_buffers."
    ),
)

RULE = Rule(
    _LOCK.cause,
    say("users wait for the states of transactions"),
    _LOCK.judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
