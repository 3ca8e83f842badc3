"""What a server's sessions do at a moment, counted by their state and their wait event.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from loadstone.observe.postgresql.wait_events import ROW_LOCKS
from loadstone.postgresql.activity import AT_WORK, OF_CLIENTS
from loadstone.servers.sanitize import plain

_IS_HERE = "(datid IS NULL OR datname = {database})"
"""Snapshots of other databases keep no rows of tables in this one; standbys are of none. But who
writes there is still at work by each snapshot of this one.

Source: ComputeXidHorizons and GetSnapshotData in the server's procarray.c.
"""

SESSIONS = f"""
SELECT ({OF_CLIENTS}), coalesce(backend_type, ''), coalesce(state, ''),
  coalesce(wait_event_type, ''), coalesce(wait_event, ''), pid = pg_backend_pid(),
  count(*), count(xact_start), max(extract(epoch FROM now() - xact_start))::float8,
  max(extract(epoch FROM now() - query_start))::float8,
  max(greatest(age(CASE WHEN {_IS_HERE} THEN backend_xmin END), age(backend_xid))),
  max(extract(epoch FROM now() - xact_start)) FILTER (
    WHERE backend_xid IS NOT NULL OR backend_xmin IS NOT NULL AND {_IS_HERE})::float8
FROM pg_stat_activity GROUP BY 1, 2, 3, 4, 5, 6
"""
"""One row for all sessions that are alike; `{database}`: the load's, as an SQL literal.

A transaction keeps old rows by its snapshot; without one, by the number that it has since it wrote.
"""

LOCKS = """
SELECT locktype, sum(n)::bigint, sum(waiting)::bigint, sum(fast)::bigint,
  coalesce(max(n) FILTER (WHERE pid IN (SELECT a.pid FROM pg_stat_activity AS a
    WHERE a.usename = current_user AND a.datname = {database} AND a.pid <> pg_backend_pid())), 0)
FROM (SELECT locktype, pid, count(*) AS n, count(*) FILTER (WHERE NOT granted) AS waiting,
  count(*) FILTER (WHERE fastpath) AS fast FROM pg_locks WHERE mode <> 'SIReadLock'
  GROUP BY 1, 2) AS of_sessions GROUP BY 1
"""
"""To read it, the server stops all changes of locks for a moment.

What serializable transactions have read is no lock that anybody waits for.

The most of a session is that of the load's, as far as they log in as we do: a backup locks all
tables for as long as it runs.
"""

MOST_LOCKS = "pg_locks.most_of_a_session"
ON_TABLES = "pg_locks.held.relation"
SHARED_BY_TABLES = "pg_locks.shared.relation"
SHARED_BY_ROWS = "pg_locks.shared.rows"

_STATES_KEPT = 16
_LONGEST_STATE = 60
_IN_TRANSACTION = "idle in transaction"
_RESTS = ("Lock", "Timeout", "Client")
"""Waits of a statement that does not work itself: for a lock, a sleep, its client."""

_STANDBY = "walsender"
"""It keeps what queries over there need (hot_standby_feedback)."""

_WORKERS = {
    "autovacuum worker": "autovacuum_workers",
    "parallel worker": "parallel_workers",
    _STANDBY: "walsenders",
}
_LOCK_KINDS = ("relation", "extend", "transactionid", "tuple", "virtualxid", "advisory")
_OF_ROWS = ("transactionid", "tuple")
"""Who waits for a row waits for the end of a transaction, and for a turn at the row before."""


class Alike(NamedTuple):
    """Sessions that are alike; the columns of `SESSIONS`."""

    of_client: bool
    kind: str
    """The backend_type; empty: this account may not see more than that they are there."""
    state: str
    wait_type: str
    wait: str
    asks: bool
    """Whether it is the session that asks."""
    number: int
    in_transaction: int
    oldest_s: float | None
    statement_s: float | None
    xmin_age: int | None
    keeps_s: float | None
    """For how long the oldest transaction is open that keeps rows."""


def activity(rows: Iterable[Sequence[object]]) -> dict[str, float]:
    """Gauges of the rows of `SESSIONS`.

    If this account does not see what all clients do, only their number is known.
    """
    found = [Alike(*row) for row in rows]  # type: ignore[arg-type]
    clients = [one for one in found if one.of_client]
    gauges = {"pg_stat_activity.clients": _sum(clients)}
    if any(not one.kind for one in clients):
        return gauges
    gauges |= {
        f"pg_stat_activity.{name}": _sum(one for one in found if one.kind == kind)
        for kind, name in _WORKERS.items()
    }
    return gauges | _of_clients(clients) | _ages(found) | _states(clients)


def hides(rows: Iterable[Sequence[object]]) -> bool:
    """Whether this account does not see what some of the clients do."""
    return any(row[0] and not row[1] for row in rows)


def locks(rows: Iterable[Sequence[object]]) -> dict[str, float]:
    """Gauges of the rows of `LOCKS`: held, held without the shared table, waited for by kind.

    In the shared table are those of tables that have no place of their own, and all of rows.

    Of a session's locks those of tables and indexes are counted, which have places of their own:
    zero as well if no session of the load was seen.
    """
    gauges = dict.fromkeys(
        ("pg_locks.held", "pg_locks.fastpath", "pg_locks.waiting", MOST_LOCKS), 0.0
    )
    gauges |= {f"pg_locks.waiting.{kind}": 0.0 for kind in (*_LOCK_KINDS, "other")}
    gauges |= dict.fromkeys((ON_TABLES, SHARED_BY_TABLES, SHARED_BY_ROWS), 0.0)
    for row in rows:
        kind, (total, waiting, fast, most) = str(row[0]), (float(str(one)) for one in row[1:])
        gauges["pg_locks.held"] += total - waiting
        gauges["pg_locks.fastpath"] += fast
        gauges["pg_locks.waiting"] += waiting
        gauges[MOST_LOCKS] = most if kind == "relation" else gauges[MOST_LOCKS]
        gauges[f"pg_locks.waiting.{kind if kind in _LOCK_KINDS else 'other'}"] += waiting
        gauges[ON_TABLES] += total - waiting if kind == "relation" else 0.0
        gauges[SHARED_BY_TABLES] += total - fast if kind == "relation" else 0.0
        gauges[SHARED_BY_ROWS] += total if kind in _OF_ROWS else 0.0
    return gauges


def _of_clients(clients: Sequence[Alike]) -> dict[str, float]:
    at_work = [one for one in clients if one.state in AT_WORK]
    idle = [one for one in clients if one.state.startswith(_IN_TRANSACTION)]
    rows = [one for one in at_work if one.wait_type == "Lock" and one.wait in ROW_LOCKS]
    return {
        "pg_stat_activity.active": _sum(at_work),
        "pg_stat_activity.idle_in_transaction": _sum(idle),
        "pg_stat_activity.waiting": _sum(one for one in at_work if one.wait),
        "pg_stat_activity.waiting_for_rows": _sum(rows),
        "pg_stat_activity.in_transaction": float(
            sum(one.in_transaction for one in clients if not one.asks)
        ),
    }


def _ages(found: Iterable[Alike]) -> dict[str, float]:
    others = [one for one in found if not one.asks]
    # A VACUUM keeps no rows from another.
    keep = [one for one in others if one.kind not in (_STANDBY, "autovacuum worker")]
    at_work = [
        one
        for one in others
        if one.of_client and one.state in AT_WORK and one.wait_type not in _RESTS
    ]
    return {
        "pg_stat_activity.oldest_transaction_s": _most(
            one.oldest_s for one in others if one.of_client
        ),
        "pg_stat_activity.oldest_holding_transaction_s": _most(
            one.oldest_s for one in others if one.of_client and one.wait_type != "Lock"
        ),
        "pg_stat_activity.longest_statement_s": _most(one.statement_s for one in at_work),
        "pg_stat_activity.oldest_xmin_age": _most(one.xmin_age for one in keep),
        "pg_stat_activity.oldest_xmin_s": _most(one.keeps_s for one in keep),
        "pg_stat_activity.standby_xmin_age": _most(
            one.xmin_age for one in others if one.kind == _STANDBY
        ),
    }


def _states(clients: Iterable[Alike]) -> dict[str, float]:
    """How many clients are in each state, the most frequent ones; those that are idle in none."""
    counts: Counter[str] = Counter()
    for one in clients:
        if not one.asks and one.state != "idle":
            counts[_state(one)] += one.number
    return {f"state.{name}": float(count) for name, count in counts.most_common(_STATES_KEPT)}


def _state(one: Alike) -> str:
    """`LWLock:WALWrite`, `idle in transaction`, `active`."""
    is_named = one.state in AT_WORK and one.wait
    said = f"{one.wait_type}:{one.wait}" if is_named else one.state
    # Extensions name waits of their own.
    return plain(said, _LONGEST_STATE) or "unknown"


def _sum(alike: Iterable[Alike]) -> float:
    return float(sum(one.number for one in alike))


def _most(values: Iterable[float | None]) -> float:
    """The highest; zero if there is none, as nobody is in a transaction or at work."""
    return max((float(value) for value in values if value is not None), default=0.0)
