"""Cases of PostgreSQL: its settings, its tables, and who else is at work there."""

from __future__ import annotations

from dataclasses import replace

from faults import injections, others
from faults.case import Case, Draw, Fault, Load, Removal, Server, both
from faults.ground import TABLES, relaxed
from faults.injections import Holding
from faults.scripted import SCRIPTS

_ONLY: tuple[Server, ...] = ("postgresql",)
_UNIFORM = ("--distribution", "uniform")
_WAITING = "count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
_ENCRYPTED = "SELECT count(*) FROM pg_stat_ssl WHERE ssl"
_WRITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid()"
    " AND datname = current_database()"
)
_COUNTING = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track_planning": "on",
}
_EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"
_FLUSH_MS = "SELECT 1000 * max(extract(epoch FROM flush_lag)) FROM pg_stat_replication"
_LOCKED = (
    "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM pg_locks"
    " WHERE locktype = 'relation' AND pid <> pg_backend_pid() GROUP BY pid) AS one"
)
_PLAN_MS = "sum(total_plan_time) FROM pg_stat_statements"
_SET_MODE = "ALTER SYSTEM SET plan_cache_mode ="
_RELOAD = "SELECT pg_reload_conf()"
_KEPT = 10_000
"""Transactions that a busy load has made while somebody kept what they left."""

_ALL_TABLES = ", ".join(f"sbtest{number}" for number in range(1, TABLES + 1))


def _of_databases(column: str) -> str:
    return f"sum({column}) FROM pg_stat_database"


def _read(draw: Draw) -> str:
    return draw.of_these("oltp_read_only", "oltp_point_select")


def _write(draw: Draw) -> str:
    return draw.of_these("oltp_update_non_index", "oltp_write_only")


def tls(draw: Draw) -> Fault:
    """Every connection is encrypted."""
    encrypted = Load("oltp_point_select", draw.ladder(4, 16, 64), tls=True)
    return Fault(
        causes=("tls",),
        size="required",
        load=encrypted,
        inject=injections.sampled(_ENCRYPTED, 4, "encrypted connections"),
        removal=Removal(load=replace(encrypted, tls=False)),
    )


def commit_delay(draw: Draw) -> Fault:
    """Each flush of the log waits for more commits."""
    delay_us = 1000 * draw.between(5, 40)
    change = "UPDATE sbtest1 SET pad = pg_backend_pid()::text WHERE id = 1"
    return Fault(
        causes=("commit-delay",),
        size=f"{delay_us / 1000:.0f} ms",
        load=Load("oltp_update_non_index", draw.ladder(1, 2, 16)),
        inject=injections.takes(change, delay_us / 1000),
        settings={"commit_delay": str(delay_us), "commit_siblings": "0"},
        removal=Removal(settings=("commit_delay",)),
    )


def late_standby(draw: Draw) -> Fault:
    """A standby that commits wait for, and that seldom has a core."""
    cores = round(draw.part(0.01, 0.04), 3)
    return Fault(
        causes=("synchronous-standby",),
        size=f"{cores} cores",
        load=Load("oltp_update_non_index", draw.ladder(2, 8, 16)),
        inject=both(
            injections.replica_cores(cores),
            injections.sampled(_FLUSH_MS, 2, "ms until the standby has the log on disk"),
        ),
        data="replicated",
    )


def hot_row(draw: Draw) -> Fault:
    """All change the same row or two."""
    rows, users = draw.between(1, 2), draw.ladder(4, 16, 64)
    words = ("--tables", "1", "--table-size", str(rows), "--distribution", "uniform")
    return Fault(
        causes=("row-locks",),
        size=f"{rows} rows, {users[-1]} users",
        load=Load("oltp_update_non_index", users, words),
        inject=injections.sampled(f"SELECT {_WAITING}", 2, "sessions waiting for the row"),
    )


def held_rows(draw: Draw) -> Fault:
    """A session keeps rows that the load wants to change."""
    hold_s = round(draw.part(0.6, 1.5), 2)
    locks = [f"SELECT id FROM sbtest{number} FOR NO KEY UPDATE" for number in range(1, TABLES + 1)]
    return Fault(
        causes=("row-locks",),
        size=f"{hold_s} s of {hold_s + 0.3:.2f} s",
        load=Load(_write(draw), draw.ladder(2, 4, 24)),
        inject=others.rows_held(hold_s, 0.3, locks, _WAITING),
        settings=relaxed("postgresql"),
        removal=Removal(),
    )


def locked_tables(draw: Draw) -> Fault:
    """LOCK TABLE of another session, most of the time."""
    hold_s = round(draw.part(0.5, 1.2), 2)
    take = ("BEGIN", f"LOCK TABLE {_ALL_TABLES} IN ACCESS EXCLUSIVE MODE")
    return Fault(
        causes=("table-locks",),
        size=f"{hold_s} s of {hold_s + 0.4:.2f} s",
        load=Load(draw.of_these(_read(draw), _write(draw)), draw.ladder(4, 8, 24)),
        inject=injections.held(Holding(take, ("COMMIT",), hold_s, 0.4, "lock:relation")),
        removal=Removal(),
    )


def missing_index(draw: Draw) -> Fault:
    """Searches by id without an index on it."""
    tables = draw.between(1, TABLES)
    words = ("--tables", str(tables), *_UNIFORM)
    return Fault(
        causes=("missing-index",),
        size=f"{tables} tables",
        load=Load("oltp_point_select", draw.ladder(2, 4, 16), words),
        inject=both(
            others.executed(
                f"ALTER TABLE sbtest{number} DROP CONSTRAINT sbtest{number}_pkey"
                for number in range(1, tables + 1)
            ),
            injections.counted(
                "sum(seq_tup_read) FROM pg_stat_user_tables", 50_000, "rows read in scans"
            ),
        ),
        removal=Removal(),
    )


def small_sorts(draw: Draw) -> Fault:
    """No sort has room in its memory."""
    rows = draw.between(1000, 4000)
    return Fault(
        causes=("temporary-files",),
        size=f"{rows} rows in 64 kB",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16), ("--range-size", str(rows), *_UNIFORM)),
        inject=injections.counted(_of_databases("temp_files"), 30, "temporary files"),
        settings={"work_mem": "64kB"},
        removal=Removal(settings=("work_mem",)),
    )


def close_checkpoints(draw: Draw) -> Fault:
    """Checkpoints follow each other closely, so that most changes log whole pages."""
    small = ("ALTER SYSTEM SET max_wal_size = '32MB'", _RELOAD)
    return Fault(
        causes=("full-page-images", "max-wal-size-small"),
        size="max_wal_size 32 MB",
        load=Load("oltp_update_non_index", draw.ladder(4, 8, 32), times=2.0),
        inject=both(
            others.executed(small),
            injections.counted("wal_fpi FROM pg_stat_wal", 200, "pages logged whole"),
        ),
        settings=relaxed("postgresql"),
        removal=Removal(("ALTER SYSTEM SET max_wal_size = '8GB'", _RELOAD)),
    )


def storm(draw: Draw) -> Fault:
    """A connection for each event."""
    load = Load("oltp_point_select", draw.ladder(2, 4, 16))
    return Fault(
        causes=("connection-storm",),
        size="a connection for each event",
        load=replace(load, words=(*load.words, "--reconnect", "1")),
        inject=injections.counted(_of_databases("sessions"), 50, "connections opened"),
        removal=Removal(load=load),
    )


def lost_hot(draw: Draw) -> Fault:
    """Updates change a column that several indexes have."""
    more = draw.between(4, 10)
    tables = range(1, TABLES + 1)
    names = [(number, f"more_{number}_{n}") for number in tables for n in range(more)]
    return Fault(
        causes=("hot-updates-lost",),
        size=f"{more} more indexes",
        load=Load("oltp_update_index", draw.ladder(2, 4, 16)),
        inject=both(
            others.executed(
                f"CREATE INDEX {name} ON sbtest{number} (k, id)" for number, name in names
            ),
            injections.counted(
                "sum(n_tup_upd - n_tup_hot_upd) FROM pg_stat_user_tables", 200, "updates not HOT"
            ),
        ),
        settings=relaxed("postgresql"),
        removal=Removal(tuple(f"DROP INDEX {name}" for _, name in names)),
    )


def kept_rows(draw: Draw) -> Fault:
    """A transaction that is idle keeps what all later ones leave."""
    rows = draw.between(20, 200)
    take = ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM sbtest1 WHERE id = 1")
    age = "max(age(backend_xmin)) FROM pg_stat_activity"
    return Fault(
        causes=("long-transaction",),
        size=f"{rows} rows",
        load=_changing(draw, rows),
        inject=others.left_open(take, age, _KEPT),
        settings=relaxed("postgresql"),
        removal=Removal(("VACUUM sbtest1",)),
    )


def forgotten(draw: Draw) -> Fault:
    """A prepared transaction that nobody ends does the same."""
    rows = draw.between(20, 200)
    prepare = (
        "BEGIN",
        f"UPDATE sbtest2 SET pad = 'x' WHERE id = {draw.between(1, 1000)}",
        "PREPARE TRANSACTION 'forgotten'",
    )
    age = "SELECT max(age(transaction)) FROM pg_prepared_xacts"
    return Fault(
        causes=("long-transaction",),
        size=f"{rows} rows",
        load=_changing(draw, rows),
        inject=both(
            others.executed(prepare),
            injections.answered(age, _KEPT, "transactions since it was prepared"),
        ),
        settings={"max_prepared_transactions": "4", **relaxed("postgresql")},
        removal=Removal(("ROLLBACK PREPARED 'forgotten'", "VACUUM sbtest1")),
    )


def _changing(draw: Draw, rows: int) -> Load:
    """Changes of few rows, of which many versions are there when it is measured."""
    words = ("--tables", "1", "--table-size", str(rows), *_UNIFORM)
    return Load("oltp_update_non_index", (draw.between(4, 16),), words, warmup_s=6.0)


def small_buffers(draw: Draw) -> Fault:
    """Shared buffers that hold a part of the data in use; the kernel's cache has it all."""
    mib = draw.between(1, 4)
    return Fault(
        causes=("shared-buffers-small",),
        size=f"{mib} MB",
        load=Load(_read(draw), draw.ladder(4, 8, 32)),
        inject=injections.counted(_of_databases("blks_read"), 2_000, "pages read"),
        settings={"shared_buffers": f"{mib}MB"},
        removal=Removal(settings=("shared_buffers",)),
    )


def logged_statements(draw: Draw) -> Fault:
    """Each statement is written to the server's log."""
    setting = draw.of_these("log_min_duration_statement=0", "log_statement=all")
    name, _, value = setting.partition("=")
    return Fault(
        causes=("statement-log",),
        size=setting,
        load=Load(_read(draw), draw.ladder(4, 8, 32)),
        inject=injections.growing_log(1e6),
        settings={name: value},
        removal=Removal(settings=(name,)),
    )


def compiled(draw: Draw) -> Fault:
    """Each statement is compiled, however cheap it is."""
    costs = ("jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost")
    return Fault(
        causes=("jit",),
        size="every statement",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16)),
        inject=injections.takes("SELECT sum(k) FROM sbtest1 WHERE id BETWEEN 1 AND 100", 5),
        settings={"jit": "on", **dict.fromkeys(costs, "0")},
        removal=Removal(settings=costs),
    )


def many_connections(draw: Draw) -> Fault:
    """A process for each of several hundred connections."""
    users = draw.ladder(16, 500, 800)
    return Fault(
        causes=("too-many-sessions", "snapshots", "cpu-bound"),
        size=f"{users[-1]:,} connections",
        load=Load("oltp_point_select", users, ("--connect-timeout", "60s"), times=1.4),
        inject=injections.sampled(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'",
            200,
            "sessions",
        ),
    )


def few_connections(draw: Draw) -> Fault:
    """A pooler lends one connection or two to many users."""
    size = draw.between(1, 2)
    return Fault(
        causes=("pooler-small",),
        size=f"{size} connections",
        load=Load("oltp_update_non_index", draw.ladder(2, 16, 48)),
        inject=injections.sampled(_WRITING, 0.3, "sessions at work behind it"),
        pooler={"pool_mode": "transaction", "default_pool_size": str(size)},
        removal=Removal(settings=("default_pool_size",)),
    )


def slow_pooler(draw: Draw) -> Fault:
    """The pooler's thread has a small share of a core."""
    cores = round(draw.part(0.03, 0.1), 3)
    return Fault(
        causes=("pooler-core-full",),
        size=f"{cores} cores",
        load=Load("oltp_point_select", draw.ladder(4, 8, 24)),
        inject=injections.slow_pooler(cores),
        pooler={"pool_mode": "session", "default_pool_size": "60"},
        removal=Removal(),
    )


def _partitions(number: int) -> tuple[str, ...]:
    """Statements that make a table of so many partitions, each with two indexes."""
    parts = (
        f"CREATE TABLE part_{n} PARTITION OF part FOR VALUES FROM ({n}) TO ({n + 1})"
        for n in range(number)
    )
    return (
        "CREATE TABLE part (id INT, n INT) PARTITION BY RANGE (id)",
        *parts,
        "CREATE INDEX ON part (n)",
        "CREATE INDEX ON part (n, id)",
    )


def many_partitions(draw: Draw) -> Fault:
    """Each statement is planned for all partitions of a table."""
    number = draw.between(50, 400)
    return Fault(
        causes=("planning", "lock-manager"),
        size=f"{number} partitions",
        load=Load(str(SCRIPTS / "partitions.lua"), (draw.between(2, 8),), ()),
        inject=both(
            others.executed((_EXTENSION, *_partitions(number))),
            injections.counted(_PLAN_MS, 100, "ms of planning"),
        ),
        settings={**_COUNTING, "max_parallel_workers_per_gather": "0"},
    )


def planned_again(draw: Draw) -> Fault:
    """Prepared statements are planned each time, as a setting wants it."""
    return Fault(
        causes=("plan-cache",),
        size="force_custom_plan",
        load=Load(_read(draw), draw.ladder(2, 4, 16)),
        inject=both(
            # Not on the command line, which wins over what takes it away.
            others.executed((_EXTENSION, f"{_SET_MODE} force_custom_plan", _RELOAD)),
            injections.counted("sum(plans) FROM pg_stat_statements", 1000, "plans"),
        ),
        settings=_COUNTING,
        removal=Removal((f"{_SET_MODE} auto", _RELOAD)),
    )


def planned_blindly(draw: Draw) -> Fault:
    """Plans are made without the value, of which most rows have another one."""
    of = draw.between(500, 2000)
    return Fault(
        causes=("generic-plans", "missing-index"),
        size=f"one of {of} rows",
        load=Load(str(SCRIPTS / "rare.lua"), (draw.between(2, 8),), ()),
        inject=both(
            others.executed(
                (
                    "UPDATE sbtest1 SET k = 1",
                    "VACUUM ANALYZE sbtest1",
                    f"UPDATE sbtest1 SET k = 2 WHERE id % {of} = 0",
                )
            ),
            injections.counted(
                "sum(seq_tup_read) FROM pg_stat_user_tables", 50_000, "rows read in scans"
            ),
        ),
        settings={"plan_cache_mode": "force_generic_plan", "autovacuum": "off"},
    )


def compressed_images(draw: Draw) -> Fault:
    """Pages are logged whole soon after a checkpoint, and compressed slowly."""
    return replace(
        close_checkpoints(draw),
        size="max_wal_size 32 MB, pglz",
        settings={"wal_compression": "pglz", **relaxed("postgresql")},
    )


def deadlocks(draw: Draw) -> Fault:
    """Transactions that lock two rows of a few in any order, and find that out late."""
    rows, users = draw.between(4, 20), draw.between(8, 24)
    timeout_ms = draw.between(200, 1000)
    return Fault(
        causes=("deadlocks", "row-locks"),
        size=f"{rows} rows, {users} users, found after {timeout_ms} ms",
        load=Load(str(SCRIPTS / "deadlocks.lua"), (users,), (f"--rows={rows}",)),
        inject=injections.counted(_of_databases("deadlocks"), 0.5, "deadlocks"),
        settings={"deadlock_timeout": f"{timeout_ms}ms", **relaxed("postgresql")},
    )


def uncleaned(draw: Draw) -> Fault:
    """A small table is full of rows that were deleted, and autovacuum does not come by."""
    dead = draw.between(100_000, 400_000)
    setting = draw.of_these("autovacuum=off", "autovacuum_naptime=1h")
    name, _, value = setting.partition("=")
    made = (
        "CREATE TABLE item (id INT PRIMARY KEY, n INT)",
        f"INSERT INTO item SELECT i, i FROM generate_series(1, {200 + dead}) AS i",
        "DELETE FROM item WHERE id > 200",
        "ANALYZE item",
    )
    left = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'item'"
    return Fault(
        causes=("autovacuum-behind",),
        size=f"{dead:,} dead rows, {setting}",
        load=Load(str(SCRIPTS / "small.lua"), (draw.between(2, 12),), ()),
        inject=both(others.executed(made), injections.answered(left, 0.9 * dead, "dead rows")),
        settings={name: value},
        removal=Removal(("VACUUM item",)),
    )


def bloated(draw: Draw) -> Fault:
    """A small table is spread over the pages of the rows that it once had."""
    rows = draw.between(300_000, 1_200_000)
    apart = rows // 200
    made = (
        "CREATE TABLE item (id INT, n INT) WITH (autovacuum_enabled = off)",
        f"INSERT INTO item SELECT i, i / {apart} FROM generate_series(1, {rows}) AS i",
        f"DELETE FROM item WHERE id % {apart} <> 0",
    )
    left = "SELECT pg_relation_size('item') / 8192"
    return Fault(
        causes=("bloated-tables",),
        size=f"the pages of {rows:,} rows",
        load=Load(str(SCRIPTS / "small.lua"), (draw.between(2, 12),), ()),
        inject=both(
            others.executed((*made, "VACUUM ANALYZE item")),
            injections.answered(left, rows / 300, "pages"),
        ),
        removal=Removal(("VACUUM FULL item",)),
    )


def timed_rows(draw: Draw) -> Fault:
    """The server reads a clock before and after each row that a plan's node gives."""
    rows = draw.between(500, 4000)
    set_to = "ALTER SYSTEM SET auto_explain.log_analyze ="
    return Fault(
        causes=("timing",),
        size=f"{rows} rows a statement",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16), ("--range-size", str(rows), *_UNIFORM)),
        inject=both(
            others.executed((f"{set_to} on", _RELOAD)),
            injections.counted(_of_databases("tup_returned"), 200_000, "rows timed"),
        ),
        settings={
            "shared_preload_libraries": "auto_explain",
            "auto_explain.log_min_duration": "1h",
            "work_mem": "64MB",
        },
        removal=Removal((f"{set_to} off", _RELOAD)),
    )


def hot_sequence(draw: Draw) -> Fault:
    """All users take values of a sequence, one at a time."""
    numbers, users = draw.between(500, 4000), draw.between(16, 64)
    waiting = "count(*) FROM pg_stat_activity WHERE wait_event = 'BufferContent'"
    return Fault(
        causes=("sequences",),
        size=f"{numbers} values a statement, {users} users",
        load=Load(str(SCRIPTS / "sequence.lua"), (users,), (f"--numbers={numbers}",)),
        inject=both(
            others.executed(("CREATE SEQUENCE ticket",)),
            injections.sampled(f"SELECT {waiting}", 0.5, "sessions waiting for its page"),
        ),
        settings=relaxed("postgresql"),
        removal=Removal(("ALTER SEQUENCE ticket CACHE 100",)),
    )


def short_helped(draw: Draw) -> Fault:
    """Short statements start worker processes, as these seem to cost nothing."""
    cheap = (
        *("parallel_setup_cost", "parallel_tuple_cost"),
        *("min_parallel_table_scan_size", "min_parallel_index_scan_size"),
    )
    helping = "count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"
    return Fault(
        causes=("parallel-workers",),
        size="costs of 0",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16), _UNIFORM),
        inject=both(
            others.executed((*(f"ALTER SYSTEM SET {name} = 0" for name in cheap), _RELOAD)),
            injections.sampled(f"SELECT {helping}", 0.1, "workers"),
        ),
        removal=Removal((*(f"ALTER SYSTEM RESET {name}" for name in cheap), _RELOAD)),
    )


def untimed_partitions(draw: Draw) -> Fault:
    """The same on a server that times no planning, as by default."""
    timed = many_partitions(draw)
    number = int(timed.size.split()[0])
    relations = 3 * number
    return replace(
        timed,
        inject=both(
            others.executed(_partitions(number)),
            injections.sampled(_LOCKED, relations / 4, "tables and indexes locked by a session"),
        ),
        settings={"max_parallel_workers_per_gather": "0"},
    )


def row_triggers(draw: Draw) -> Fault:
    """Each change of a row writes rows to another table."""
    number = draw.between(2, 8)
    write = "INSERT INTO audit (id, at) VALUES (NEW.id, clock_timestamp());"
    tables = [f"sbtest{one}" for one in range(1, TABLES + 1)]
    fires = "AFTER INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION audited()"
    return Fault(
        causes=("stored-programs",),
        size=f"{number} rows",
        load=Load("oltp_update_non_index", draw.ladder(2, 4, 16)),
        inject=both(
            others.executed(
                (
                    "CREATE TABLE audit (id INT, at TIMESTAMPTZ)",
                    "CREATE FUNCTION audited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                    f"{write * number} RETURN NULL; END $$",
                    *(f"CREATE TRIGGER audits {fires.format(table)}" for table in tables),
                )
            ),
            injections.counted(
                "n_tup_ins FROM pg_stat_user_tables WHERE relname = 'audit'", 500, "rows"
            ),
        ),
        settings=relaxed("postgresql"),
        removal=Removal(tuple(f"DROP TRIGGER audits ON {table}" for table in tables)),
    )


CASES: tuple[Case, ...] = (
    Case("pg-tls", tls, _ONLY),
    Case("pg-commit-delay", commit_delay, _ONLY),
    Case("pg-late-standby", late_standby, _ONLY),
    Case("pg-hot-row", hot_row, _ONLY),
    Case("pg-held-rows", held_rows, _ONLY),
    Case("pg-lock-table", locked_tables, _ONLY),
    Case("pg-missing-index", missing_index, _ONLY),
    Case("pg-small-sorts", small_sorts, _ONLY),
    Case("pg-checkpoints", close_checkpoints, _ONLY),
    Case("pg-storm", storm, _ONLY),
    Case("pg-lost-hot", lost_hot, _ONLY),
    Case("pg-kept-rows", kept_rows, _ONLY),
    Case("pg-prepared", forgotten, _ONLY),
    Case("pg-small-buffers", small_buffers, _ONLY),
    Case("pg-statement-log", logged_statements, _ONLY),
    Case("pg-jit", compiled, _ONLY),
    Case("pg-connections", many_connections, _ONLY),
    Case("pg-pooler", few_connections, _ONLY),
    Case("pg-pooler-core", slow_pooler, _ONLY),
    Case("pg-partitions", many_partitions, _ONLY),
    Case("pg-untimed-partitions", untimed_partitions, _ONLY),
    Case("pg-triggers", row_triggers, _ONLY),
    Case("pg-plan-cache", planned_again, _ONLY),
    Case("pg-generic-plans", planned_blindly, _ONLY),
    Case("pg-compressed-images", compressed_images, _ONLY),
    Case("pg-deadlocks", deadlocks, _ONLY),
    Case("pg-uncleaned", uncleaned, _ONLY),
    Case("pg-bloated", bloated, _ONLY),
    Case("pg-timing", timed_rows, _ONLY),
    Case("pg-sequence", hot_sequence, _ONLY),
    Case("pg-parallel", short_helped, _ONLY),
)
