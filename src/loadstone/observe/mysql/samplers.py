"""The samplers of MySQL's family: implements the protocols of `observe.samplers`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loadstone.observe.mysql.clients import other_clients
from loadstone.observe.mysql.counters import canonical
from loadstone.observe.mysql.exporter import exporter_source
from loadstone.observe.mysql.hot_spots import difference, snapshot
from loadstone.observe.mysql.others import OthersSource as others_source
from loadstone.observe.mysql.others import look_at_others, status_rows
from loadstone.observe.mysql.replica import behind, replica_source
from loadstone.observe.mysql.server import ServerSource as server_source
from loadstone.observe.mysql.server import reason
from loadstone.observe.mysql.sessions import MysqlSessions as session_list

__all__ = [
    "behind", "canonical", "difference", "exporter", "exporter_source",
    "has_process_per_session", "is_data_of", "look_at_others",
    "other_clients", "others_source", "programs", "reason", "replica_source", "server_source",
    "session_list", "snapshot", "status_rows", "work_in_their_data",
]  # fmt: skip

exporter = "mysqld_exporter"
has_process_per_session = False
work_in_their_data = False
programs = frozenset(
    {"mariadbd", "mariadbd-debug", "mysqld", "mysqld-debug"} | {"dolt", "seekdb", "tidb-server"}
)


def is_data_of(folder: Path, variables: Mapping[str, str]) -> bool:
    """Recognise no folder: these servers are found by what they listen on, or their pid file."""
    return False
