"""How far a standby is behind, as it reports itself.

Source: https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-RECOVERY-CONTROL
"""

from __future__ import annotations

from loadstone.model.observed import SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.postgresql.questions import rows_of
from loadstone.observe.replica import Behind
from loadstone.observe.replica_source import ReplicaSource
from loadstone.servers.connection import Connection

# All that was received is replayed: the primary may just have nothing to do.
_BEHIND = """
SELECT pg_is_in_recovery(),
  EXISTS (SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL)
    AND NOT CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE false END,
  CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 ELSE
    coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)
  END::float8
"""


def behind(connection: Connection) -> Behind | None:
    """Ask a server how far it is behind; `None` if it is not a standby.

    One that only reads archived files of the log counts as one that does not replicate.

    Raises:
        pg8000.Error: it does not answer.
    """
    ((in_recovery, follows, seconds),) = rows_of(connection, _BEHIND)
    if not in_recovery:
        return None
    return Behind(max(float(seconds), 0.0) if follows else None)


def replica_source(name: SourceName, endpoint: Endpoint) -> ReplicaSource:
    """A source that reads the standby's lag repeatedly."""
    return ReplicaSource(name, endpoint, behind)
