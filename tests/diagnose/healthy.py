"""Figures of healthy servers, as real runs had them, in round numbers.

Four cores of which half are used, 16 users, durable commits that take a quarter of their time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from analyse.made import a_step
from loadstone.diagnosis.context import Case, Series, Source
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.model.finding import Diagnosis, Finding
from loadstone.model.result import HostFigures, LatencyMs, LatencyPair, ServerFigures, StepResult

USERS = 16

SERVER_RATES = {
    "com_select": 14_000.0,
    "connections": 0.0,
    "ssl_accepts": 0.0,
    "threads_created": 0.0,
    "com_flush": 0.0,
    "com_stmt_prepare": 0.0,
    "com_call_procedure": 0.0,
    "opened_tables": 2.0,
    "table_open_cache_overflows": 0.0,
    "log_syncs": 500.0,
    "log_written_bytes": 2e6,
    "log_waits": 0.0,
    "flush_sync_waits": 0.0,
    "binlog_syncs": 450.0,
    "binlog_written_bytes": 800_000.0,
    "binlog_cache_use": 1000.0,
    "binlog_cache_disk_use": 0.0,
    "buffer_pool_read_requests": 100_000.0,
    "buffer_pool_reads": 0.0,
    "buffer_pool_wait_free": 0.0,
    "pages_flushed": 60.0,
    "row_lock_waits": 40.0,
    "row_lock_time_s": 0.3,
    "deadlocks": 0.0,
    "table_locks_waited": 0.0,
    "sort_range": 1000.0,
    "sort_scan": 1000.0,
    "sort_merge_passes": 0.0,
    "created_tmp_tables": 1000.0,
    "created_tmp_disk_tables": 0.5,
    "select_scan": 3.0,
    "slow_queries": 0.0,
    "handler_read_key": 17_000.0,
    "handler_read_next": 400_000.0,
    "handler_read_rnd_next": 100_000.0,
    "rows_sent": 310_000.0,
    "rows_inserted": 1000.0,
    "rows_updated": 2000.0,
    "rows_deleted": 1000.0,
    "semi_sync_no": 0.0,
    "semi_sync_yes": 0.0,
    "semi_sync_wait_s": 0.0,
    "compress_ops": 0.0,
    "uncompress_ops": 0.0,
}
SERVER_MEANS = {
    "threads_running": 9.0,
    "threads_connected": 17.0,
    "row_lock_current_waits": 0.2,
    "pages_total": 8112.0,
    "pages_free": 5900.0,
    "pages_data": 2178.0,
    "pages_dirty": 1100.0,
    "history_length": 300.0,
    "oldest_transaction_s": 0.0,
    "longest_statement_s": 0.0,
    "checkpoint_age_bytes": 15e6,
    "checkpoint_age_max_bytes": 81e6,
    "open_tables": 180.0,
    "semi_sync_clients": 0.0,
    "state.commit": 4.0,
    "state.updating": 0.3,
    "state.writing to net": 0.2,
}
SERVER_TOTALS = {"refused_connections": 0.0, "semi_sync_no": 0.0, "semi_sync_yes": 0.0}
HOST: dict[str, Any] = {
    "cores": 4,
    "cpu_user": 0.35,
    "cpu_sys": 0.15,
    "cpu_iowait": 0.05,
    "cpu_steal": 0.0,
    "cpu_idle": 0.45,
    "busiest_core": 0.6,
    "run_queue": 2.5,
    "context_switches_per_s": 40_000.0,
    "disk": "vda",
    "disk_read_iops": 5.0,
    "disk_write_iops": 1200.0,
    "disk_read_bytes_per_s": 80e3,
    "disk_write_bytes_per_s": 20e6,
    "disk_read_await_ms": 0.2,
    "disk_write_await_ms": 0.4,
    "disk_queue": 0.5,
    "disk_busy": 0.3,
    "disk_flushes_per_s": 600.0,
    "nic": "eth0",
    "net_bytes_in_per_s": 1e6,
    "net_bytes_out_per_s": 40e6,
    "process_cpu_user": 1.3,
    "process_cpu_sys": 0.5,
    "minor_faults_per_s": 200.0,
}
HOST_RATES = {
    "process.read_bytes": 80e3,
    "process.written_bytes": 9e6,
    "disk.vda.flushes": 600.0,
    "disk.vda.flush_s": 0.25,
    "cpu.softirq_s": 0.1,
    "cpu.irq_s": 0.0,
    "cgroup.periods": 0.0,
    "cgroup.throttled_periods": 0.0,
    "tcp.retransmits": 0.2,
    "tcp.segments_out": 8000.0,
    "memory.swap_in_pages": 0.0,
    "memory.swap_out_pages": 0.0,
}
HOST_MEANS = {"process.cpus_allowed": 4.0, "process.stopped": 0.0}
FACTS = {"nic.eth0.speed_mbit": "10000"}
VARIABLES = {
    "version": "10.11.19-MariaDB-log",
    "version_malloc_library": "system",
    "thread_handling": "one-thread-per-connection",
    "thread_pool_size": "4",
    "innodb_thread_concurrency": "0",
    "innodb_buffer_pool_size": "134217728",
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_lock_wait_timeout": "50",
    "sync_binlog": "1",
    "innodb_max_dirty_pages_pct": "90.000000",
    "innodb_log_file_size": "100663296",
    "innodb_log_buffer_size": "16777216",
    "innodb_deadlock_detect": "ON",
    "max_binlog_size": "1073741824",
    "binlog_cache_size": "32768",
    "max_connections": "4500",
    "table_open_cache": "2000",
    "sort_buffer_size": "2097152",
    "tmp_table_size": "16777216",
    "performance_schema": "OFF",
    "binlog_commit_wait_count": "0",
    "binlog_commit_wait_usec": "100000",
    "innodb_max_purge_lag": "0",
    "innodb_max_purge_lag_delay": "0",
    "flush_time": "0",
    "query_cache_type": "OFF",
    "query_cache_size": "1048576",
    "max_heap_table_size": "16777216",
    "table_definition_cache": "400",
    "thread_cache_size": "8",
    "general_log": "OFF",
    "slow_query_log": "OFF",
    "long_query_time": "10.000000",
    "log_output": "FILE",
    "transaction_isolation": "REPEATABLE-READ",
    "rpl_semi_sync_master_enabled": "OFF",
    "rpl_semi_sync_master_timeout": "10000",
}
GENERATOR = {
    "cpu_share": 0.2,
    "run_delay_share": 0.02,
    "dispatch_p99_us": 10.0,
    "held_p99_us": 50.0,
    "shards": 1,
}


@dataclass(frozen=True)
class Made:
    """Differences from the healthy figures; a value of `None` removes a figure."""

    users: int = USERS
    tps: float = 1000.0
    mean_ms: float = 16.0
    rates: dict[str, float | None] = field(default_factory=dict)
    means: dict[str, float | None] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)
    totals: dict[str, float | None] = field(default_factory=dict)
    host: dict[str, Any] = field(default_factory=dict)
    host_rates: dict[str, float | None] = field(default_factory=dict)
    host_means: dict[str, float | None] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    generator: dict[str, float | None] = field(default_factory=dict)
    server_figures: dict[str, Any] = field(default_factory=dict)
    step: dict[str, Any] = field(default_factory=dict)

    def but(self, **changes: dict[str, Any] | float) -> Made:
        """The same with more differences; dictionaries are merged."""
        merged = {
            name: {**getattr(self, name), **value} if isinstance(value, dict) else value
            for name, value in changes.items()
        }
        return replace(self, **merged)  # type: ignore[arg-type]  # by the names of the fields

    def as_step(self, number: int = 1) -> StepResult:
        """A step with these figures."""
        qps = float(self.step.get("qps", 20 * self.tps))
        means = _with(SERVER_MEANS, self.means)
        server = ServerFigures(
            rates=_with(
                SERVER_RATES
                | {"questions": qps, "queries": qps, "bytes_sent": self.tps * 40_000 + 20_000},
                self.rates,
            ),
            means=means,
            highest={**means, **self.highest},
            totals=_with(SERVER_TOTALS, self.totals),
            **{"seconds": 10.0, "commits_per_s": self.tps, **self.server_figures},
        )
        host = HostFigures(
            seconds=10.0,
            rates=_with(HOST_RATES, self.host_rates),
            means=_with(HOST_MEANS, self.host_means),
            facts={**FACTS, **self.facts},
            **{**HOST, **self.host},
        )
        spread = LatencyMs.model_validate(
            dict.fromkeys(LatencyMs.model_fields) | {"count": 100, "above_range": 0, "at_least": ()}
        )
        latency = spread.model_copy(update={"mean": self.mean_ms, "p99": 3 * self.mean_ms})
        fastest = spread.model_copy(update={"min": 0.06})
        changes = {
            "step": number,
            "qps": qps,
            "latency": LatencyPair(response=latency, service=latency),
            "statements": {"read": fastest},
            "encrypted_users": 0,
            "bytes_in": int(self.tps * 400_000),
            "bytes_out": int(self.tps * 8_000),
            "server": server,
            "host": host,
            **self.step,
        }
        made = a_step(users=self.users, tps=self.tps, **changes)
        own = made.generator.model_copy(update=GENERATOR | self.generator)
        return made.model_copy(update={"generator": own})


@dataclass(frozen=True)
class MadeSeconds:
    """Columns by source and name, the same for each step."""

    columns: dict[tuple[Source, str], Series]

    def series(self, source: Source, step: int, column: str) -> Series | None:
        return self.columns.get((source, column))


def a_case(
    *levels: Made,
    variables: dict[str, str | None] | None = None,
    seconds: dict[tuple[Source, str], Series] | None = None,
) -> Case:
    """A ladder of these steps, examined at its last; without any, a healthy one."""
    steps = tuple(made.as_step(at) for at, made in enumerate(levels or (Made(),), 1))
    told = {**VARIABLES, **(variables or {})}
    return Case(
        step=steps[-1],
        ladder=steps,
        variables={name: value for name, value in told.items() if value is not None},
        seconds=MadeSeconds(seconds) if seconds else None,
    )


def causes(case: Case) -> list[str]:
    """The causes found, the most important first."""
    return [finding.cause for finding in diagnosis_of(case).findings]


def above_notes(found: Diagnosis) -> list[Finding]:
    """All findings above notes: a healthy server must not have any."""
    return [finding for finding in found.findings if finding.group != "note"]


def per_second(*values: float) -> Series:
    """A value for each second, starting with the first."""
    return tuple((float(at), value) for at, value in enumerate(values, 1))


def _with(usual: dict[str, float], changes: dict[str, float | None]) -> dict[str, float]:
    merged: dict[str, float | None] = {**usual, **changes}
    return {name: value for name, value in merged.items() if value is not None}
