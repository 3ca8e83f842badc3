"""What a data folder needs so that other servers can start on copies of it."""

from __future__ import annotations

from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.mysql.binaries import is_mariadb
from loadstone.servers.connection import Connection

_IN_MEMORY = frozenset(
    {
        "binlog_commit_wait_count",
        "binlog_commit_wait_usec",
        "binlog_group_commit_sync_delay",
        "binlog_group_commit_sync_no_delay_count",
        "general_log",
        "innodb_adaptive_hash_index",
        "innodb_buffer_pool_instances",
        "innodb_buffer_pool_size",
        "innodb_deadlock_detect",
        "innodb_flush_log_at_trx_commit",
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "innodb_lock_wait_timeout",
        "innodb_thread_concurrency",
        "join_buffer_size",
        "local_infile",
        "long_query_time",
        "max_connections",
        "max_prepared_stmt_count",
        "performance_schema",
        "server_id",
        "slow_query_log",
        "sort_buffer_size",
        "sync_binlog",
        "table_open_cache",
        "thread_cache_size",
        "thread_handling",
        "thread_pool_max_threads",
        "thread_pool_oversubscribe",
        "thread_pool_size",
        "tmp_table_size",
    }
)
"""Settings with which the files of the same rows are the same: they size memory, or say when and
how often something is written. All others count as reaching the files, known or not."""


_NOT_LOADED = ("Buffer pool(s) load not", "Loading", "Loaded")
"""How the status begins until the pool is loaded: `Loaded 101/3000 pages` is one that is at it."""


def reaches_files(setting: str) -> bool:
    """Whether a setting may change what the files of the same rows contain."""
    return setting.removeprefix("loose_") not in _IN_MEMORY


def before_keeping(connection: Connection, binary: ServerBinary) -> None:
    """Have the next start load the whole buffer pool again, and forget the binary log."""
    with connection.cursor() as cursor:
        cursor.execute("SET GLOBAL innodb_buffer_pool_dump_pct = 100")
        cursor.execute("SELECT @@GLOBAL.log_bin")
        if cursor.fetchone() == (1,):
            cursor.execute(_reset(binary))


def _reset(binary: ServerBinary) -> str:
    is_new = not is_mariadb(binary) and binary.release >= (8, 2, 0)
    return "RESET BINARY LOGS AND GTIDS" if is_new else "RESET MASTER"


def is_warmed_up(connection: Connection) -> bool:
    """Whether the buffer pool has what the last shutdown wrote down of it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.innodb_buffer_pool_load_at_startup")
        if cursor.fetchone() == (0,):
            return True
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
        row = cursor.fetchone()
    return row is None or not str(row[1]).startswith(_NOT_LOADED)


def without_identity(datadir: Path) -> None:
    """Remove what identifies the server: each copy needs its own."""
    (datadir / "auto.cnf").unlink(missing_ok=True)


def clear_locks(datadir: Path) -> None:
    """Nothing: the lock of the data ends with the process."""
