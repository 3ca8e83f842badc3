"""The table that maps our counter names to those of each server version.

Sources give raw names: `status.x` is SHOW GLOBAL STATUS's X in lower case, `metric.x` is a row of
information_schema.INNODB_METRICS, `file.x.syncs` comes from performance_schema's file summary,
`derived.x` from a rule in `server`, `own.x` is what our own questions made. If there are several
raw names, the first one that the server has is used; a difference of two is written `a-b`. A
counter that the server does not have is missing, which never means zero.
"""

from __future__ import annotations

from dataclasses import replace

from loadstone.model.observed import Reading
from loadstone.observe.names import Entry, translated


def _counter(name: str, *raw: str, scale: float = 1.0) -> Entry:
    return Entry(name, raw or (f"status.{name}",), scale)


COUNTERS: tuple[Entry, ...] = (
    # Statements and transactions. Com_commit counts COMMIT. A statement that commits by itself is
    # in neither Com_commit nor Com_begin.
    _counter("questions"),
    # Includes the statements inside triggers, routines and events, which `questions` does not.
    _counter("queries"),
    _counter("com_call_procedure"),
    _counter("com_select"),
    _counter("com_insert"),
    _counter("com_update"),
    _counter("com_delete"),
    _counter("com_begin"),
    _counter("com_commit"),
    _counter("com_rollback"),
    _counter("com_stmt_prepare"),
    _counter("com_stmt_execute"),
    _counter("com_flush"),
    _counter("com_lock_tables"),
    _counter("com_alter_table"),
    _counter("handler_commit"),
    _counter("handler_rollback"),
    _counter("handler_prepare"),
    _counter("binlog_commits", "status.binlog_commits", "status.binlog_cache_use"),
    # Rows. MariaDB 10.11 counts them by handler, and those of temporary tables separately.
    _counter("rows_read", "status.innodb_rows_read", "status.rows_read"),
    _counter("rows_inserted", "status.innodb_rows_inserted", "status.handler_write"),
    _counter("rows_updated", "status.innodb_rows_updated", "status.handler_update"),
    _counter("rows_deleted", "status.innodb_rows_deleted", "status.handler_delete"),
    _counter("handler_read_key"),
    _counter("handler_read_next"),
    _counter("handler_read_rnd_next"),
    _counter("handler_write"),
    _counter("handler_update"),
    _counter("handler_delete"),
    _counter("rows_sent", "status.rows_sent"),
    # Redo log. MariaDB 10.8 and later have no counter for its syncs: see `server`.
    _counter("log_syncs", "derived.log_syncs", "status.innodb_os_log_fsyncs", "file.redo.syncs"),
    _counter("log_written_bytes", "status.innodb_os_log_written"),
    _counter("log_writes", "status.innodb_log_writes"),
    _counter("log_write_requests", "status.innodb_log_write_requests"),
    _counter("log_waits", "status.innodb_log_waits"),
    # Binary log. A group in MariaDB is one write and, with sync_binlog=1, one sync.
    _counter("binlog_group_commits"),
    _counter("binlog_syncs", "file.binlog.syncs", "derived.binlog_syncs"),
    _counter("binlog_written_bytes", "status.binlog_bytes_written", "file.binlog.written_bytes"),
    _counter("binlog_cache_use"),
    _counter("binlog_cache_disk_use"),
    # Files and pages.
    _counter("data_syncs", "status.innodb_data_fsyncs"),
    _counter("data_reads", "status.innodb_data_reads"),
    _counter("data_read_bytes", "status.innodb_data_read"),
    _counter("data_writes", "status.innodb_data_writes"),
    _counter("data_written_bytes", "status.innodb_data_written"),
    _counter("doublewrite_writes", "status.innodb_dblwr_writes"),
    _counter("pages_flushed", "status.innodb_buffer_pool_pages_flushed"),
    _counter("pages_read", "status.innodb_pages_read"),
    _counter("pages_created", "status.innodb_pages_created"),
    _counter("buffer_pool_read_requests", "status.innodb_buffer_pool_read_requests"),
    _counter("buffer_pool_reads", "status.innodb_buffer_pool_reads"),
    _counter("buffer_pool_wait_free", "status.innodb_buffer_pool_wait_free"),
    _counter("flush_sync_waits", "metric.buffer_flush_sync_waits"),
    _counter("flush_sync_pages", "metric.buffer_flush_sync_total_pages"),
    _counter("flush_adaptive_pages", "metric.buffer_flush_adaptive_total_pages"),
    # Locks.
    _counter("row_lock_waits", "status.innodb_row_lock_waits"),
    _counter("row_lock_time_s", "status.innodb_row_lock_time", scale=0.001),
    _counter("deadlocks", "status.innodb_deadlocks", "metric.lock_deadlocks"),
    _counter("lock_timeouts", "metric.lock_timeouts"),
    _counter("deadlock_rounds", "metric.lock_deadlock_rounds"),
    _counter("table_locks_waited"),
    # Sorts, temporary tables, scans.
    _counter("sort_rows"),
    _counter("sort_range"),
    _counter("sort_scan"),
    _counter("sort_merge_passes"),
    _counter("created_tmp_tables"),
    _counter("created_tmp_disk_tables"),
    _counter("own_created_tmp_tables", "own.own_created_tmp_tables"),
    _counter("own_created_tmp_disk_tables", "own.own_created_tmp_disk_tables"),
    _counter("select_scan"),
    _counter("select_full_join"),
    _counter("slow_queries"),
    # The query cache of MariaDB, and of MySQL up to 5.7.
    _counter("qcache_hits"),
    _counter("qcache_inserts"),
    _counter("qcache_lowmem_prunes"),
    # Connections, tables, network.
    _counter("connections"),
    _counter("threads_created"),
    _counter("aborted_connects"),
    _counter("aborted_clients"),
    _counter("refused_connections", "status.connection_errors_max_connections"),
    _counter("ssl_accepts", "status.ssl_finished_accepts", "status.ssl_accepts"),
    _counter("opened_tables"),
    _counter("table_open_cache_misses"),
    _counter("table_open_cache_overflows"),
    _counter("bytes_received"),
    _counter("bytes_sent"),
    # Semi-synchronous replication: first the names of MariaDB and older MySQL, then those of MySQL
    # 8.0.26.
    _counter(
        "semi_sync_yes",
        "status.rpl_semi_sync_master_yes_tx",
        "status.rpl_semi_sync_source_yes_tx",
    ),
    _counter(
        "semi_sync_no",
        "status.rpl_semi_sync_master_no_tx",
        "status.rpl_semi_sync_source_no_tx",
    ),
    _counter(
        "semi_sync_waits",
        "status.rpl_semi_sync_master_tx_waits",
        "status.rpl_semi_sync_source_tx_waits",
    ),
    _counter(
        "semi_sync_wait_s",
        "status.rpl_semi_sync_master_tx_wait_time",
        "status.rpl_semi_sync_source_tx_wait_time",
        scale=1e-6,
    ),
    _counter("redo_file_wait_s", "file.redo.wait_s"),
    _counter("binlog_file_wait_s", "file.binlog.wait_s"),
    _counter("data_file_wait_s", "file.data.wait_s"),
    # Pages of compressed tables.
    _counter("compress_ops", "cmp.compress_ops"),
    _counter("uncompress_ops", "cmp.uncompress_ops"),
)

GAUGES: tuple[Entry, ...] = (
    _counter("threads_running"),
    _counter("threads_connected"),
    _counter("threads_cached"),
    _counter("uptime_s", "status.uptime"),
    _counter("max_used_connections"),
    _counter("prepared_statements", "status.prepared_stmt_count"),
    _counter("open_tables"),
    _counter("row_lock_current_waits", "status.innodb_row_lock_current_waits"),
    _counter("pages_total", "status.innodb_buffer_pool_pages_total"),
    _counter("pages_free", "status.innodb_buffer_pool_pages_free"),
    _counter("pages_data", "status.innodb_buffer_pool_pages_data"),
    _counter("pages_dirty", "status.innodb_buffer_pool_pages_dirty"),
    _counter("redo_capacity_bytes", "status.innodb_redo_log_capacity_resized"),
    _counter("history_length", "status.innodb_history_list_length", "metric.trx_rseg_history_len"),
    _counter(
        "checkpoint_age_bytes",
        "status.innodb_checkpoint_age",
        "metric.log_lsn_checkpoint_age",
        "status.innodb_redo_log_current_lsn-status.innodb_redo_log_checkpoint_lsn",
    ),
    _counter("checkpoint_age_max_bytes", "status.innodb_checkpoint_max_age"),
    _counter("pool_threads", "status.threadpool_threads"),
    _counter("pool_idle_threads", "status.threadpool_idle_threads"),
    _counter(
        "semi_sync_clients",
        "status.rpl_semi_sync_master_clients",
        "status.rpl_semi_sync_source_clients",
    ),
    _counter(
        "semi_sync_on",
        "status.rpl_semi_sync_master_status",
        "status.rpl_semi_sync_source_status",
    ),
)

STATUS_NAMES: frozenset[str] = frozenset(
    part.removeprefix("status.")
    for entry in (*COUNTERS, *GAUGES)
    for raw in entry.raw
    for part in raw.split("-")
    if part.startswith("status.")
)
"""The rows of SHOW GLOBAL STATUS used by the table, in lower case."""

METRIC_NAMES: frozenset[str] = frozenset(
    raw.removeprefix("metric.")
    for entry in (*COUNTERS, *GAUGES)
    for raw in entry.raw
    if raw.startswith("metric.")
)
"""The rows of INNODB_METRICS used by the table."""


def canonical(reading: Reading) -> Reading:
    """The reading under our names; its gauges that are not in the table are kept."""
    raw = {**reading.counters, **reading.gauges}
    counters = translated(COUNTERS, raw)
    kept = {name: value for name, value in reading.gauges.items() if not _is_raw(name)}
    return replace(reading, counters=counters, gauges=translated(GAUGES, raw) | kept)


def _is_raw(name: str) -> bool:
    return name.startswith(("status.", "metric.", "file.", "derived.", "own.", "cmp."))
