"""What each important server setting means for speed and for durability.

The table serves both the review of one server and the differences between servers.
Sources: the reference manuals of MySQL 9.x and MariaDB (chapters on server system variables,
InnoDB, replication and the thread pool); glibc's mallopt(3) for requests of 32 MiB and more.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.meaning import Meaning
from loadstone.model.message import Message, say


def _unfair(performance: Message, durability: Message) -> Meaning:
    return Meaning("unfair", performance, durability)


def _slow(performance: Message) -> Meaning:
    return Meaning("slow", performance)


def _note(performance: Message) -> Meaning:
    return Meaning("note", performance)


_SEMI_SYNC = _unfair(
    say("each commit waits for a replica's acknowledgement"),
    say("without it, commits that no replica has are lost with the host"),
)
_SEMI_SYNC_POINT = _unfair(
    say("whether a commit waits before or after others can see it"),
    say("with AFTER_COMMIT others can read what a failover then loses"),
)
_SEMI_SYNC_TIMEOUT = _unfair(
    say("the longest time that a commit waits for a replica"),
    say("when it is over, commits no longer wait for any replica"),
)
_POOL_SIZE = _slow(
    say("how many threads of the pool run at once: with more than there are cores they take turns")
)
_BIG_SORTS = say(
    "what does not fit takes more passes or goes to files; but glibc maps and unmaps requests of "
    "32 MiB and more each time, so each use costs page faults"
)
_LOGGED = say("each statement is written to it, under a lock")
_TABLES = say("if it is below the number of tables in use, tables are opened again and again")
_TMP = say("larger temporary tables go to disk")
_SPIN = say("how long threads spin for a lock before they sleep: CPU against latency")
_ENCRYPTED = say("pages and logs are encrypted as they are written, which costs CPU")
_IO_THREADS = say(
    "how many threads wait for disks: more help where one disk takes many requests at once"
)
_ELSEWHERE = _slow(say("it may be on another disk than the data and not compete with it"))
_COMMIT_DELAY = say("commits wait for others to share a sync: fewer syncs, longer commits")
_FULL_REDO_LOG = say(
    "when it is full, pages are flushed in a hurry and writes wait: the rate saw-tooths"
)
_QUERY_CACHE = say("one lock for all connections; each write discards entries")

MEANINGS: Mapping[str, Meaning] = {
    "innodb_flush_log_at_trx_commit": _unfair(
        say("with 1 each commit waits for the disk, with 0 and 2 none does"),
        say(
            "1 loses nothing; 2 loses up to a second of commits with a power cut; 0 loses up to a "
            "second of commits with a crash of the server"
        ),
    ),
    "sync_binlog": _unfair(
        say("with 1 each group of commits waits for the disk, with N each Nth group, with 0 none"),
        say("a power cut loses transactions of the binary log, and the replicas miss them"),
    ),
    "log_bin": _unfair(
        say("servers with replicas or backups have one, and flush twice for each commit"),
        say("without it there is no replica and no point-in-time recovery"),
    ),
    "innodb_doublewrite": _unfair(
        say("without it only half as much is written"),
        say("a page that was half written in a power cut is lost"),
    ),
    "rpl_semi_sync_source_enabled": _SEMI_SYNC,
    "rpl_semi_sync_source_wait_point": _SEMI_SYNC_POINT,
    "rpl_semi_sync_source_timeout": _SEMI_SYNC_TIMEOUT,
    "rpl_semi_sync_source_wait_for_replica_count": _SEMI_SYNC,
    "innodb_flush_log_at_timeout": _unfair(
        say("how often the log is flushed where commits do not wait for it"),
        say(
            "that many seconds of commits may be lost where innodb_flush_log_at_trx_commit is 0 "
            "or 2"
        ),
    ),
    "binlog_checksum": _unfair(
        say("a checksum for each event of the binary log"),
        say("without it replicas do not notice a damaged event"),
    ),
    "innodb_support_xa": _unfair(
        say("a second flush for each commit with a binary log"),
        say("without it the log and the tables may disagree after a crash"),
    ),
    "transaction_isolation": _unfair(
        say("weaker levels take fewer locks and keep fewer old row versions"),
        say("no more is lost, but weaker levels promise readers less"),
    ),
    "innodb_checksum_algorithm": _slow(
        say("a checksum for each page; with none a damaged page is not noticed")
    ),
    "innodb_log_checksums": _slow(
        say("a checksum for each block of the redo log; without it a damaged block is not noticed")
    ),
    "innodb_flush_method": _slow(
        say("O_DIRECT bypasses the system's cache; otherwise pages are in memory twice")
    ),
    "innodb_use_fdatasync": _slow(
        say("syncs leave out the file's times: fewer writes of the file system's journal")
    ),
    "innodb_buffer_pool_size": _slow(say("data that does not fit is read from the disk")),
    "innodb_buffer_pool_instances": _slow(say("more instances split the pool's locks")),
    "innodb_redo_log_capacity": _slow(_FULL_REDO_LOG),
    "innodb_log_file_size": _slow(_FULL_REDO_LOG),
    "innodb_log_file_buffering": _slow(say("the redo log goes through the system's cache")),
    "innodb_log_files_in_group": _slow(say("multiplies innodb_log_file_size")),
    "innodb_log_buffer_size": _slow(
        say("transactions that do not fit write the log before they commit")
    ),
    "innodb_log_writer_threads": _slow(
        say("dedicated threads write the log: good with many users, a detour with few")
    ),
    "innodb_io_capacity": _slow(say("how many dirty pages a second are flushed in the background")),
    "innodb_io_capacity_max": _slow(
        say("how many dirty pages a second are flushed when the redo log is nearly full")
    ),
    "innodb_read_io_threads": _slow(_IO_THREADS),
    "innodb_write_io_threads": _slow(_IO_THREADS),
    "innodb_use_native_aio": _slow(say("without it each read-ahead and write blocks a thread")),
    "innodb_flush_neighbors": _slow(
        say("pages next to dirty ones are written too, which helps spinning disks only")
    ),
    "innodb_page_cleaners": _slow(say("how many threads flush dirty pages")),
    "innodb_purge_threads": _slow(say("how many threads remove old row versions")),
    "innodb_lru_scan_depth": _slow(say("how far ahead free pages are looked for")),
    "innodb_max_dirty_pages_pct": _slow(
        say("how much of the pool may be dirty before it is flushed")
    ),
    "innodb_max_dirty_pages_pct_lwm": _slow(
        say("the share of dirty pages from which they are flushed ahead")
    ),
    "innodb_adaptive_flushing": _slow(
        say("flushing follows the redo log's growth instead of coming in bursts")
    ),
    "innodb_adaptive_hash_index": _slow(
        say("faster point reads, but a lock that many writers share")
    ),
    "innodb_change_buffering": _slow(
        say("changes of secondary indexes are buffered instead of reading their pages")
    ),
    "innodb_page_size": _slow(say("bytes read and written for each page")),
    "innodb_numa_interleave": _slow(
        say("memory of all nodes in turn, rather than of one node alone")
    ),
    "innodb_deadlock_detect": _slow(
        say("each waiting transaction is checked against all others: costly with a hot row")
    ),
    "innodb_lock_wait_timeout": _slow(
        say("without deadlock detection a deadlock lasts until a lock wait times out")
    ),
    "innodb_thread_concurrency": _slow(say("how many threads may be inside InnoDB at once")),
    "innodb_spin_wait_delay": _slow(_SPIN),
    "innodb_sync_spin_loops": _slow(_SPIN),
    "innodb_autoinc_lock_mode": _slow(say("how long inserts hold the auto-increment lock")),
    "innodb_encrypt_tables": _slow(_ENCRYPTED),
    "innodb_encrypt_log": _slow(_ENCRYPTED),
    "innodb_redo_log_encrypt": _slow(_ENCRYPTED),
    "binlog_encryption": _slow(_ENCRYPTED),
    "innodb_compression_default": _slow(say("pages are compressed: CPU against writes")),
    "large_pages": _slow(say("fewer misses of the processor's address cache (TLB)")),
    "performance_schema": _note(
        say("costs a few percent of the rate: have it on, or off, on both sides")
    ),
    "max_binlog_size": _slow(
        say("the binary log is rotated often; commits wait meanwhile, and the rate swings")
    ),
    "binlog_format": _slow(say("rows or statements: the bytes of each transaction, and its locks")),
    "binlog_row_image": _slow(say("bytes of the binary log for each changed row")),
    "binlog_cache_size": _slow(
        say("transactions that do not fit go to the binary log through a temporary file")
    ),
    "binlog_order_commits": _slow(
        say("commits keep the order of the binary log, and wait for each other")
    ),
    "binlog_group_commit_sync_delay": _slow(_COMMIT_DELAY),
    "binlog_group_commit_sync_no_delay_count": _slow(_COMMIT_DELAY),
    "binlog_commit_wait_count": _slow(_COMMIT_DELAY),
    "binlog_commit_wait_usec": _slow(_COMMIT_DELAY),
    "gtid_mode": _slow(say("each transaction has a global identifier: some bytes and a lock")),
    "log_replica_updates": _slow(
        say("what comes from a source is written to the binary log as well")
    ),
    "thread_handling": _slow(
        say(
            "a thread for each connection, or a pool: with thousands of active connections a pool "
            "sustains the rate"
        )
    ),
    "thread_pool_enabled": _slow(
        say("with thousands of active connections a pool sustains the rate")
    ),
    "thread_pool_size": _POOL_SIZE,
    "thread_pool_oversubscribe": _POOL_SIZE,
    "thread_pool_max_threads": _POOL_SIZE,
    "thread_pool_max_transactions_limit": _POOL_SIZE,
    "thread_pool_stall_limit": _slow(
        say("how long a statement may take before the pool starts another thread")
    ),
    "thread_cache_size": _slow(
        say("if it is below the number of connections that come and go, each starts a thread")
    ),
    "max_connections": _slow(say("more connections than that are refused")),
    "back_log": _slow(
        say("how many connections may wait to be accepted: a storm of more is refused")
    ),
    "table_open_cache": _slow(_TABLES),
    "table_open_cache_instances": _slow(say("more instances split the cache's lock")),
    "table_definition_cache": _slow(
        say("with hundreds of tables their definitions are read again and again")
    ),
    "open_files_limit": _slow(_TABLES),
    "sort_buffer_size": _slow(_BIG_SORTS),
    "join_buffer_size": _slow(_BIG_SORTS),
    "read_rnd_buffer_size": _slow(_BIG_SORTS),
    "read_buffer_size": _slow(say("how much a scan reads at once")),
    "tmp_table_size": _slow(_TMP),
    "max_heap_table_size": _slow(_TMP),
    "query_cache_size": _slow(_QUERY_CACHE),
    "query_cache_type": _slow(_QUERY_CACHE),
    "general_log": _slow(_LOGGED),
    "slow_query_log": _slow(
        say("statements that take longer than long_query_time are written to it")
    ),
    "long_query_time": _slow(say("the time from which a statement is written to the slow log")),
    "log_output": _slow(say("logging to tables costs more than logging to files")),
    "log_warnings": _slow(say("more warnings mean more writes to the error log")),
    "userstat": _slow(say("counters for each user and table: a lock for each statement")),
    "optimizer_switch": _slow(say("statements may be executed by other plans")),
    "max_prepared_stmt_count": _slow(
        say("more prepared statements than that are refused (error 1461)")
    ),
    "require_secure_transport": _slow(
        say("only encrypted connections are accepted: CPU for each byte")
    ),
    "have_ssl": _slow(say("whether connections may be encrypted: CPU for each byte")),
    "tls_version": _slow(say("which versions of TLS are offered: their cost differs")),
    "character_set_server": _slow(say("bytes for each character, and how they are compared")),
    "collation_server": _slow(say("how texts are compared and sorted: some collations cost more")),
    "sql_mode": _slow(say("statements may be refused, or checked more, on one side only")),
    "default_storage_engine": _slow(say("tables are created in this engine by default")),
    "innodb_dedicated_server": _slow(say("the server derives sizes from the machine it runs on")),
    "innodb_log_group_home_dir": _ELSEWHERE,
    "innodb_undo_directory": _ELSEWHERE,
    "innodb_doublewrite_dir": _ELSEWHERE,
    "tmpdir": _ELSEWHERE,
    "audit_log_policy": _slow(_LOGGED),
    "server_audit_logging": _slow(_LOGGED),
}
"""By the variable's name, the newest one if it was renamed."""

PLACES = frozenset(name for name, meaning in MEANINGS.items() if meaning is _ELSEWHERE)
"""Settings that name directories which matter only by the disk they are on."""

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
"""Other names of settings, each with the name under which it is compared."""
