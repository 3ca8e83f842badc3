"""The table that maps our counter names to those of PostgreSQL's views.

A server's own names are those of its views and columns (`pg_stat_database.xact_commit`), and stay
available next to ours. `pg_stat_database.target.` are those of the load's database, all others of
that view are of all databases together.
"""

from __future__ import annotations

from dataclasses import replace

from loadstone.model.observed import Reading
from loadstone.observe.names import Entry, translated

COUNTERS: tuple[Entry, ...] = (
    # A statement without BEGIN is a transaction of its own, and one that only reads counts as well.
    Entry(
        "transactions_committed",
        ("pg_stat_database.target.xact_commit", "pg_stat_database.xact_commit"),
    ),
    Entry(
        "transactions_rolled_back",
        ("pg_stat_database.target.xact_rollback", "pg_stat_database.xact_rollback"),
    ),
    Entry("transactions_writing", ("pg_current_snapshot.xmax",)),
    Entry("log_syncs", ("pg_stat_wal.wal_sync", "pg_stat_io.wal.fsyncs")),
    Entry("log_writes", ("pg_stat_wal.wal_write", "pg_stat_io.wal.writes")),
    Entry("log_written_bytes", ("pg_current_wal_lsn",)),
    Entry("pages_flushed", ("pg_stat_io.relation.writes", "pg_stat_bgwriter.buffers_written")),
    Entry("buffer_pool_reads", ("pg_stat_database.blks_read",)),
    Entry("connections", ("pg_stat_database.sessions",)),
    Entry("deadlocks", ("pg_stat_database.deadlocks",)),
)

GAUGES: tuple[Entry, ...] = (
    Entry("threads_running", ("pg_stat_activity.active",)),
    Entry("threads_connected", ("pg_stat_activity.clients",)),
    Entry("row_lock_current_waits", ("pg_stat_activity.waiting_for_rows",)),
    Entry("transactions_open", ("pg_stat_activity.in_transaction",)),
    Entry("oldest_transaction_s", ("pg_stat_activity.oldest_transaction_s",)),
    Entry("oldest_holding_transaction_s", ("pg_stat_activity.oldest_holding_transaction_s",)),
    Entry("longest_statement_s", ("pg_stat_activity.longest_statement_s",)),
    Entry("uptime_s", ("pg_postmaster.up_s",)),
)


def canonical(reading: Reading) -> Reading:
    """The reading with our names next to the server's own."""
    return replace(
        reading,
        counters=reading.counters | translated(COUNTERS, reading.counters),
        gauges=reading.gauges | translated(GAUGES, reading.gauges),
    )
