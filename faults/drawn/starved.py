"""What a variable starves, by its name: causes and places that are right for it.

A finding is right for a variable if it names the variable, in its sentence, its remedy or its
trial. It is also right if its cause is that of the resource that variables of this kind give out:
`working-set` for the size of the pool, whatever it calls the remedy. A kind without a resource of
its own is only named right by name. The kinds are those of the servers' manuals, not of the rules.
"""

from __future__ import annotations

import re

from faults.case import Server
from faults.drawn.drawn import Truth
from loadstone.model.account import Place

_COMMIT: tuple[Place, ...] = ("log sync", "binlog sync", "commit", "disk write")
_FLUSHING: tuple[Place, ...] = ("disk write", "latch", "log sync", "commit")
_CPU: tuple[Place, ...] = ("on core", "waiting for a core", "in the server")

Kinds = tuple[tuple[str, str, tuple[Place, ...]], ...]
"""What names contain, names of causes, and places of the account."""

_KINDS: Kinds = (
    (r"buffer_pool|old_blocks", "working-set cold-buffer-pool disk-cap", ("disk read", "latch")),
    (r"read_ahead|random_read", "working-set disk-cap", ("disk read",)),
    (r"log_file_size|redo_log_cap|log_files_in", "redo-log-small io-capacity-low", _FLUSHING),
    (r"log_buffer", "log-buffer-small", (*_COMMIT, "latch")),
    (
        r"io_capacity|page_cleaner|dirty_pages|lru_|flush_neigh|adaptive_flush|flush_sync|io_thread",
        "io-capacity-low redo-log-small disk-cap",
        (*_FLUSHING, "disk read"),
    ),
    (r"flush_method|native_aio|io_uring|log_write_ahead|log_wr", "commit-flush disk-cap", _COMMIT),
    (
        r"thread_conc|concurrency_tick|commit_conc|sleep_delay",
        "thread-concurrency-low",
        ("admission", "paused"),
    ),
    (r"thread_(pool|handling)", "thread-pool-small no-thread-pool", ("admission",)),
    (r"commit_wait|group_commit_sync|order_commits", "commit-delay", ("commit delay", "commit")),
    (r"binlog_(cache|stmt_cache)", "binlog-cache-small", (*_COMMIT, *_CPU)),
    (r"max_binlog_size", "binlog-rotation", _COMMIT),
    (r"table_(open|definition)_cache|open_files", "table-cache-small", ("latch", *_CPU)),
    (r"thread_cache|back_log", "connection-storm", ("connecting",)),
    (r"sort_buffer|sort_length", "sort-buffer-small sort-buffer-cliff", (*_CPU, "disk write")),
    (r"tmp_|temptable|heap_table|big_tables", "temporary-tables-on-disk", (*_CPU, "disk write")),
    (r"query_cache", "query-cache", ("latch", "other", *_CPU)),
    (r"performance_schema|monitor", "instrumentation", _CPU),
    (r"general_log|log_output", "general-log slow-log", (*_CPU, "disk write", "latch")),
    (r"slow|long_query|log_quer|examined_row", "slow-log", (*_CPU, "disk write", "latch")),
    (r"audit", "audit-log", (*_CPU, "disk write", "latch")),
    (r"purge_lag", "purge-delay purge-lag", ("paused", "latch")),
    (r"purge|rollback_seg|max_undo", "purge-lag long-transaction", (*_CPU, "latch")),
    (r"deadlock_detect|deadlock_search", "deadlock-checks deadlocks", ("row lock", "latch")),
    (r"isolation|autoinc_lock|locks_unsafe", "row-locks deadlocks", ("row lock", "latch")),
    (r"flush_time", "tables-flushed table-cache-small", ("table lock", "latch", *_CPU)),
    (r"^net_|^tcp_|compress", "line-full far-away", ("way", "sending", *_CPU)),
    (r"optimizer|eq_range|join_|histogram|stats_", "missing-index", _CPU),
    (r"spin|sync_array|adaptive_hash|stack|prefetch|mrr|rnd_buffer|rowid", "", (*_CPU, "latch")),
)

_READS: tuple[Place, ...] = ("disk read", "latch", *_CPU)
_WAL: tuple[Place, ...] = (*_COMMIT, "latch", *_CPU)

_POSTGRESQL: Kinds = (
    (r"^shared_buffers$|buffer_usage_limit", "shared-buffers-small cold-caches", _READS),
    (r"work_mem|hash_mem|temp_buffers", "temporary-files", (*_CPU, "disk write", "disk read")),
    (
        r"(max|min)_wal_size|checkpoint|wal_compression|wal_log_hints",
        "max-wal-size-small full-page-images",
        _WAL,
    ),
    (r"wal_buffers", "wal-buffers-small", _WAL),
    (r"^commit_", "commit-delay", ("commit delay", "commit", "log sync", "latch")),
    (r"^wal_(sync|init|recycle|writer|level|skip)|segment", "commit-flush", _WAL),
    (r"^log_|^debug_", "statement-log", (*_CPU, "disk write", "latch")),
    (r"^jit", "jit", _CPU),
    (r"plan_cache", "plan-cache", _CPU),
    (r"deadlock_timeout", "deadlocks row-locks", ("row lock", "table lock")),
    (r"locks_per_|pred_locks", "lock-manager", ("latch", "table lock", *_CPU)),
    (r"huge_page|shared_memory", "", (*_CPU, "latch")),
    (r"bgwriter|flush_after|io_|max_files|vacuum", "", (*_READS, "disk write", "log sync")),
    (r"^enable_|_cost$|geqo|collapse|parallel|cursor_tuple|statistics|stats_|track_", "", _CPU),
)
"""A planner that may not use an index is right by name alone: another index would not help."""

_ANY = Truth.of("", (*_CPU, "latch", "other"))


def truth_of_variable(name: str, server: Server) -> Truth:
    """What is known of a fault that sets it badly; the first kind that fits."""
    for kind, causes, places in _POSTGRESQL if server == "postgresql" else _KINDS:
        if re.search(kind, name):
            return Truth.of(causes, places, variable=name)
    return Truth(_ANY.causes, _ANY.places, variable=name)


def names_variable(text: str, name: str) -> bool:
    """Whether a sentence has the variable's name, and not that of a longer one."""
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))
