"""Shares of the users' time that follow from what is counted, and not from another ratio."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account, by_place, diagnosed, first, named, statements
from diagnose.examples import FULL_OF_SERVER, IDLE
from diagnose.healthy import Made, a_case, per_second
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules.mysql.logging import LINE_S
from loadstone.diagnosis.rules.mysql.missing_index import ROW_S
from loadstone.model.account import Account, Cores
from loadstone.model.hot_spots import FileSpot, HotSpots, StatementSpot, WaitSpot

BUSY = 4 * (1 - FULL_OF_SERVER["cpu_idle"] - FULL_OF_SERVER["cpu_iowait"])
"""Cores."""


def a_spot(statement: str, time_s: float, rows: int = 1_000_000, scans: int = 10) -> StatementSpot:
    return StatementSpot(
        statement=statement, schema_name="sbtest", count=10, time_s=time_s, lock_s=0.0,
        rows_examined=rows, rows_sent=10, rows_affected=0, sort_rows=0, tmp_tables=0,
        tmp_disk_tables=0, no_index_used=scans, errors=0,
    )  # fmt: skip


def scanning(rows: float, **more: object) -> Made:
    made = Made(
        tps=50.0, host=FULL_OF_SERVER, rates={"handler_read_rnd_next": rows, "rows_sent": 1000.0}
    )
    return made.but(step=more) if more else made


def on_cores() -> Account:
    return an_account(on_core=0.2, waiting_for_a_core=0.6, way=0.1)


def test_rows_hold_the_time_that_reading_them_takes_and_not_their_share_of_all_rows() -> None:
    """Two thirds of all rows are read in scans, which take a twentieth of the cores' time."""
    few = diagnosed(scanning(850_000.0, qps=1000.0), on_cores())
    assert first(few) == ["cpu-bound"]
    part = 845_000 * ROW_S / (0.2 * 16)
    found = named(few, "missing-index")
    assert found.group == "note"
    assert by_place(found)["on core"] == pytest.approx(0.2 * part, rel=0.01)
    assert by_place(found)["waiting for a core"] == pytest.approx(0.6 * part, rel=0.01)
    many = diagnosed(scanning(15e6, qps=1000.0), on_cores())
    assert first(many, 2) == ["missing-index", "cpu-bound"]
    assert named(many, "missing-index").share == pytest.approx(
        0.8 * (15e6 - 5000) * ROW_S / 3.2, rel=0.01
    )


def test_the_time_of_statements_says_more_than_the_number_of_rows() -> None:
    """Wide rows: 8 of 16 users are in the scan, though its rows are few."""
    spots = HotSpots(
        statements=(a_spot("SELECT * FROM `t` WHERE `c` = ?", 80.0), a_spot("COMMIT", 1.0, 0, 0))
    )
    found = diagnosed(scanning(1e6, hot_spots=spots), on_cores())
    assert first(found, 2) == ["missing-index", "cpu-bound"]
    assert named(found, "missing-index").share == pytest.approx(0.5)


def test_a_plain_select_has_no_part_of_the_waits_for_rows() -> None:
    """Its neighbour changes hot rows: 6 of the 7 users of the update wait for them."""
    spots = HotSpots(
        statements=(
            a_spot("SELECT * FROM `t` WHERE `c` = ?", 32.0),
            a_spot("UPDATE `hot` SET `n` = `n` + ?", 112.0, rows=100, scans=0),
        )
    )
    account = an_account(row_lock=0.375, on_core=0.2, waiting_for_a_core=0.3, way=0.125)
    found = diagnosed(scanning(1e6, hot_spots=spots).but(rates={"row_lock_time_s": 6.0}), account)
    assert by_place(named(found, "missing-index")) == {
        "on core": pytest.approx(0.08), "waiting for a core": pytest.approx(0.12),
    }  # fmt: skip
    assert named(found, "row-locks").share == pytest.approx(0.375)


def test_an_update_that_searches_holds_the_rows_that_it_keeps_locked() -> None:
    """One user searches for 20 ms at a time, the others wait for a row that it has locked."""
    spots = HotSpots(statements=(a_spot("UPDATE `t` SET `k` = ? WHERE `c` = ?", 156.0),))
    timed = statements(write=(313.0, 500))
    made = scanning(5e6, hot_spots=spots, statements=timed).but(
        host=IDLE, rates={"row_lock_time_s": 0.9 * 16}
    )
    found = diagnosed(made, an_account(row_lock=0.9, on_core=0.065, way=0.01, log_sync=0.005))
    assert first(found, 2) == ["missing-index", "row-locks"]
    assert (named(found, "missing-index").share or 0.0) > 0.6


def test_pages_that_lookups_do_not_explain_are_those_of_the_scan() -> None:
    made = scanning(5e6, qps=1000.0).but(
        rates={"buffer_pool_reads": 3000.0, "handler_read_key": 300.0}
    )
    found = diagnosed(made, an_account(on_core=0.2, disk_read=0.6, way=0.1))
    reads = by_place(named(found, "missing-index"))["disk read"]
    assert reads == pytest.approx(0.6 * 0.8)
    by_key = made.but(rates={"handler_read_key": 17_000.0})
    found = diagnosed(by_key, an_account(on_core=0.2, disk_read=0.6, way=0.1))
    assert "disk read" not in by_place(named(found, "missing-index"))


def test_what_nothing_counts_stays_unknown() -> None:
    blind = scanning(5e6).but(host={"process_cpu_user": None})
    found = next(
        one for one in diagnosis_of(a_case(blind)).findings if one.cause == "missing-index"
    )
    assert (found.share, found.claims) == (None, ())


def logged(**more: object) -> Made:
    return Made(tps=2000.0, host=IDLE, step={"qps": 10_000.0, **more})


LOGS: dict[str, str | None] = {"general_log": "ON", "general_log_file": "/var/log/all.log"}


def a_wait(mutex: str, time_s: float) -> WaitSpot:
    return WaitSpot(event=f"wait/synch/mutex/sql/{mutex}", count=9, time_s=time_s)


def of_the_log(made: Made, account: Account, **variables: str | None) -> dict[str, float]:
    found = diagnosed(made, account, variables=LOGS | variables)
    return by_place(named(found, "general-log"))


def test_a_log_holds_its_work_on_a_core_and_the_queue_at_its_lock() -> None:
    """Work of one core under one lock, by whose use few wait for it, whatever else waits."""
    used = 10_000 * LINE_S
    account = an_account(on_core=0.1, waiting_for_a_core=0.05, latch=0.4, way=0.4)
    assert of_the_log(logged(), account) == {
        "on core": pytest.approx(used / 16),
        "waiting for a core": pytest.approx(0.05 * used / 1.6),
        "latch": pytest.approx(used**2 / (1 - used) / 16),
    }


def test_a_log_on_a_slow_disk_holds_all_who_wait_for_its_lock() -> None:
    """One user at a time writes a line; that it waits for the disk is seen."""
    account = an_account(on_core=0.1, disk_write=0.06, latch=0.7, way=0.1)
    found = of_the_log(logged(), account)
    assert found["disk write"] == pytest.approx(0.06)
    assert found["latch"] == pytest.approx(0.7)


def test_waits_that_the_server_names_are_the_log_s() -> None:
    spots = HotSpots(
        waits=(a_wait("LOG::LOCK_log", 32.0), a_wait("MYSQL_BIN_LOG::LOCK_log", 50.0)),
        files=(FileSpot(file="/var/log/all.log", reads=0, writes=9, syncs=0, read_bytes=0,
                        written_bytes=9, time_s=1.6),),
    )  # fmt: skip
    account = an_account(on_core=0.1, disk_write=0.06, latch=0.7, way=0.1)
    found = of_the_log(logged(hot_spots=spots), account)
    # 3.2 users at its lock, 0.16 at its file.
    assert found["latch"] == pytest.approx(0.2)
    assert found["disk write"] == pytest.approx(0.01)


def test_a_log_in_a_table_holds_those_who_wait_for_that_table() -> None:
    account = an_account(on_core=0.2, table_lock=0.5, way=0.3)
    made = logged().but(means={"state.waiting for table level lock": 8.0})
    found = diagnosed(made, account, variables=LOGS | {"log_output": "TABLE"})
    assert first(found) == ["general-log"]
    assert by_place(found.findings[0])["table lock"] == pytest.approx(0.5)
    in_a_file = diagnosed(made, account, variables=LOGS)
    assert first(in_a_file) == ["table-locks"]


def test_without_threads_a_log_holds_what_the_server_names() -> None:
    spots = HotSpots(
        waits=(WaitSpot(event="wait/synch/mutex/sql/LOG::LOCK_log", count=9, time_s=64.0),)
    )
    account = an_account("sessions", in_the_server=0.8, way=0.2)
    assert of_the_log(logged(hot_spots=spots), account) == {
        "in the server": pytest.approx((6.4 + 10_000 * LINE_S) / 16)
    }


READS: dict[str, float | None] = {"buffer_pool_reads": 2500.0, "handler_read_rnd_next": 100_000.0}
READING = Made(
    rates=READS, means={"pages_free": 1000.0}, host=FULL_OF_SERVER | {
        "disk_read_iops": 2500.0, "disk_read_await_ms": 0.3,
    },
)  # fmt: skip


def test_a_small_pool_holds_the_time_at_disk_reads_and_not_a_share_of_the_work() -> None:
    account = an_account(on_core=0.15, waiting_for_a_core=0.2, disk_read=0.5, latch=0.15)
    found = diagnosed(READING, account)
    assert first(found, 2) == ["working-set", "cpu-bound"]
    pool = found.findings[0]
    part = 2500 * 50e-6 / 2.4
    assert by_place(pool) == {
        "on core": pytest.approx(0.15 * part), "waiting for a core": pytest.approx(0.2 * part),
        "disk read": pytest.approx(0.5),
    }  # fmt: skip
    assert "Reading takes 52 % of the users' time." in pool.sentence


def test_page_reads_that_nobody_waits_for_are_not_mentioned() -> None:
    """Half of an event's own demand, but the users wait for a table."""
    account = an_account(on_core=0.02, disk_read=0.01, table_lock=0.97)
    assert "working-set" not in [one.cause for one in diagnosed(READING, account).findings]


def test_without_threads_reads_times_their_time_are_users_at_the_disk() -> None:
    account = an_account("sessions", in_the_server=0.8, way=0.2)
    pool = named(diagnosed(READING.but(host=IDLE), account), "working-set")
    # 2,500 reads of 0.3 ms and of 50 us CPU each second: 0.875 users.
    assert by_place(pool) == {"in the server": pytest.approx(0.875 / 16)}


def test_a_cold_pool_holds_the_same_time() -> None:
    account = an_account(on_core=0.2, disk_read=0.4, way=0.4)
    cold = READING.but(highest={"pages_data": 2178.0 + 11_000}, means={"pages_free": 5900.0})
    found = diagnosed(
        cold, account, seconds={
            ("server", "buffer_pool_reads"): per_second(*[5000.0] * 3, *[2500.0] * 4, *[500.0] * 3),
            ("load", "tps"): per_second(*[1000.0] * 10),
        },
    )  # fmt: skip
    assert by_place(named(found, "cold-buffer-pool"))["disk read"] == pytest.approx(0.4)


def throttled(stopped_s: float | None, periods: float = 10.0) -> Made:
    rates = {"cgroup.periods": 10.0, "cgroup.throttled_periods": periods}
    return Made(
        host=IDLE | {"process_cpu_user": 0.7, "process_cpu_sys": 0.25},
        host_rates={**rates, "cgroup.throttled_s": stopped_s},
        host_means={"cgroup.cpu_cores": 1.0},
    )


def held_by_the_quota(made: Made, account: Account) -> dict[str, float]:
    found = diagnosed(made, account)
    assert first(found) == ["cpu-throttled"]
    return by_place(found.findings[0])


def test_a_quota_holds_the_time_for_which_its_group_was_stopped() -> None:
    """One of four cores: 25 ms of each 100 on all four, then 75 ms on none."""
    by_sql = an_account("sessions", in_the_server=0.9, way=0.1)
    assert held_by_the_quota(throttled(3.0), by_sql) == {"in the server": pytest.approx(0.9 * 0.75)}
    # Without the sum of the time it follows from the limit.
    assert held_by_the_quota(throttled(None), by_sql) == {
        "in the server": pytest.approx(0.9 * 0.75)
    }
    # Half of the periods were throttled.
    half = held_by_the_quota(throttled(1.5, periods=5.0), by_sql)
    assert half == {"in the server": pytest.approx(0.9 * 0.375)}
    # While it was stopped all 14.4 users that were ready to run waited, else those beyond four.
    threads = an_account(on_core=0.06, waiting_for_a_core=0.84, way=0.1)
    assert held_by_the_quota(throttled(3.0), threads) == {
        "waiting for a core": pytest.approx(0.9 * 0.75)
    }


def test_few_users_stop_few_cores() -> None:
    """Two users on four cores, each stopped for half of the time that it could run."""
    account = an_account("sessions", in_the_server=1.0).model_copy(update={"users": 2})
    made = throttled(1.0).but(users=2)
    assert held_by_the_quota(made, account) == {"in the server": pytest.approx(0.5)}


def test_connections_hold_the_users_time_in_opening_them() -> None:
    made = Made(
        host=FULL_OF_SERVER, rates={"connections": 900.0, "ssl_accepts": 0.0},
        step={"connects": 9000},
    )  # fmt: skip
    account = an_account(connecting=0.6, on_core=0.1, waiting_for_a_core=0.2, way=0.1)
    found = diagnosed(made, account)
    assert first(found, 2) == ["connection-storm", "cpu-bound"]
    storm = by_place(found.findings[0])
    assert storm["connecting"] == pytest.approx(0.6)
    # The logins' work makes others wait; the logins themselves are in the time of connecting.
    assert storm["waiting for a core"] == pytest.approx(0.2 * 900 * 0.18e-3 / 1.6)
    assert "on core" not in storm


def held_by_storm(cores: Cores | None = None) -> dict[str, float]:
    """Of other clients that connect 900 times a second to a MariaDB whose host is full."""
    made = Made(host=FULL_OF_SERVER, rates={"connections": 900.0, "ssl_accepts": 0.0})
    account = an_account(on_core=0.1, waiting_for_a_core=0.7, way=0.2)
    found = diagnosed(made, account.model_copy(update={"cores": cores}))
    return by_place(named(found, "connection-storm"))


def test_users_wait_for_the_cores_that_the_logins_of_others_use() -> None:
    """Of the busy cores; the logins are in no user's time on a core."""
    assert held_by_storm() == {"waiting for a core": pytest.approx(0.7 * 900 * 0.18e-3 / BUSY)}


def test_the_logins_of_others_use_no_more_cores_than_are_counted_beside_the_users() -> None:
    counted = Cores(users=1.5, others=0.02, own=0.06)
    assert held_by_storm(counted)["waiting for a core"] == pytest.approx(0.7 * 0.08 / BUSY)


def test_who_waits_for_a_thread_that_was_stopped_waits_for_the_quota() -> None:
    """The group was stopped for a part of the time, which is that part of the waits for threads."""
    account = an_account(on_core=0.05, waiting_for_a_core=0.35, commit=0.4, log_sync=0.2)
    found = by_place(named(diagnosed(throttled(2.0), account), "cpu-throttled"))
    stopped = found["commit"] / 0.4
    assert 0 < stopped < 1
    assert found["waiting for a core"] == pytest.approx(stopped * 0.4)
    # A sync is the disk's time.
    assert "log sync" not in found


AGES: dict[tuple[Source, str], Series] = {
    ("server", "checkpoint_age_bytes.now"): per_second(*[78e6] * 10)
}


def full_log() -> Made:
    """A log at its limit, for which 4,000 pages are flushed a second."""
    return Made(
        host=FULL_OF_SERVER,
        means={"checkpoint_age_bytes": 78e6},
        rates={"pages_flushed": 4000.0, "flush_sync_waits": 2.0},
    )


def test_a_small_log_holds_the_work_of_the_pages_that_are_flushed_for_it() -> None:
    account = an_account(on_core=0.1, waiting_for_a_core=0.7, latch=0.02, disk_write=0.05)
    found = named(diagnosed(full_log(), account, seconds=AGES), "redo-log-small")
    part = 4000 * 60e-6 / (0.1 * 16)
    assert by_place(found)["on core"] == pytest.approx(0.1 * part, rel=0.01)
    assert by_place(found)["waiting for a core"] == pytest.approx(0.7 * part, rel=0.01)
    assert by_place(found)["disk write"] == pytest.approx(0.05)


def test_by_sessions_a_small_log_holds_its_share_of_the_time_in_the_server() -> None:
    account = an_account("sessions", in_the_server=0.9, way=0.1)
    found = named(diagnosed(full_log(), account, seconds=AGES), "redo-log-small")
    assert sum(by_place(found).values()) == pytest.approx(0.9)
    assert found.foretold is None  # where in the server that time is nobody saw


@pytest.mark.parametrize(
    ("version", "takes_s"), [("10.11.6-MariaDB", 4 * 0.0001), ("9.1.0", 4 * 0.002)]
)
def test_a_rotation_of_the_binary_log_takes_longer_than_the_disk_s_writes_on_mysql(
    version: str, takes_s: float
) -> None:
    host = {**IDLE, "disk_write_await_ms": 0.1}
    rotating = Made(host=host, rates={"binlog_written_bytes": 100 * 4096.0})
    variables: dict[str, str | None] = {"max_binlog_size": "4096", "version": version}
    found = named(diagnosis_of(a_case(rotating, variables=variables)), "binlog-rotation")
    assert found.share == pytest.approx(100 * takes_s)


def test_who_waits_for_who_reads_waits_for_the_limit_of_reads() -> None:
    """Of sixteen users ten wait for a latch, and two for the leader of their commits' group: the
    threads that they wait for are mostly at a read."""
    made = Made(
        host=IDLE | {"disk_read_iops": 95.0, "disk_queue": 0.0},
        host_means={"cgroup.disk.vda.read_iops": 100.0},
        rates={"buffer_pool_reads": 95.0},
    )
    account = an_account(
        disk_read=0.24, on_core=0.01, waiting_for_a_core=0.04, log_sync=0.01, latch=0.6, commit=0.1
    )
    found = diagnosed(made, account)
    assert first(found) == ["disk-cap"]
    claimed = by_place(found.findings[0])
    assert claimed == {
        "disk read": pytest.approx(0.24),
        "latch": pytest.approx(0.6 * 0.24 / 0.3),
        "commit": pytest.approx(0.1 * 0.24 / 0.3),
    }


def test_waits_that_are_not_in_the_disk_s_queue_are_the_group_s_limit() -> None:
    """Each of the few syncs is several writes, of which nobody counts whose they are."""
    figures = {"disk_write_iops": 73.0, "disk_read_iops": 0.0, "disk_queue": 0.016}
    made = Made(
        host=IDLE | figures,
        host_means={"cgroup.disk.vda.write_iops": 91.0},
        rates={"log_syncs": 4.8, "binlog_syncs": 3.8, "pages_flushed": 1.2},
    )
    account = an_account(log_sync=0.04, binlog_sync=0.05, commit=0.9)
    assert first(diagnosed(made, account)) == ["disk-cap"]
    queued = made.but(host=IDLE | figures | {"disk_queue": 0.9})
    assert first(diagnosed(queued, account)) == ["commit-flush"]
