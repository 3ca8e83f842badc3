"""Figures of a healthy PostgreSQL 15, as a real run had them, in round numbers.

Four cores of which half are used, 16 users, durable commits that take a quarter of their time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnose.accounts import an_account
from diagnose.healthy import USERS, Made, MadeSeconds
from diagnose.of_postgresql.tables import HEALTHY_TABLES
from loadstone.diagnosis.context import Case, Series, Source
from loadstone.model.account import Account
from loadstone.model.result import StepResult, TargetShare

RATES = {
    "buffer_pool_reads": 40.0,
    "connections": 0.0,
    "deadlocks": 0.0,
    "log_syncs": 500.0,
    "log_writes": 500.0,
    "log_written_bytes": 1e6,
    "pages_flushed": 0.0,
    "pg_stat_bgwriter.buffers_checkpoint": 0.0,
    "pg_stat_bgwriter.checkpoints_req": 0.0,
    "pg_stat_bgwriter.checkpoints_timed": 0.0,
    "pg_stat_database.deadlocks": 0.0,
    "pg_stat_database.blks_hit": 260_000.0,
    "pg_stat_database.blks_read": 40.0,
    "pg_stat_database.target.blks_read": 40.0,
    "pg_stat_database.target.tup_deleted": 1000.0,
    "pg_stat_database.target.tup_fetched": 410_000.0,
    "pg_stat_database.target.tup_inserted": 1000.0,
    "pg_stat_database.target.tup_returned": 440_000.0,
    "pg_stat_database.target.tup_updated": 2000.0,
    "pg_stat_database.target.temp_bytes": 0.0,
    "pg_stat_database.target.temp_files": 0.0,
    "pg_stat_wal.wal_buffers_full": 0.0,
    "pg_stat_wal.wal_bytes": 1e6,
    "pg_stat_wal.wal_fpi": 2.0,
    "pg_stat_wal.wal_records": 9000.0,
    "pg_stat_wal.wal_sync": 500.0,
    "pg_stat_wal.wal_write": 500.0,
    "transactions_committed": 1000.0,
    "transactions_writing": 1000.0,
}
TOTALS = {
    "pg_stat_bgwriter.checkpoints_req": 0.0,
    "pg_stat_bgwriter.checkpoints_timed": 0.0,
    "pg_stat_database.target.blks_read": 400.0,
    "transactions_committed": 10_000.0,
    "transactions_writing": 10_000.0,
}
MEANS = {
    "threads_running": 9.0,
    "threads_connected": 18.0,
    "row_lock_current_waits": 0.2,
    "oldest_transaction_s": 0.0,
    "longest_statement_s": 0.0,
    "pg_stat_activity.waiting_for_rows": 0.2,
    "pg_stat_activity.oldest_transaction_s": 0.0,
    "pg_stat_activity.oldest_xmin_age": 40.0,
    "pg_stat_replication.count": 0.0,
    "pg_stat_replication.synchronous": 0.0,
    "state.IO:WALSync": 0.5,
    "state.LWLock:WALWrite": 3.5,
    "state.active": 2.0,
}
VARIABLES = {
    "autovacuum": "on",
    "autovacuum_naptime": "1min",
    "checkpoint_completion_target": "0.9",
    "checkpoint_timeout": "5min",
    "checkpoint_warning": "30s",
    "commit_delay": "0",
    "commit_siblings": "5",
    "deadlock_timeout": "1s",
    "effective_io_concurrency": "1",
    "fsync": "on",
    "full_page_writes": "on",
    "jit": "on",
    "jit_above_cost": "100000",
    "log_duration": "off",
    "log_min_duration_statement": "-1",
    "log_statement": "none",
    "max_wal_size": "1GB",
    "plan_cache_mode": "auto",
    "server_version": "15.18 (Debian 15.18-0+deb12u1)",
    "shared_buffers": "128MB",
    "synchronous_commit": "on",
    "synchronous_standby_names": "",
    "track_io_timing": "off",
    "wal_buffers": "4MB",
    "wal_compression": "off",
    "wal_sync_method": "fdatasync",
    "work_mem": "4MB",
}
TARGET = TargetShare(
    target="postgresql://bench@127.0.0.1:5432/sbtest?tls=disabled",
    server_version="15.18",
    events=10_000,
    queries=200_000,
    errors=0,
    connect_failures=0,
    users=USERS,
)
HEALTHY = an_account(
    generator=0.05, way=0.15, on_core=0.11, waiting_for_a_core=0.2, log_sync=0.03, commit=0.22
)
"""The rest, on purpose, is unnamed."""


class Figures(Made):
    """Differences from these figures; a value of `None` removes one."""

    def as_step(self, number: int = 1) -> StepResult:
        """A step with these figures."""
        made = super().as_step(number)
        means = _with(MEANS, self.means)
        assert made.server is not None
        server = made.server.model_copy(
            update={
                "rates": _with(RATES, self.rates),
                "means": means,
                "highest": {**means, **self.highest},
                "totals": _with(TOTALS, self.totals),
                **self.server_figures,
            }
        )
        changes = {
            "targets": (TARGET,),
            "server": server,
            "account": HEALTHY,
            "hot_spots": HEALTHY_TABLES,
            **self.step,
        }
        return made.model_copy(update=changes)


def a_case(
    *levels: Made,
    variables: Mapping[str, str | None] | None = None,
    seconds: dict[tuple[Source, str], Series] | None = None,
) -> Case:
    """A ladder of these steps, examined at its last; without any, a healthy one."""
    steps = tuple(made.as_step(at) for at, made in enumerate(levels or (Figures(),), 1))
    told = {**VARIABLES, **(variables or {})}
    return Case(
        step=steps[-1],
        ladder=steps,
        variables={name: value for name, value in told.items() if value is not None},
        seconds=MadeSeconds(seconds) if seconds else None,
    )


def at(account: Account | None = None, **figures: Any) -> Figures:
    """Figures with another account: `at(an_account(row_lock=0.4))`."""
    step = {**figures.pop("step", {}), "account": account or HEALTHY}
    return Figures(**figures, step=step)


def _with(usual: Mapping[str, float], changes: Mapping[str, float | None]) -> dict[str, float]:
    merged: dict[str, float | None] = {**usual, **changes}
    return {name: value for name, value in merged.items() if value is not None}
