"""For each rule a case that it reports, a near case that it must not, and a figure it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from diagnose.accounts import an_account
from diagnose.healthy import Made, a_case, per_second
from loadstone.diagnosis.context import Case, Series, Source
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules import (
    between_core,
    client_bound,
    cpu_bound,
    disk_cap,
    latency_bound,
    line_full,
    neighbour,
    packet_loss,
    paused,
    swapping,
    throttled,
    tls,
)
from loadstone.diagnosis.rules.mysql import (
    admission,
    binlog,
    binlog_compression,
    cold_pool,
    commit_delay,
    commit_flush,
    compressed_tables,
    connections,
    deadlock_checks,
    disk_neighbour,
    errors,
    group_commit,
    instrumentation,
    io_capacity,
    logging,
    long_transaction,
    missing_index,
    other_clients,
    purge_delay,
    query_cache,
    redo_small,
    row_locks,
    semi_sync,
    sorts,
    stored_programs,
    table_cache,
    table_locks,
    thread_pool,
    tracing,
    unused_indexes,
    working_set,
)
from loadstone.model.hot_spots import HotSpots, UnreadIndexes, WaitSpot
from loadstone.model.result import OutageLine

FULL = {"cpu_user": 0.7, "cpu_sys": 0.27, "cpu_iowait": 0.01, "cpu_idle": 0.02}
FULL_OF_SERVER = {**FULL, "process_cpu_user": 2.7, "process_cpu_sys": 0.9}
IDLE = {"cpu_user": 0.1, "cpu_sys": 0.08, "cpu_iowait": 0.0, "cpu_idle": 0.82} | {
    "process_cpu_user": 0.3,
    "process_cpu_sys": 0.2,
}
_LATCH = "wait/synch/mutex/innodb/trx_sys_mutex"
SHARED = {"shared_with_generator": "yes"}


@dataclass(frozen=True)
class Example:
    """One rule's three cases; `named` is the cause where the rule has several."""

    rule: Rule
    fires: Case
    silent: Case
    lacks: Case
    named: str = ""
    needs: str = ""
    """A figure that the case `lacks` does not have."""

    @property
    def cause(self) -> str:
        return self.named or self.rule.cause


@dataclass(frozen=True)
class Of:
    """Changes to the healthy figures that make a case."""

    level: Made = field(default_factory=Made)
    before: tuple[Made, ...] = ()
    variables: dict[str, str | None] = field(default_factory=dict)
    seconds: dict[tuple[Source, str], Series] = field(default_factory=dict)

    def case(self, **changes: Any) -> Case:
        return a_case(
            *self.before,
            self.level.but(**changes),
            variables=self.variables,
            seconds=self.seconds or None,
        )

    def with_variables(self, **variables: str | None) -> Case:
        return a_case(
            *self.before,
            self.level,
            variables={**self.variables, **variables},
            seconds=self.seconds or None,
        )


_CLIENT = Of(
    Made(host=IDLE, means={"threads_running": 2.0}, generator={"cpu_share": 0.97, "shards": 1})
)
_NEIGHBOUR = Of(Made(host=FULL | {"process_cpu_user": 1.0, "process_cpu_sys": 0.4}))
_THROTTLED = Of(
    Made(
        host_rates={"cgroup.periods": 10.0, "cgroup.throttled_periods": 8.0},
        host_means={"cgroup.cpu_cores": 1.9},
    )
)
_PINNED = Of(
    Made(
        host={"process_cpu_user": 0.7, "process_cpu_sys": 0.27},
        host_means={"process.cpus_allowed": 1.0},
    )
)
_HOT_CORE = Of(Made(host={"busiest_core": 0.99}))
_ON_THE_WAY: dict[str, Any] = {"host": IDLE, "means": {"threads_running": 2.0}}
_LINE = Of(Made(**_ON_THE_WAY), before=(Made(users=4, **_ON_THE_WAY),))
_QUEUEING = Of(
    Made(
        host={"disk_busy": 0.99, "disk_queue": 12.0, "disk_write_await_ms": 10.0},
    )
)
_COLD_SECONDS: dict[tuple[Source, str], Series] = {
    ("server", "buffer_pool_reads"): per_second(*[5000.0] * 3, *[2500.0] * 4, *[500.0] * 3),
    ("load", "tps"): per_second(*[1000.0] * 10),
}
_READING: dict[str, Any] = {
    "rates": {"buffer_pool_reads": 2500.0},
    "host": {"disk_read_iops": 2500.0, "disk_read_await_ms": 0.3},
}
_COLD = Of(Made(**_READING, highest={"pages_data": 2178.0 + 11_000}), seconds=_COLD_SECONDS)
_WORKING_SET = Of(Made(**_READING, means={"pages_free": 1000.0}))
_COMMIT = Of(Made(means={"state.commit": 12.0}))
_TIGHT_REDO = Of(
    Made(means={"checkpoint_age_bytes": 76e6}),
    seconds={("server", "checkpoint_age_bytes.now"): per_second(*[76e6] * 10)},
)
_IO = Of(
    Made(
        rates={"pages_flushed": 200.0, "buffer_pool_wait_free": 30.0},
        means={"pages_dirty": 7000.0},
    )
)
_HOT_ROW = Of(Made(rates={"row_lock_time_s": 14.0, "row_lock_waits": 990.0}))
_CHECKED = Of(
    Made(
        users=128,
        tps=300.0,
        rates={"row_lock_time_s": 120.0},
        host={"process_cpu_user": 2.5, "process_cpu_sys": 0.5},
    ),
    before=(Made(users=4, tps=3000.0, rates={"row_lock_time_s": 3.0}),),
)
_CROWD = Of(
    Made(users=1024, tps=700.0, means={"threads_running": 600.0}, host=FULL_OF_SERVER),
    before=(Made(users=16, tps=1000.0, host=FULL_OF_SERVER),),
)
_SMALL_POOL = Of(
    Made(
        host={"process_cpu_user": 0.8, "process_cpu_sys": 0.15, "cpu_idle": 0.65, "cpu_user": 0.2}
    ),
    variables={"thread_handling": "pool-of-threads", "thread_pool_size": "1"},
)
_ADMISSION = Of(variables={"innodb_thread_concurrency": "2"})
_OPENING = Of(
    Made(rates={"opened_tables": 5000.0, "table_open_cache_overflows": 5000.0}),
    variables={"table_open_cache": "10"},
)
_CLIFF = Of(
    Made(
        rates={"sort_range": 1000.0},
        host={"minor_faults_per_s": 400_000.0, "process_cpu_user": 0.8, "process_cpu_sys": 1.5},
    ),
    variables={"sort_buffer_size": str(32 * 1024 * 1024)},
)
_SCANS = Of(Made(tps=50.0, rates={"handler_read_rnd_next": 5e6, "rows_sent": 15_000.0}))
_REPLICA = Of(
    Made(rates={"semi_sync_wait_s": 12.0}), variables={"rpl_semi_sync_master_enabled": "ON"}
)
_ALONE = Of(
    Made(totals={"semi_sync_no": 5000.0, "semi_sync_yes": 10.0}),
    variables={"rpl_semi_sync_master_enabled": "ON"},
)
_LOGGED = Of(variables={"general_log": "ON"})
_SLOW_LOGGED = Of(
    Made(rates={"slow_queries": 20_000.0}),
    variables={"slow_query_log": "ON", "long_query_time": "0.000000"},
)
_TLS = Of(Made(step={"encrypted_users": 16, "tls": "TLSv1.3"}, host={"process_cpu_user": 0.7}))
_OLD = Of(
    Made(means={"history_length": 9000.0}, highest={"oldest_transaction_s": 30.0}),
    seconds={("server", "history_length.now"): per_second(*range(0, 10_000, 1000))},
)
_FEW = Of(Made(host=IDLE))
_FAR_STEP = Made().as_step().latency.service.model_copy(update={"min": 1.0})
_CACHED = Of(
    Made(means={"state.waiting for query cache lock": 6.0}),
    variables={"query_cache_type": "ON", "query_cache_size": "1048576"},
)
_DELAYED = Of(
    Made(means={"state.commit": 12.0}), variables={"binlog_group_commit_sync_delay": "10000"}
)
_DISK_OF_OTHERS = Of(
    Made(
        means={"state.commit": 12.0},
        host={
            "disk_busy": 0.98,
            "disk_read_bytes_per_s": 1e6,
            "disk_write_bytes_per_s": 180e6,
        },
        host_rates={"process.read_bytes": 0.0, "process.written_bytes": 3e6},
    )
)
_HELD_BACK = Of(
    Made(means={"history_length": 30_000.0}, rates={"rows_updated": 400.0}),
    variables={"innodb_max_purge_lag": "10000", "innodb_max_purge_lag_delay": "100000"},
)
_FLUSHED = Of(Made(rates={"com_flush": 1.0, "opened_tables": 200.0}))
_TRIGGERED = Of(Made(rates={"queries": 30_000.0, "com_stmt_prepare": 0.0}))
_AUDITED = Of(variables={"server_audit_logging": "ON", "server_audit_events": ""})
_LOSSY = Of(Made(host_rates={"tcp.retransmits": 40.0, "tcp.segments_out": 8000.0}))
_BUSY = an_account(on_core=0.1, waiting_for_a_core=0.3, commit=0.2)
_BETWEEN = Of(
    Made(
        host=IDLE,
        host_rates={"between.thread_run_s": 0.95},
        step={"account": an_account(way=0.8, on_core=0.2)},
    )
)
_TRACED = Of(
    Made(step={"account": _BUSY}), variables={"optimizer_trace": "enabled=on,one_line=off"}
)
_PACKED = Of(
    Made(step={"account": _BUSY}),
    variables={
        "log_bin": "ON",
        "binlog_transaction_compression": "ON",
        "binlog_transaction_compression_level_zstd": "22",
    },
)
_INDEXED = Of(
    Made(
        step={
            "account": _BUSY,
            "hot_spots": HotSpots(
                unread=(UnreadIndexes(table="sbtest.t", inserted=500_000, indexes=("a", "b", "c")),)
            ),
        }
    ),
    variables={"performance_schema": "ON"},
)
_COMPRESSED = Of(
    Made(
        rates={"compress_ops": 2000.0, "uncompress_ops": 5000.0},
        step={"account": _BUSY},
    )
)
_TIMED = Of(
    Made(
        step={"hot_spots": HotSpots(waits=(WaitSpot(event=_LATCH, count=20_000_000, time_s=9.0),))}
    ),
    variables={"performance_schema": "ON"},
)
_FAR = Of(
    Made(
        **_ON_THE_WAY,
        mean_ms=24.0,
        step={"statements": {"read": _FAR_STEP}},
    )
)


def _synced(users: int, tps: float, syncs: float) -> Made:
    figures = {"log_syncs_per_s": syncs, "transactions_per_sync": tps / syncs}
    return Made(users=users, tps=tps, rates={"log_syncs": syncs}, server_figures=figures)


EXAMPLES = (
    Example(
        client_bound.RULE,
        _CLIENT.case(),
        _CLIENT.case(generator={"cpu_share": 0.5}),
        _CLIENT.case(generator={"cpu_share": None}),
        needs="generator's cpu_share",
    ),
    Example(
        errors.RULE,
        a_case(Made(step={"errors": {"1064": 500}})),
        a_case(Made(step={"errors": {"1064": 5, "1213": 3000}})),
        a_case(),
    ),
    Example(
        connections.RULE,
        a_case(Made(totals={"refused_connections": 40.0}, step={"connect_failures": {"1040": 40}})),
        a_case(),
        a_case(),
    ),
    Example(
        connections.LOST_RULE,
        a_case(
            Made(
                step={
                    "reconnects": 16,
                    "outages": (OutageLine(from_s=3, to_s=4, users=16, reason="2013 lost"),),
                }
            )
        ),
        a_case(),
        a_case(),
    ),
    Example(
        connections.STORM_RULE,
        a_case(Made(rates={"connections": 900.0, "ssl_accepts": 900.0})),
        a_case(Made(rates={"connections": 2.0})),
        a_case(Made(rates={"connections": None})),
        needs="server counter connections",
    ),
    Example(
        semi_sync.FALLBACK_RULE,
        _ALONE.case(),
        _ALONE.with_variables(rpl_semi_sync_master_enabled="OFF"),
        _ALONE.case(totals={"semi_sync_no": None}),
        needs="server counter semi_sync_no",
    ),
    Example(
        semi_sync.RULE,
        _REPLICA.case(),
        _REPLICA.case(rates={"semi_sync_wait_s": 1.0}),
        a_case(),
    ),
    Example(
        neighbour.RULE,
        _NEIGHBOUR.case(),
        _NEIGHBOUR.case(host=FULL_OF_SERVER),
        _NEIGHBOUR.case(host={"process_cpu_user": None}),
        needs="host's process_cpu_sys",
    ),
    Example(
        neighbour.STEAL_RULE,
        a_case(Made(host={"cpu_steal": 0.2})),
        a_case(Made(host={"cpu_steal": 0.01})),
        a_case(Made(host={"cpu_steal": None})),
        needs="host's cpu_steal",
    ),
    Example(
        other_clients.RULE,
        a_case(Made(rates={"questions": 40_000.0})),
        a_case(Made(rates={"questions": 20_050.0})),
        a_case(Made(rates={"questions": None})),
        needs="server counter questions",
    ),
    Example(
        disk_neighbour.RULE,
        _DISK_OF_OTHERS.case(),
        _DISK_OF_OTHERS.case(host_rates={"process.written_bytes": 90e6}),
        _DISK_OF_OTHERS.case(host_rates={"process.written_bytes": None}),
        needs="host counter process.written_bytes",
    ),
    Example(
        cold_pool.RULE,
        _COLD.case(),
        _COLD.case(highest={"pages_data": 2200.0}),
        _COLD.case(means={"pages_data": None}),
        needs="server value pages_data",
    ),
    Example(
        paused.RULE,
        a_case(Made(host_means={"process.stopped": 0.5})),
        a_case(Made(host_means={"process.stopped": 0.09})),
        a_case(Made(host_means={"process.stopped": None})),
        needs="host value process.stopped",
    ),
    Example(
        throttled.RULE,
        _THROTTLED.case(),
        _THROTTLED.case(host_rates={"cgroup.throttled_periods": 0.5}),
        _THROTTLED.case(host_rates={"cgroup.periods": None}),
        needs="host counter cgroup.periods",
    ),
    Example(
        throttled.PINNED_RULE,
        _PINNED.case(),
        _PINNED.case(host={"process_cpu_user": 0.2}),
        _PINNED.case(host_means={"process.cpus_allowed": None}),
        needs="host value process.cpus_allowed",
    ),
    Example(
        cpu_bound.RULE,
        a_case(Made(host=FULL_OF_SERVER)),
        a_case(Made(host={"cpu_idle": 0.2})),
        a_case(Made(host={"cpu_idle": None})),
        needs="host's cpu_idle",
    ),
    Example(
        cpu_bound.ONE_CORE_RULE,
        _HOT_CORE.case(),
        _HOT_CORE.case(facts=SHARED, generator={"cpu_share": 0.9}),
        _HOT_CORE.case(host={"busiest_core": None}),
        needs="host's busiest_core",
    ),
    Example(
        line_full.RULE,
        _LINE.case(),
        _LINE.case(host={"net_bytes_out_per_s": 80e6}),
        _LINE.case(host={"cpu_idle": None}),
        needs="host's cpu_idle",
    ),
    Example(
        disk_cap.RULE,
        _QUEUEING.case(),
        _QUEUEING.case(host={"disk_write_await_ms": 0.5}),
        _QUEUEING.case(host={"disk_busy": None}),
        needs="host's disk_busy",
    ),
    Example(
        swapping.RULE,
        a_case(Made(host_rates={"memory.swap_in_pages": 900.0, "memory.swap_out_pages": 900.0})),
        a_case(Made(host_rates={"memory.swap_in_pages": 900.0})),
        a_case(Made(host_rates={"memory.swap_in_pages": None})),
        needs="host counter memory.swap_in_pages",
    ),
    Example(
        table_locks.RULE,
        a_case(Made(means={"state.waiting for table metadata lock": 14.0})),
        a_case(Made(means={"state.waiting for table metadata lock": 0.5})),
        a_case(
            Made(
                server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}}
            )
        ),
        needs="states of the connections",
    ),
    Example(
        query_cache.RULE,
        _CACHED.case(),
        _CACHED.with_variables(query_cache_type="OFF"),
        _CACHED.with_variables(query_cache_size=None),
        needs="variable query_cache_size",
    ),
    Example(
        packet_loss.RULE,
        _LOSSY.case(),
        _LOSSY.case(host_rates={"tcp.retransmits": 5.0}),
        _LOSSY.case(host_rates={"tcp.retransmits": None}),
        needs="host counter tcp.retransmits",
    ),
    Example(
        instrumentation.RULE,
        _TIMED.case(),
        _TIMED.with_variables(performance_schema="OFF"),
        _TIMED.case(step={"hot_spots": None}),
        needs="performance_schema's waits",
    ),
    Example(
        row_locks.RULE,
        _HOT_ROW.case(),
        _HOT_ROW.case(rates={"row_lock_time_s": 1.0}),
        _HOT_ROW.case(rates={"row_lock_waits": None}),
        needs="server counter row_lock_waits",
    ),
    Example(
        row_locks.DEADLOCKS_RULE,
        a_case(Made(rates={"deadlocks": 50.0})),
        a_case(Made(rates={"deadlocks": 2.0})),
        a_case(),
    ),
    Example(
        commit_delay.RULE,
        _DELAYED.case(),
        _DELAYED.with_variables(binlog_group_commit_sync_delay="100"),
        _DELAYED.case(
            server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}}
        ),
        needs="states of the connections",
    ),
    Example(
        commit_flush.RULE,
        _COMMIT.case(),
        _COMMIT.case(host=FULL),
        _COMMIT.case(rates={"log_syncs": None}),
        needs="server counter log_syncs",
    ),
    Example(
        working_set.RULE,
        _WORKING_SET.case(),
        _WORKING_SET.case(means={"pages_free": 5900.0}),
        _WORKING_SET.case(rates={"buffer_pool_reads": None}),
        needs="server counter buffer_pool_reads",
    ),
    Example(
        redo_small.RULE,
        _TIGHT_REDO.case(),
        a_case(seconds={("server", "checkpoint_age_bytes.now"): per_second(*[50e6] * 10)}),
        _TIGHT_REDO.case(rates={"log_written_bytes": None}),
        needs="server counter log_written_bytes",
    ),
    Example(
        redo_small.BUFFER_RULE,
        a_case(Made(rates={"log_waits": 200.0})),
        a_case(Made(rates={"log_waits": 1.0})),
        a_case(Made(rates={"log_waits": None})),
        needs="server counter log_waits",
    ),
    Example(
        long_transaction.RULE,
        _OLD.case(),
        _OLD.case(highest={"oldest_transaction_s": 0.0}),
        _OLD.case(means={"history_length": None}),
        named="long-transaction",
        needs="server value history_length",
    ),
    Example(
        purge_delay.RULE,
        _HELD_BACK.case(),
        _HELD_BACK.with_variables(innodb_max_purge_lag_delay="0"),
        _HELD_BACK.with_variables(innodb_max_purge_lag=None),
        needs="variable innodb_max_purge_lag",
    ),
    Example(
        tracing.RULE,
        _TRACED.case(),
        _TRACED.with_variables(optimizer_trace="enabled=off,one_line=off"),
        _TRACED.case(rates={"questions": None}),
        needs="server counter questions",
    ),
    Example(
        binlog_compression.RULE,
        _PACKED.case(),
        _PACKED.with_variables(binlog_transaction_compression="OFF"),
        _PACKED.case(server_figures={"commits_per_s": None}),
        needs="server counter commits",
    ),
    Example(
        unused_indexes.RULE,
        _INDEXED.case(),
        _INDEXED.case(step={"hot_spots": HotSpots(unread=())}),
        _INDEXED.case(step={"hot_spots": HotSpots()}),
        needs="the use of indexes by performance_schema",
    ),
    Example(
        compressed_tables.RULE,
        _COMPRESSED.case(),
        _COMPRESSED.case(rates={"compress_ops": 0.0, "uncompress_ops": 0.0}),
        _COMPRESSED.case(rates={"compress_ops": None}),
        needs="server counter compress_ops",
    ),
    Example(
        between_core.RULE,
        _BETWEEN.case(),
        _BETWEEN.case(host_rates={"between.thread_run_s": 0.5}),
        _BETWEEN.case(step={"account": None}),
        needs="the account of the users' time",
    ),
    # A limit takes its core away. On a full host another process would have none either.
    Example(
        between_core.RULE,
        _BETWEEN.case(host_rates={"between.thread_run_s": 0.1, "between.thread_delay_s": 0.85}),
        _BETWEEN.case(host=FULL),
        _BETWEEN.case(step={"account": None}),
        needs="the account of the users' time",
    ),
    Example(
        stored_programs.RULE,
        _TRIGGERED.case(),
        _TRIGGERED.case(rates={"com_call_procedure": 9000.0}),
        _TRIGGERED.case(rates={"queries": None}),
        needs="server counter queries",
    ),
    Example(
        missing_index.RULE,
        _SCANS.case(),
        _SCANS.case(rates={"rows_sent": 4e6}),
        _SCANS.case(rates={"handler_read_rnd_next": None}),
        needs="server counter handler_read_rnd_next",
    ),
    Example(
        deadlock_checks.RULE,
        _CHECKED.case(),
        _CHECKED.case(host={"process_cpu_user": 0.1, "process_cpu_sys": 0.1}),
        _CHECKED.with_variables(innodb_deadlock_detect=None),
        needs="variable innodb_deadlock_detect",
    ),
    Example(
        thread_pool.RULE,
        _CROWD.case(),
        _CROWD.with_variables(thread_handling="pool-of-threads"),
        _CROWD.case(means={"threads_running": None}, step={"account": None}),
        needs="server value threads_running",
    ),
    Example(
        thread_pool.SMALL_RULE,
        _SMALL_POOL.case(),
        _SMALL_POOL.with_variables(thread_pool_size="8"),
        _SMALL_POOL.with_variables(thread_pool_size=None),
        needs="variable thread_pool_size",
    ),
    Example(
        admission.RULE,
        _ADMISSION.case(),
        _ADMISSION.case(host=FULL),
        _ADMISSION.with_variables(innodb_thread_concurrency=None),
        needs="variable innodb_thread_concurrency",
    ),
    Example(
        table_cache.RULE,
        _OPENING.case(),
        _OPENING.case(rates={"table_open_cache_overflows": 0.0}, means={"open_tables": 5.0}),
        _OPENING.with_variables(table_open_cache=None),
        needs="variable table_open_cache",
    ),
    Example(
        table_cache.FLUSHED_RULE,
        _FLUSHED.case(),
        _FLUSHED.case(rates={"opened_tables": 2.0}),
        _FLUSHED.case(rates={"com_flush": None}),
        needs="server counter com_flush",
    ),
    Example(
        io_capacity.RULE,
        _IO.case(),
        _IO.case(host={"disk_busy": 0.9}),
        _IO.case(rates={"pages_flushed": None}),
        needs="server counter pages_flushed",
    ),
    Example(
        binlog.RULE,
        Of(variables={"max_binlog_size": "1048576"}).case(),
        Of(variables={"max_binlog_size": "104857600"}).case(),
        Of(variables={"max_binlog_size": None}).case(),
        needs="variable max_binlog_size",
    ),
    Example(
        binlog.CACHE_RULE,
        a_case(Made(rates={"binlog_cache_disk_use": 600.0})),
        a_case(Made(rates={"binlog_cache_disk_use": 6.0})),
        a_case(Made(rates={"binlog_cache_disk_use": None})),
        needs="server counter binlog_cache_disk_use",
    ),
    Example(
        sorts.CLIFF_RULE,
        _CLIFF.case(),
        _CLIFF.with_variables(version_malloc_library="jemalloc 5.3.0"),
        _CLIFF.case(host={"minor_faults_per_s": None}),
        needs="host's minor_faults_per_s",
    ),
    Example(
        sorts.MERGES_RULE,
        a_case(Made(rates={"sort_merge_passes": 500.0})),
        a_case(Made(rates={"sort_merge_passes": 1.0})),
        a_case(Made(rates={"sort_merge_passes": None})),
        needs="server counter sort_merge_passes",
    ),
    Example(
        sorts.TEMPORARY_RULE,
        a_case(Made(rates={"created_tmp_disk_tables": 900.0})),
        # Of 900, our own questions made 880.
        a_case(
            Made(
                rates={
                    "created_tmp_disk_tables": 900.0,
                    "own_created_tmp_tables": 900.0,
                    "own_created_tmp_disk_tables": 880.0,
                }
            )
        ),
        a_case(Made(rates={"created_tmp_disk_tables": None})),
        needs="server counter created_tmp_disk_tables",
    ),
    Example(
        logging.RULE,
        _LOGGED.case(),
        _LOGGED.with_variables(log_output="NONE"),
        _LOGGED.with_variables(general_log=None),
        needs="variable general_log",
    ),
    Example(
        logging.SLOW_RULE,
        _SLOW_LOGGED.case(),
        _SLOW_LOGGED.case(rates={"slow_queries": 200.0}),
        _SLOW_LOGGED.case(rates={"slow_queries": None}),
        needs="server counter slow_queries",
    ),
    Example(
        logging.AUDIT_RULE,
        _AUDITED.case(),
        _AUDITED.with_variables(server_audit_events="CONNECT"),
        _AUDITED.case(rates={"questions": None}),
        needs="server counter questions",
    ),
    Example(
        tls.RULE,
        _TLS.case(),
        _TLS.case(step={"encrypted_users": 0}),
        _TLS.case(step={"encrypted_users": None}),
        needs="whether connections are encrypted",
    ),
    Example(
        latency_bound.RULE,
        _FAR.case(),
        _FAR.case(host=FULL),
        _FAR.case(host={"cpu_idle": None}, means={"threads_running": None}),
        named="far-away",
        needs="host's cpu_idle",
    ),
    Example(
        latency_bound.RULE,
        _FEW.case(),
        a_case(Made(users=4, tps=980.0), Made(host=IDLE)),
        _FEW.case(host={"cpu_idle": None}),
        named="few-users",
        needs="host's cpu_idle",
    ),
    Example(
        group_commit.RULE,
        a_case(_synced(4, 500.0, 480.0), _synced(80, 2100.0, 200.0)),
        a_case(_synced(4, 500.0, 480.0), _synced(80, 2100.0, 2000.0)),
        a_case(Made(rates={"log_syncs": None})),
        needs="server counter log_syncs",
    ),
)
