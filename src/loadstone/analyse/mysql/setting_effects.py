"""What each server setting that matters means, for speed and for what survives a crash.

One table for all who speak of settings: the review of one server, and what differs between two.
Sources: the reference manuals of MySQL 9.x and MariaDB (chapters on server system variables,
InnoDB, replication and the thread pool); glibc's mallopt(3) for requests of 32 MiB and more.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.meaning import Meaning


def _unfair(performance: str, durability: str) -> Meaning:
    return Meaning("unfair", performance, durability)


def _slow(performance: str) -> Meaning:
    return Meaning("slow", performance)


def _note(performance: str) -> Meaning:
    return Meaning("note", performance)


LOST_ON_CRASH = "0 loses up to a second of commits with a crash of the server"
LOST_ON_POWER_CUT = "2 loses up to a second of commits with a power cut"

_SEMI_SYNC = _unfair(
    "each commit waits for the answer of a replica",
    "without it commits that no replica has are lost with the host",
)
_SEMI_SYNC_POINT = _unfair(
    "whether a commit waits before or after it is seen by others",
    "AFTER_COMMIT lets others read what a failover then loses",
)
_SEMI_SYNC_TIMEOUT = _unfair(
    "how long a commit waits for a replica at most",
    "after it commits go on without any replica",
)
_POOL_SIZE = _slow("how many threads of the pool work at once: above the cores they take turns")
_BIG_SORTS = "glibc maps and unmaps requests of 32 MiB and more each time: page faults for each use"
_TWICE = "each statement is written to it, under a lock"
_TABLES = "fewer than there are at work: tables are opened anew"
_TMP = "larger temporary tables go to the disk"
_SPIN = "how long threads spin for a lock before they sleep: CPU against latency"
_ENCRYPTED = "pages and logs are encrypted as they are written: CPU for each"
_IO_THREADS = "how many threads wait for disks: more help where one disk takes much at once"
_ELSEWHERE = _slow("it may lie on another disk than the data, and not compete with them")
_COMMIT_DELAY = "commits wait for others to share a sync: fewer syncs, longer commits"

MEANINGS: Mapping[str, Meaning] = {
    "innodb_flush_log_at_trx_commit": _unfair(
        "with 1 each commit waits for the disk, with 0 and 2 none does",
        f"1 loses nothing; {LOST_ON_POWER_CUT}; {LOST_ON_CRASH}",
    ),
    "sync_binlog": _unfair(
        "with 1 each group of commits waits for the disk, with N every Nth, with 0 none",
        "a power cut loses transactions of the binary log, and replicas with them",
    ),
    "log_bin": _unfair(
        "a server with replicas or backups has one: each commit is flushed twice there",
        "without it there is no replica and no way back to a moment in time",
    ),
    "innodb_doublewrite": _unfair(
        "without it writes are halved",
        "a page that was half written when the power went is lost",
    ),
    "rpl_semi_sync_source_enabled": _SEMI_SYNC,
    "rpl_semi_sync_source_wait_point": _SEMI_SYNC_POINT,
    "rpl_semi_sync_source_timeout": _SEMI_SYNC_TIMEOUT,
    "rpl_semi_sync_source_wait_for_replica_count": _SEMI_SYNC,
    "innodb_flush_log_at_timeout": _unfair(
        "how often the log is flushed where commits do not wait for it",
        "so many seconds of commits may be lost where innodb_flush_log_at_trx_commit is 0 or 2",
    ),
    "binlog_checksum": _unfair(
        "a checksum for each event of the binary log",
        "without it replicas do not notice a damaged event",
    ),
    "innodb_support_xa": _unfair(
        "a second flush for each commit with a binary log",
        "without it the log and the tables may disagree after a crash",
    ),
    "transaction_isolation": _unfair(
        "weaker levels take fewer locks and keep fewer old rows",
        "nothing more is lost, but weaker levels promise readers less",
    ),
    "innodb_checksum_algorithm": _slow(
        "a checksum for each page; with none a damaged one is not noticed"
    ),
    "innodb_log_checksums": _slow(
        "a checksum for each block of the redo log; without it a damaged one is not noticed"
    ),
    "innodb_flush_method": _slow(
        "O_DIRECT goes past the system's cache; otherwise pages stand in memory twice"
    ),
    "innodb_use_fdatasync": _slow("a sync without the file's times: fewer writes of the journal"),
    "innodb_buffer_pool_size": _slow("data that does not fit is read from the disk"),
    "innodb_buffer_pool_instances": _slow("more of them share the pool's locks out"),
    "innodb_redo_log_capacity": _slow(
        "when it is full, pages are flushed in a hurry and writes wait: the rate saw-tooths"
    ),
    "innodb_log_file_size": _slow(
        "when it is full, pages are flushed in a hurry and writes wait: the rate saw-tooths"
    ),
    "innodb_log_file_buffering": _slow("the redo log goes through the system's cache"),
    "innodb_log_files_in_group": _slow("multiplies innodb_log_file_size"),
    "innodb_log_buffer_size": _slow("large transactions write the log before they commit"),
    "innodb_log_writer_threads": _slow(
        "threads of their own write the log: good with many users, a detour with few"
    ),
    "innodb_io_capacity": _slow("how many dirty pages a second are flushed in the background"),
    "innodb_io_capacity_max": _slow("the same when the redo log is nearly full"),
    "innodb_read_io_threads": _slow(_IO_THREADS),
    "innodb_write_io_threads": _slow(_IO_THREADS),
    "innodb_use_native_aio": _slow("without it reads ahead and writes block a thread each"),
    "innodb_flush_neighbors": _slow(
        "pages beside dirty ones are written too, which helps turning disks only"
    ),
    "innodb_page_cleaners": _slow("how many threads flush dirty pages"),
    "innodb_purge_threads": _slow("how many threads clear old versions of rows away"),
    "innodb_lru_scan_depth": _slow("how far free pages are sought ahead of need"),
    "innodb_max_dirty_pages_pct": _slow("how much of the pool may be dirty before it is flushed"),
    "innodb_max_dirty_pages_pct_lwm": _slow("from which share on pages are flushed ahead"),
    "innodb_adaptive_flushing": _slow("flushing follows the redo log's growth rather than bursts"),
    "innodb_adaptive_hash_index": _slow("quicker point reads; a lock that many writers share"),
    "innodb_change_buffering": _slow("changes of secondary indexes wait instead of reading pages"),
    "innodb_page_size": _slow("bytes read and written for each page"),
    "innodb_numa_interleave": _slow("memory of all nodes in turn, rather than one node's alone"),
    "innodb_deadlock_detect": _slow(
        "each waiting transaction is checked against all others: costly with a hot row"
    ),
    "innodb_lock_wait_timeout": _slow(
        "without detection a deadlock lasts until the timeout of a lock wait"
    ),
    "innodb_thread_concurrency": _slow("how many threads may be inside InnoDB at once"),
    "innodb_spin_wait_delay": _slow(_SPIN),
    "innodb_sync_spin_loops": _slow(_SPIN),
    "innodb_autoinc_lock_mode": _slow("how long inserts hold the counter's lock"),
    "innodb_encrypt_tables": _slow(_ENCRYPTED),
    "innodb_encrypt_log": _slow(_ENCRYPTED),
    "innodb_redo_log_encrypt": _slow(_ENCRYPTED),
    "binlog_encryption": _slow(_ENCRYPTED),
    "innodb_compression_default": _slow("pages are compressed: CPU against writes"),
    "large_pages": _slow("fewer misses of the processor's address cache"),
    "performance_schema": _note(
        "costs some percent of the rate; off or on, let it be the same on both sides"
    ),
    "max_binlog_size": _slow(
        "the log is changed for a new one often; commits wait meanwhile, and the rate swings"
    ),
    "binlog_format": _slow("rows or statements: bytes for each transaction, and locks"),
    "binlog_row_image": _slow("bytes of the binary log for each changed row"),
    "binlog_cache_size": _slow("larger transactions of the binary log go through a file"),
    "binlog_order_commits": _slow("commits keep the log's order: they wait for each other"),
    "binlog_group_commit_sync_delay": _slow(_COMMIT_DELAY),
    "binlog_group_commit_sync_no_delay_count": _slow(_COMMIT_DELAY),
    "binlog_commit_wait_count": _slow(_COMMIT_DELAY),
    "binlog_commit_wait_usec": _slow(_COMMIT_DELAY),
    "gtid_mode": _slow("each transaction has a name of its own: some bytes and a lock"),
    "log_replica_updates": _slow("what comes from a source is written to the binary log, too"),
    "thread_handling": _slow(
        "a thread for each connection, or a pool: with thousands at work a pool keeps the rate"
    ),
    "thread_pool_enabled": _slow("with thousands of connections at work a pool keeps the rate"),
    "thread_pool_size": _POOL_SIZE,
    "thread_pool_oversubscribe": _POOL_SIZE,
    "thread_pool_max_threads": _POOL_SIZE,
    "thread_pool_max_transactions_limit": _POOL_SIZE,
    "thread_pool_stall_limit": _slow("when a waiting statement makes the pool start a thread"),
    "thread_cache_size": _slow("fewer than come and go: each connection starts a thread"),
    "max_connections": _slow("more users than that are refused"),
    "back_log": _slow("connections that may wait to be accepted: a storm beyond it is refused"),
    "table_open_cache": _slow(_TABLES),
    "table_open_cache_instances": _slow("more of them share the cache's lock out"),
    "table_definition_cache": _slow("with hundreds of tables their definitions are read anew"),
    "open_files_limit": _slow(_TABLES),
    "sort_buffer_size": _slow(_BIG_SORTS),
    "join_buffer_size": _slow(_BIG_SORTS),
    "read_rnd_buffer_size": _slow(_BIG_SORTS),
    "read_buffer_size": _slow("how much a scan reads at once"),
    "tmp_table_size": _slow(_TMP),
    "max_heap_table_size": _slow(_TMP),
    "query_cache_size": _slow("one lock for all connections; each write throws entries away"),
    "query_cache_type": _slow("one lock for all connections; each write throws entries away"),
    "general_log": _slow(_TWICE),
    "slow_query_log": _slow("statements that take longer than long_query_time are written to it"),
    "long_query_time": _slow("from which time on a statement is written to the slow log"),
    "log_output": _slow("logs to tables cost more than to files"),
    "log_warnings": _slow("more warnings mean more writes of the error log"),
    "userstat": _slow("counters for each user and table: a lock for each statement"),
    "optimizer_switch": _slow("plans of statements may differ"),
    "max_prepared_stmt_count": _slow("prepared statements beyond it are refused (error 1461)"),
    "require_secure_transport": _slow("only encrypted connections are let in: CPU for each byte"),
    "have_ssl": _slow("whether connections may be encrypted: CPU for each byte"),
    "tls_version": _slow("which versions of TLS are offered: their cost differs"),
    "character_set_server": _slow("bytes for each character, and how they are compared"),
    "collation_server": _slow("how texts are compared and sorted: some collations cost more"),
    "sql_mode": _slow("statements may be refused, or checked more, on one side only"),
    "default_storage_engine": _slow("tables made without a word about it are of this engine"),
    "innodb_dedicated_server": _slow("the server chooses sizes by the machine it is on"),
    "innodb_log_group_home_dir": _ELSEWHERE,
    "innodb_undo_directory": _ELSEWHERE,
    "innodb_doublewrite_dir": _ELSEWHERE,
    "tmpdir": _ELSEWHERE,
    "audit_log_policy": _slow(_TWICE),
    "server_audit_logging": _slow(_TWICE),
}
"""By the variable's name, where it was changed by the newest one."""

PLACES = frozenset(name for name, meaning in MEANINGS.items() if meaning is _ELSEWHERE)
"""Folders that matter by which disk they are on."""

RENAMED = {
    "encrypt_binlog": "binlog_encryption",
    "log_slave_updates": "log_replica_updates",
    "rpl_semi_sync_master_enabled": "rpl_semi_sync_source_enabled",
    "rpl_semi_sync_master_timeout": "rpl_semi_sync_source_timeout",
    "rpl_semi_sync_master_wait_point": "rpl_semi_sync_source_wait_point",
    "slave_parallel_workers": "replica_parallel_workers",
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
}
"""Settings that have another name on other servers, and the one by which they are compared."""
