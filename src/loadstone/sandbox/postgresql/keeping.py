"""What a data folder needs so that other servers can start on copies of it."""

from __future__ import annotations

from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.servers.connection import Connection

_IN_MEMORY = frozenset(
    {
        "bgwriter_delay",
        "bgwriter_lru_maxpages",
        "bgwriter_lru_multiplier",
        "checkpoint_completion_target",
        "checkpoint_timeout",
        "commit_delay",
        "commit_siblings",
        "deadlock_timeout",
        "effective_cache_size",
        "effective_io_concurrency",
        "fsync",
        "full_page_writes",
        "huge_pages",
        "jit",
        "lock_timeout",
        "log_lock_waits",
        "log_min_duration_statement",
        "log_statement",
        "maintenance_work_mem",
        "max_connections",
        "max_locks_per_transaction",
        "max_wal_size",
        "random_page_cost",
        "shared_buffers",
        "statement_timeout",
        "synchronous_commit",
        "track_io_timing",
        "track_wal_io_timing",
        "wal_buffers",
        "wal_writer_delay",
        "work_mem",
    }
)
"""Settings with which the files of the same rows are the same: they size memory, or say when and
how often something is written. All others count as reaching the files, known or not."""


def reaches_files(setting: str) -> bool:
    """Whether a setting may change what the files of the same rows contain."""
    return setting not in _IN_MEMORY


def before_keeping(connection: Connection, binary: ServerBinary) -> None:
    """Nothing: the shutdown writes all pages, and both servers begin with empty buffers."""


def is_warmed_up(connection: Connection) -> bool:
    """Always: the server loads nothing into its buffers at its start."""
    return True


def without_identity(datadir: Path) -> None:
    """Nothing: the system identifier is in all files of the log, and copies share it."""


def clear_locks(datadir: Path) -> None:
    """Remove what a crashed server has left to mark that it runs.

    Its process id may be another's by now, or a process's that nobody has waited for.
    """
    (datadir / "postmaster.pid").unlink(missing_ok=True)
