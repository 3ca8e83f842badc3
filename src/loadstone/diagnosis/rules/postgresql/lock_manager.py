"""Users wait for the shared table of locks: their statements lock more tables than fit elsewhere.

A session has places of its own for the weak locks of 16 tables and indexes, from version 18 on for
max_locks_per_transaction. A statement takes one for each table, partition and index that it plans.

Source: https://github.com/postgres/postgres/blob/master/src/backend/storage/lmgr/README
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import plain, say, say_in

_LOCK = Lock(
    "lock-manager",
    named("LockManager", "LockFastPath", "lock_manager"),
    say(
        "A session keeps the locks of some tables and indexes by itself (16 before version 18); "
        "for more, all share one table of 16 partitions."
    ),
    say(
        "Have statements plan fewer partitions and indexes: name the partition's key in the WHERE "
        "clause, drop indexes that nobody uses, keep prepared statements with generic plans; from "
        "version 18 on raise max_locks_per_transaction."
    ),
)


def judge(case: Case) -> Finding | None:
    """Waits of who takes or gives up such a lock."""
    return _LOCK.judge(case, *_evidence(case))


def _evidence(case: Case) -> Iterator[Evidence]:
    for name in ("pg_locks.held", "pg_locks.fastpath"):
        value = case.mean(name)
        if value is not None:
            yield case.seen(plain(name), value, say_in("unit", "locks"))


RULE = Rule(
    _LOCK.cause,
    say("users wait for the table of locks"),
    judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
