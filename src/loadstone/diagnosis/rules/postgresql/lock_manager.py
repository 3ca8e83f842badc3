"""Users wait for the shared table of locks: their statements lock more tables than fit elsewhere.

A session has places of its own for the weak locks of 16 tables and indexes, from version 18 on for
max_locks_per_transaction. A statement takes one for each table, partition and index that it plans.

Waits for rows are in that table as well: of its waits, the tables have as large a part as of what
is in it.

Source: https://github.com/postgres/postgres/blob/master/src/backend/storage/lmgr/README
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.diagnosis.rules.postgresql.shared_buffers import FREE_TAKEN
from loadstone.diagnosis.trials import at_start, free_memory, postgresql_major
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import plain, say, say_in

_TABLES, _ROWS = "pg_locks.shared.relation", "pg_locks.shared.rows"
_OF_THE_TABLE = named("LockManager", "lock_manager")


def _of_tables(case: Case) -> Mapping[str, float]:
    """The part of the waits for the shared table that is for locks of tables and indexes."""
    tables, rows = case.mean(_TABLES), case.mean(_ROWS)
    if tables is None or not rows:
        return {}
    return dict.fromkeys(_OF_THE_TABLE, tables / (tables + rows))


_LOCK = Lock(
    "lock-manager",
    (*_OF_THE_TABLE, *named("LockFastPath")),
    say(
        "A session keeps the locks of some tables and indexes by itself (16 before version 18); "
        "for more, all share one table of 16 partitions."
    ),
    say(
        "Have statements plan fewer partitions and indexes: name the partition's key in the WHERE "
        "clause, drop indexes that nobody uses, keep prepared statements with generic plans; from "
        "version 18 on raise max_locks_per_transaction."
    ),
    _of_tables,
)

FEWEST_SLOTS = 16
"""FP_LOCK_SLOTS_PER_BACKEND until version 17, from 18 on FP_LOCK_SLOTS_PER_GROUP of proc.h."""

_CONFIGURABLE = 18
"""The version from which the number of places follows from a setting."""

LOCK_BYTES = 365.0
"""Shared memory of a lock: an entry of 168 bytes and two of 80 for who has it, a tenth in reserve,
and a place of the session's own (LOCK and PROCLOCK in lock.h, LockManagerShmemSize in lock.c)."""

_MAKE_ROOM = ("max_connections", "max_prepared_transactions")
_MOST = "pg_locks.most_of_a_session"
_SETTING = "max_locks_per_transaction"


def judge(case: Case) -> Finding | None:
    """Waits of who takes or gives up such a lock."""
    found = _LOCK.judge(case, *evidence(case))
    return found and found.model_copy(update={"trial": _more_places(case)})


def most_of_a_session(case: Case) -> float | None:
    """The most tables and indexes that a session of the load was seen to have locked.

    `None`: not known, as where no session was seen with a lock because the load has another user.
    """
    return case.highest(_MOST) or None


def evidence(case: Case) -> Iterator[Evidence]:
    """How many locks there are, and the most of one session next to its own places."""
    for name in ("pg_locks.held", "pg_locks.fastpath", _TABLES, _ROWS):
        value = case.mean(name)
        if value is not None:
            yield case.seen(plain(name), value, say_in("unit", "locks"))
    most = most_of_a_session(case)
    if most is not None:
        yield case.seen(plain(_MOST), most, say_in("unit", "locks"), _slots(case))


def _slots(case: Case) -> float:
    """Locks that a session keeps by itself."""
    setting = case.number(_SETTING) if _is_configurable(case) else None
    return max(_power_of_two(setting), FEWEST_SLOTS) if setting else FEWEST_SLOTS


def _is_configurable(case: Case) -> bool:
    return postgresql_major(case.variable("server_version")) >= _CONFIGURABLE


def _more_places(case: Case) -> Trial | None:
    """Twice as many as a session needs: they are groups, of which one is full before the others.

    The server makes room for as many locks of each session when it starts: there is no trial where
    that takes more than half of the free memory.
    """
    most, free = most_of_a_session(case), free_memory(case)
    if most is None or most <= _slots(case) or not _is_configurable(case):
        return None
    wanted, sessions = _power_of_two(2 * most), _sessions(case)
    if not sessions or free is None or wanted * LOCK_BYTES * sessions > FREE_TAKEN * free:
        return None
    return at_start(case, {_SETTING: str(wanted)}, say("locks in the shared table"))


def _sessions(case: Case) -> float:
    """Transactions for which the server has room, without its own workers'; zero: not known."""
    return sum(case.number(name) or 0.0 for name in _MAKE_ROOM)


def _power_of_two(least: float) -> int:
    return 1 << max(int(least) - 1, 0).bit_length()


RULE = Rule(
    _LOCK.cause,
    say("users wait for the table of locks"),
    judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
