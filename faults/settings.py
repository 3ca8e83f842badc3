"""Cases of a setting, or of what was made in the tables, that costs more than one would think."""

from __future__ import annotations

from faults import injections, others
from faults.case import Case, Draw, Fault, Load, Removal, both
from faults.ground import RELAXED, TABLES
from loadstone.sandbox.mysql.binaries import mariadb_plugins

_MIB = 1024 * 1024
_ALL_TABLES = tuple(f"sbtest{number}" for number in range(1, TABLES + 1))
_PACKED = (
    "SELECT SUM(TRANSACTION_COUNTER)"
    " FROM performance_schema.binary_log_transaction_compression_stats"
    " WHERE LOG_TYPE = 'BINARY' AND COMPRESSION_TYPE = 'ZSTD'"
)
_TIMED = (
    "SELECT SUM(COUNT_STAR) FROM performance_schema.events_waits_summary_global_by_event_name"
    " WHERE EVENT_NAME LIKE 'wait/synch/%'"
)


def commit_delay(draw: Draw) -> Fault:
    """Each group of commits waits for more of them."""
    delay_us = 1000 * draw.between(5, 40)
    settings = {"binlog_group_commit_sync_delay": str(delay_us)}
    if draw.server == "mariadb":
        settings = {"binlog_commit_wait_usec": str(delay_us), "binlog_commit_wait_count": "1000"}
    change = "UPDATE sbtest1 SET pad = CONCAT(CONNECTION_ID(), RAND()) WHERE id = 1"
    return Fault(
        causes=("commit-delay",),
        size=f"{delay_us / 1000:.0f} ms",
        load=Load("oltp_update_non_index", draw.ladder(1, 2, 16)),
        inject=injections.takes(change, delay_us / 1000),
        settings=settings,
        removal=Removal(settings=tuple(settings)),
    )


def purge_lag(draw: Draw) -> Fault:
    """Changes are held back until purge has caught up, which an old snapshot keeps it from."""
    lag = draw.between(200, 2000)
    delay_us = 1000 * draw.between(5, 50)
    settings = {"innodb_max_purge_lag": str(lag), "innodb_max_purge_lag_delay": str(delay_us)}
    return Fault(
        causes=("purge-delay", "long-transaction"),
        size=f"from {lag:,} entries on, {delay_us / 1000:.0f} ms at most",
        load=Load("oltp_update_non_index", (draw.between(4, 16),), times=2.0),
        inject=injections.old_snapshot(lag),
        settings={**settings, **RELAXED},
        removal=Removal(settings=tuple(settings)),
    )


def temporary_tables(draw: Draw) -> Fault:
    """No temporary table has room in memory."""
    sizes = {"tmp_table_size": "1024", "max_heap_table_size": "16384"}
    if draw.server == "mysql":  # its own engine for them takes memory by the megabyte
        sizes["internal_tmp_mem_storage_engine"] = "MEMORY"
    return Fault(
        causes=("temporary-tables-on-disk",),
        size="as little as can be",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16)),
        inject=injections.counted("Created_tmp_disk_tables", 30, "temporary tables on disk"),
        settings=sizes,
        removal=Removal(settings=tuple(sizes)),
    )


def small_sorts(draw: Draw) -> Fault:
    """No sort has room in its buffer."""
    rows = draw.between(100, 300) if draw.server == "mariadb" else draw.between(1000, 2000)
    least = "4096" if draw.server == "mariadb" else "32768"
    words = ("--range-size", str(rows), "--distribution", "uniform")
    return Fault(
        causes=("sort-buffer-small",),
        size=f"{rows} rows in {least} bytes",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16), words),
        inject=injections.counted("Sort_merge_passes", 30, "merges of sorted files"),
        settings={"sort_buffer_size": least},
        removal=Removal(settings=("sort_buffer_size",)),
    )


def query_cache(draw: Draw) -> Fault:
    """The query cache of MariaDB under a load that seldom asks the same."""
    mib = draw.between(1, 16)
    return Fault(
        causes=("query-cache",),
        size=f"{mib} MiB",
        load=Load("oltp_point_select", draw.ladder(4, 8, 32)),
        inject=injections.counted("Qcache_inserts", 500, "answers stored"),
        settings={"query_cache_type": "ON", "query_cache_size": str(mib * _MIB)},
        removal=Removal(settings=("query_cache_type", "query_cache_size")),
    )


def all_instruments(draw: Draw) -> Fault:
    """performance_schema times everything that it can."""
    consumers = ("waits_current", "waits_history", "stages_current", "statements_history")
    timed = {f"performance_schema_consumer_events_{one}": "ON" for one in consumers}
    return Fault(
        causes=("instrumentation",),
        size="all instruments",
        load=Load(draw.of_these("oltp_point_select", "oltp_read_only"), draw.ladder(4, 8, 32)),
        inject=injections.answered(_TIMED, 1e6, "locks timed"),
        settings={
            "performance_schema": "ON",
            "performance_schema_instrument": "%=ON",
            **timed,
        },
        removal=Removal(settings=("performance_schema_instrument", *timed)),
    )


def triggers(draw: Draw) -> Fault:
    """Each change carries out more statements in a trigger."""
    statements = draw.between(2, 8)
    return Fault(
        causes=("stored-programs",),
        size=f"{statements} statements",
        load=Load("oltp_update_non_index", draw.ladder(2, 4, 16)),
        inject=others.triggers(statements),
        settings=RELAXED,
        removal=Removal(),
    )


def audit(draw: Draw) -> Fault:
    """MariaDB's audit plugin writes each statement down."""
    return Fault(
        causes=("audit-log",),
        size="all statements",
        load=Load(draw.of_these("oltp_read_only", "oltp_point_select"), draw.ladder(4, 8, 32)),
        inject=injections.growing_log(2e5),
        settings=_audited(),
        removal=Removal(settings=tuple(_audited())),
    )


def traced(draw: Draw) -> Fault:
    """Each session records how its statements are planned, or carried out."""
    name, on, off = draw.of_these(
        ("optimizer_trace", "'enabled=on'", "'enabled=off'"), ("profiling", "1", "0")
    )
    shown = f"SELECT @@GLOBAL.{name} LIKE '%enabled=on%' OR @@GLOBAL.{name} = 1"
    return Fault(
        causes=("statement-tracing",),
        size=name,
        load=Load(draw.of_these("oltp_point_select", "oltp_read_only"), draw.ladder(4, 8, 32)),
        inject=both(
            others.executed((f"SET GLOBAL {name} = {on}",)),
            injections.answered(shown, 1, "recorded"),
        ),
        removal=Removal((f"SET GLOBAL {name} = {off}",)),
    )


def unread_indexes(draw: Draw) -> Fault:
    """Rows are inserted into tables with indexes that nobody reads."""
    number = draw.between(5, 12)
    add = ", ".join(f"ADD INDEX more{one} (pad, k)" for one in range(number))
    drop = ", ".join(f"DROP INDEX more{one}" for one in range(number))
    made = "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS"
    return Fault(
        causes=("unused-indexes",),
        size=f"{number} of each table",
        load=Load("oltp_insert", draw.ladder(2, 4, 16)),
        inject=both(
            others.executed(tuple(f"ALTER TABLE {table} {add}" for table in _ALL_TABLES)),
            injections.answered(f"{made} WHERE INDEX_NAME LIKE 'more%'", number, "indexes"),
        ),
        settings=RELAXED,
        removal=Removal(tuple(f"ALTER TABLE {table} {drop}" for table in _ALL_TABLES)),
    )


def compressed_tables(draw: Draw) -> Fault:
    """Tables that change are compressed."""
    size = draw.of_these(1, 2, 4)
    done = "SELECT SUM(compress_ops) FROM information_schema.INNODB_CMP"
    return Fault(
        causes=("compressed-tables",),
        size=f"blocks of {size} KiB",
        load=Load("oltp_update_non_index", draw.ladder(2, 4, 16)),
        inject=both(
            others.executed(
                tuple(
                    f"ALTER TABLE {table} ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={size}"
                    for table in _ALL_TABLES
                )
            ),
            injections.answered(done, 1000, "pages compressed"),
        ),
        settings=RELAXED,
        removal=Removal(
            tuple(
                f"ALTER TABLE {table} ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0" for table in _ALL_TABLES
            )
        ),
    )


def compressed_binlog(draw: Draw) -> Fault:
    """Transactions are compressed for the binary log as tightly as can be."""
    level = draw.between(8, 22)
    settings = {
        "binlog_transaction_compression": "ON",
        "binlog_transaction_compression_level_zstd": str(level),
    }
    return Fault(
        causes=("binlog-compression",),
        size=f"level {level}",
        load=Load("oltp_update_non_index", draw.ladder(2, 4, 16)),
        inject=injections.answered(_PACKED, 1000, "transactions compressed"),
        settings={**settings, **RELAXED},
        removal=Removal(settings=tuple(settings)),
    )


def _audited() -> dict[str, str]:
    """Without the plugin, which tools/get-mariadb-plugins fetches, the case has no effect."""
    plugins = mariadb_plugins()
    if plugins is None:
        return {}
    return {
        "plugin_dir": str(plugins),
        "plugin_load_add": "server_audit",
        "server_audit_logging": "ON",
    }


CASES: tuple[Case, ...] = (
    Case("commit-delay", commit_delay),
    Case("purge-lag", purge_lag),
    Case("temporary-tables", temporary_tables),
    Case("small-sorts", small_sorts),
    Case("query-cache", query_cache, ("mariadb",)),
    Case("all-instruments", all_instruments, ("mysql",)),
    Case("triggers", triggers),
    Case("audit", audit, ("mariadb",)),
    Case("traced", traced),
    Case("unread-indexes", unread_indexes, ("mysql",)),
    Case("compressed-tables", compressed_tables),
    Case("compressed-binlog", compressed_binlog, ("mysql",)),
)
