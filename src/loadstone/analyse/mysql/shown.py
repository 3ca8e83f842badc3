"""The settings of MySQL and MariaDB that the page of a run shows."""

from __future__ import annotations

import re

MATTERS = (
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_doublewrite",
    "log_bin",
    "binlog_format",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "max_binlog_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_adaptive_hash_index",
    "innodb_deadlock_detect",
    "innodb_lock_wait_timeout",
    "innodb_thread_concurrency",
    "transaction_isolation",
    "tx_isolation",
    "thread_handling",
    "thread_pool_size",
    "thread_pool_oversubscribe",
    "max_connections",
    "table_open_cache",
    "sort_buffer_size",
    "join_buffer_size",
    "query_cache_type",
    "performance_schema",
    "require_secure_transport",
)
"""Durability first: servers are only comparable if they lose as much in a crash."""

_OWN = re.compile(
    r"host|port|socket|pid|datadir|server_id|uuid|timestamp|basedir|_dir$|_file$|_path$|secure_auth"
    r"|gtid|identity|rand_seed|last_insert|pseudo|uptime|connection_id|_basename$|log_error$"
)


def is_own(name: str) -> bool:
    """Whether the setting differs between any two servers and affects no figure."""
    return _OWN.search(name) is not None
