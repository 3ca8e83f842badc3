"""The samplers of PostgreSQL's family: implements `observe.samplers.Samplers`."""

from __future__ import annotations

from loadstone.observe.postgresql.clients import other_clients
from loadstone.observe.postgresql.data import is_data_of

__all__ = [
    "has_process_per_session", "is_data_of", "other_clients", "programs", "work_in_their_data",
]  # fmt: skip

programs = frozenset({"postgres"})
has_process_per_session = True
work_in_their_data = True
