"""All cases: which causes there are, how large they may be, and under which load they take effect.

The ranges take effect on two cores and up. A case whose proof says that it did not is reported
separately and counts neither way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from faults import company, injections, postgresql, scripted, settings
from faults.case import Case, Draw, Fault, Kind, Load, Removal, Server, both, together
from faults.ground import RELAXED, TABLES
from faults.injections import Holding

_MIB = 1024 * 1024
_QUEUED = "SELECT SUM(QUEUE_LENGTH) FROM information_schema.THREAD_POOL_GROUPS"
_NOT_ENTERED = (
    "SELECT COUNT(*) FROM information_schema.INNODB_TRX"
    " WHERE trx_operation_state LIKE 'sleeping before entering%'"
)


def line_full(draw: Draw) -> Fault:
    """The server's answers share a line."""
    mbit = draw.between(8, 40)
    return Fault(
        causes=("line-full",),
        size=f"{mbit} Mbit/s",
        load=Load("oltp_read_only", draw.ladder(4, 8, 32)),
        inject=injections.line(mbit),
        behind_a_line=True,
        removal=Removal(),
    )


def tls(draw: Draw) -> Fault:
    """Every connection is encrypted."""
    encrypted = Load("oltp_point_select", draw.ladder(4, 16, 64), tls=True)
    return Fault(
        causes=("tls",),
        size="required",
        load=encrypted,
        inject=injections.highest("Ssl_finished_accepts", 4, "TLS handshakes"),
        removal=Removal(load=replace(encrypted, tls=False)),
    )


def cpu_throttled(draw: Draw) -> Fault:
    """The server's control group has a quota."""
    cores = round(draw.part(0.2, 0.8), 2)
    return Fault(
        causes=("cpu-throttled",),
        size=f"{cores} cores",
        load=Load(_read(draw), draw.ladder(4, 8, 32)),
        inject=injections.server_cores(cores),
        removal=Removal(),
    )


def few_reads(draw: Draw) -> Fault:
    """A limit on reads of the disk, with a pool that needs them."""
    iops = draw.between(100, 600)
    return Fault(
        causes=("disk-cap",),
        size=f"{iops} reads/s",
        load=Load("oltp_point_select", draw.ladder(4, 8, 32)),
        inject=injections.reads_of_disk(iops),
        settings=_small_pool(8),
        removal=Removal(),
    )


def few_writes(draw: Draw) -> Fault:
    """A limit on writes to the disk, with commits that need them."""
    iops = draw.between(60, 300)
    return Fault(
        causes=("disk-cap",),
        size=f"{iops} writes/s",
        load=Load("oltp_update_non_index", draw.ladder(1, 4, 16)),
        inject=injections.writes_to_disk(iops),
        removal=Removal(),
    )


def tiny_pool(draw: Draw) -> Fault:
    """A buffer pool that holds a part of the data in use."""
    mib = draw.between(6, 10)
    return Fault(
        causes=("working-set",),
        size=f"{mib} MiB",
        load=Load(_points(draw), draw.ladder(4, 8, 32)),
        inject=injections.counted("Innodb_buffer_pool_reads", 500, "pages read"),
        settings=_small_pool(mib),
        removal=Removal(settings=("innodb_buffer_pool_size",)),
    )


def tiny_redo(draw: Draw) -> Fault:
    """A redo log that the load fills within seconds."""
    mib = 8 if draw.server == "mysql" else draw.between(4, 6)
    name = "innodb_redo_log_capacity" if draw.server == "mysql" else "innodb_log_file_size"
    return Fault(
        causes=("redo-log-small",),
        size=f"{mib} MiB",
        load=Load("oltp_write_only", draw.ladder(4, 16, 48)),
        inject=injections.counted("Innodb_os_log_written", mib * _MIB / 8, "bytes of redo"),
        settings={name: str(mib * _MIB), **RELAXED},
        removal=Removal(settings=(name,)),
    )


def hot_row(draw: Draw) -> Fault:
    """All change the same row or two."""
    rows, users = draw.between(1, 2), draw.ladder(4, 16, 64)
    words = ("--tables", "1", "--table-size", str(rows), "--distribution", "uniform")
    return Fault(
        causes=("row-locks", "deadlock-checks"),
        size=f"{rows} rows, {users[-1]} users",
        load=Load("oltp_update_non_index", users, words),
        inject=injections.counted("Innodb_row_lock_waits", 100, "waits for the row"),
    )


def thread_each(draw: Draw) -> Fault:
    """A thread for each of a thousand connections and more."""
    users = draw.ladder(16, 1000, 1500)
    return Fault(
        causes=("no-thread-pool",),
        size=f"{users[-1]:,} connections",
        load=Load("oltp_point_select", users, ("--connect-timeout", "60s"), times=1.4),
        inject=injections.highest("Max_used_connections", 1000, "connections"),
    )


def late_replica(draw: Draw) -> Fault:
    """A replica that seldom has a core to acknowledge with."""
    cores = round(draw.part(0.02, 0.06), 3)
    return Fault(
        causes=("semi-sync-wait", "semi-sync-fallback"),
        size=f"{cores} cores",
        load=Load("oltp_update_non_index", draw.ladder(2, 8, 16)),
        inject=both(injections.replica_cores(cores), injections.late_acknowledgements),
        data="replicated",
    )


def dead_replica(draw: Draw) -> Fault:
    """A replica that ends in mid-run: commits go on without it after a while."""
    after_s, timeout_ms = round(draw.part(0.0, 3.0), 1), draw.between(200, 1500)
    end = "master" if draw.server == "mariadb" else "source"
    return Fault(
        causes=("semi-sync-fallback",),
        size=f"after {after_s} s, waited for {timeout_ms} ms",
        load=Load("oltp_update_non_index", draw.ladder(2, 4, 16)),
        inject=injections.dead_replica(after_s),
        settings={f"loose_rpl_semi_sync_{end}_timeout": str(timeout_ms)},
        data="replicated",
    )


def missing_index(draw: Draw) -> Fault:
    """Searches by id without an index on it."""
    tables = draw.between(1, TABLES)
    words = ("--tables", str(tables), "--distribution", "uniform")
    return Fault(
        causes=("missing-index",),
        size=f"{tables} tables",
        load=Load("oltp_point_select", draw.ladder(2, 4, 16), words),
        inject=injections.without_keys(tables),
        removal=Removal(),
    )


def locked_tables(draw: Draw) -> Fault:
    """LOCK TABLES of another session, most of the time."""
    hold_s = round(draw.part(0.5, 1.2), 2)
    tables = ", ".join(f"sbtest{number} WRITE" for number in range(1, TABLES + 1))
    return Fault(
        causes=("table-locks",),
        size=f"{hold_s} s of {hold_s + 0.4:.2f} s",
        load=Load(_read_or_write(draw), draw.ladder(4, 8, 24)),
        inject=injections.held(
            Holding((f"LOCK TABLES {tables}",), ("UNLOCK TABLES",), hold_s, 0.4, "lock")
        ),
        removal=Removal(),
    )


def global_lock(draw: Draw) -> Fault:
    """FLUSH TABLES WITH READ LOCK of another session, as backups take it."""
    hold_s = round(draw.part(0.5, 1.2), 2)
    take, give = ("FLUSH TABLES WITH READ LOCK",), ("UNLOCK TABLES",)
    return Fault(
        causes=("table-locks",),
        size=f"{hold_s} s of {hold_s + 0.4:.2f} s",
        load=Load("oltp_write_only", draw.ladder(4, 8, 24)),
        inject=injections.held(Holding(take, give, hold_s, 0.4, "lock")),
        removal=Removal(),
    )


def slow_generator(draw: Draw) -> Fault:
    """The generator has a small share of a core."""
    cores = round(draw.part(0.03, 0.1), 3)
    return Fault(
        causes=("client-bound",),
        size=f"{cores} cores",
        load=Load("oltp_point_select", (draw.between(8, 32),), times=1.6),
        inject=injections.slow_generator(cores),
        removal=Removal(),
    )


def low_io_capacity(draw: Draw) -> Fault:
    """Flushing is held to a hundred pages a second, so that the redo log fills."""
    most = draw.between(100, 200)
    redo = "innodb_redo_log_capacity" if draw.server == "mysql" else "innodb_log_file_size"
    capacity = {"innodb_io_capacity": "100", "innodb_io_capacity_max": str(most)}
    return Fault(
        causes=("io-capacity-low",),
        size=f"at most {most} pages/s",
        load=Load("oltp_write_only", draw.ladder(4, 16, 32), times=1.6),
        inject=injections.counted("Innodb_buffer_pool_pages_flushed", 50, "pages flushed"),
        settings={redo: str(16 * _MIB), **capacity, **RELAXED},
        removal=Removal(settings=tuple(capacity)),
    )


def tiny_binlog(draw: Draw) -> Fault:
    """A new file of the binary log every few transactions."""
    size = 4096 * draw.between(1, 8)
    return Fault(
        causes=("binlog-rotation",),
        size=f"{size:,} bytes",
        load=Load("oltp_update_non_index", draw.ladder(2, 4, 16)),
        inject=injections.binlog_files(50),
        settings={"max_binlog_size": str(size)},
        removal=Removal(settings=("max_binlog_size",)),
    )


def tiny_table_cache(draw: Draw) -> Fault:
    """A cache of open tables for fewer than are in use."""
    size, tables = draw.between(10, 16), draw.between(32, 48)
    words = ("--text", "--tables", str(tables), "--table-size", "1000", "--distribution", "uniform")
    cache = {"table_open_cache": str(size), "table_open_cache_instances": "1"}
    return Fault(
        causes=("table-cache-small",),
        size=f"{size} of {tables} tables",
        load=Load("oltp_point_select", draw.ladder(4, 12, 48), words),
        inject=injections.many_tables(tables, 1000, 200),
        settings=cache,
    )


def cold_start(draw: Draw) -> Fault:
    """Measured from the first second on after a start, without a warm-up."""
    cold = Load("oltp_point_select", (draw.between(4, 16),), warmup_s=0.0, times=1.6)
    return Fault(
        causes=("cold-buffer-pool",),
        size="800,000 rows",
        load=cold,
        inject=injections.counted("Innodb_buffer_pool_reads", 200, "pages read"),
        settings={
            "innodb_buffer_pool_size": str(512 * _MIB),
            "innodb_buffer_pool_load_at_startup": "OFF",
        },
        data="large",
        removal=Removal(load=cold),
    )


def general_log(draw: Draw) -> Fault:
    """Each statement is written to the general log."""
    return Fault(
        causes=("general-log",),
        size="to a file",
        load=Load(_read(draw), draw.ladder(4, 8, 32)),
        inject=injections.growing_log(1e6),
        settings={"general_log": "ON", "log_output": "FILE"},
        removal=Removal(settings=("general_log",)),
    )


def slow_log(draw: Draw) -> Fault:
    """Each statement is written to the slow log."""
    return Fault(
        causes=("slow-log",),
        size="all statements",
        load=Load(_read(draw), draw.ladder(4, 8, 32)),
        inject=injections.growing_log(1e6),
        settings={"slow_query_log": "ON", "long_query_time": "0", "log_output": "FILE"},
        removal=Removal(settings=("slow_query_log",)),
    )


def hog(draw: Draw) -> Fault:
    """Others compute on the server's host."""
    count = draw.between(2, 6)
    return Fault(
        causes=("noisy-neighbour",),
        size=f"{count} processes",
        load=Load(_read_or_write(draw), draw.ladder(2, 4, 16)),
        inject=injections.hogs(count),
        removal=Removal(),
    )


def small_thread_pool(draw: Draw) -> Fault:
    """One group for all cores."""
    return Fault(
        causes=("thread-pool-small",),
        size="1 group",
        load=Load("oltp_read_only", draw.ladder(4, 24, 64)),
        inject=injections.sampled(_QUEUED, 0.5, "statements in the pool's queue"),
        settings={"thread_handling": "pool-of-threads", "thread_pool_size": "1"},
        removal=Removal(settings=("thread_pool_size",)),
    )


def few_threads_inside(draw: Draw) -> Fault:
    """One statement at a time in the storage engine."""
    return Fault(
        causes=("thread-concurrency-low",),
        size="1 thread",
        load=Load("oltp_read_only", draw.ladder(4, 16, 48)),
        inject=injections.sampled(_NOT_ENTERED, 1, "transactions before InnoDB's door"),
        settings={"innodb_thread_concurrency": "1"},
        removal=Removal(settings=("innodb_thread_concurrency",)),
    )


def far_away(draw: Draw) -> Fault:
    """Some milliseconds on the way to the server, and as many back."""
    each_way_ms = round(draw.part(1.0, 6.0), 1)
    return Fault(
        causes=("far-away",),
        size=f"{each_way_ms} ms each way",
        load=Load("oltp_read_write", draw.ladder(2, 4, 8)),
        inject=injections.answers_after(2 * each_way_ms),
        each_way_ms=each_way_ms,
    )


def healthy(draw: Draw) -> Fault:
    """Nothing is wrong."""
    workload = draw.of_these(
        "oltp_read_write",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_update_non_index",
        "select_random_ranges",
    )
    users = draw.of_these("1", "2", "4", "16")
    words = ["--distribution", "uniform"]
    ladder = (int(users),) if draw.chance.random() < 0.5 else (1, int(users) + 1)
    if draw.chance.random() < 0.25:
        words += ["--rate", str(draw.between(20, 100))]
        ladder = (16,)
    return Fault(
        causes=(),
        size=" ".join([workload, ",".join(map(str, ladder)), *words[2:]]),
        load=Load(workload, ladder, tuple(words)),
        inject=injections.nothing,
    )


def _pair(
    first: Callable[[Draw], Fault], second: Callable[[Draw], Fault]
) -> Callable[[Draw], Fault]:
    return lambda draw: together(first(draw), second(draw))


_BOTH: tuple[Server, ...] = ("mariadb", "mysql")
_MARIADB: tuple[Server, ...] = ("mariadb",)
_MYSQL: tuple[Server, ...] = ("mysql",)
_ALL: tuple[Server, ...] = get_args(Server)

CASES: tuple[Case, ...] = (
    Case("line-full", line_full, _BOTH),
    Case("tls", tls, _BOTH),
    Case("cpu-throttled", cpu_throttled, _ALL),
    Case("disk-reads", few_reads, _MARIADB),
    Case("disk-writes", few_writes, _ALL),
    Case("tiny-pool", tiny_pool, _BOTH),
    Case("tiny-redo", tiny_redo, _BOTH),
    Case("hot-row", hot_row, _BOTH),
    Case("thousand-threads", thread_each, _MARIADB),
    Case("late-replica", late_replica, _BOTH),
    Case("dead-replica", dead_replica, _MARIADB),
    Case("missing-index", missing_index, _BOTH),
    Case("lock-tables", locked_tables, _BOTH),
    Case("global-lock", global_lock, _MARIADB),
    Case("slow-generator", slow_generator, ("mariadb", "postgresql")),
    Case("io-capacity", low_io_capacity, _MYSQL),
    Case("tiny-binlog", tiny_binlog, _BOTH),
    Case("tiny-table-cache", tiny_table_cache, _BOTH),
    Case("cold-start", cold_start, _MARIADB),
    Case("general-log", general_log, _BOTH),
    Case("slow-log", slow_log, _MARIADB),
    Case("hog", hog, _ALL),
    Case("small-thread-pool", small_thread_pool, _MARIADB),
    Case("few-threads-inside", few_threads_inside, _MYSQL),
    Case("far-away", far_away, _ALL),
    *company.CASES,
    *settings.CASES,
    *scripted.CASES,
    *postgresql.CASES,
)

PAIRS: tuple[Case, ...] = (
    Case("hot-row+cpu-throttled", _pair(hot_row, cpu_throttled), _MARIADB, "pair"),
    Case("missing-index+hog", _pair(missing_index, hog), _MARIADB, "pair"),
    Case("line-full+lock-tables", _pair(line_full, locked_tables), _MARIADB, "pair"),
    Case("tiny-pool+lock-tables", _pair(tiny_pool, locked_tables), _MARIADB, "pair"),
    Case("tls+general-log", _pair(tls, general_log), _MARIADB, "pair"),
    Case("held-rows+hog", _pair(company.held_rows, hog), _MARIADB, "pair"),
    Case("one-core+slow-log", _pair(company.one_core, slow_log), _MARIADB, "pair"),
    Case("commit-delay+report", _pair(settings.commit_delay, company.report), _MYSQL, "pair"),
)


def healthy_case(number: int) -> Case:
    """The one of that number: each draws a load of its own."""
    kind: Kind = "healthy"
    return Case(f"healthy-{number}", healthy, (*_BOTH, "postgresql"), kind)


def _small_pool(mib: int) -> dict[str, str]:
    return {"innodb_buffer_pool_size": str(mib * _MIB), "innodb_flush_method": "O_DIRECT"}


def _read(draw: Draw) -> str:
    return draw.of_these("oltp_read_only", "oltp_point_select")


def _points(draw: Draw) -> str:
    return draw.of_these("oltp_point_select", "select_random_points")


def _read_or_write(draw: Draw) -> str:
    return draw.of_these("oltp_read_only", "oltp_read_write")
