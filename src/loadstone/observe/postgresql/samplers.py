"""The samplers of PostgreSQL's family: implements the protocols of `observe.samplers`."""

from __future__ import annotations

from loadstone.observe.postgresql.asking import reason
from loadstone.observe.postgresql.clients import other_clients
from loadstone.observe.postgresql.counters import canonical
from loadstone.observe.postgresql.data import is_data_of
from loadstone.observe.postgresql.others import OthersSource as others_source
from loadstone.observe.postgresql.others import look_at_others, status_rows
from loadstone.observe.postgresql.replica import behind, replica_source
from loadstone.observe.postgresql.server import ServerSource as server_source
from loadstone.observe.postgresql.sessions import PostgresSessions as session_list
from loadstone.observe.postgresql.versions import difference, snapshot

__all__ = [
    "behind", "canonical", "difference", "has_process_per_session", "is_data_of", "look_at_others",
    "other_clients", "others_source", "programs", "reason", "replica_source", "server_source",
    "session_list", "snapshot", "status_rows", "work_in_their_data",
]  # fmt: skip

programs = frozenset({"postgres"})
has_process_per_session = True
work_in_their_data = True
