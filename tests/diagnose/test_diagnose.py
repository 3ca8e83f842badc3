"""Which causes are named and which become notes, and that a healthy server has no finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnose.examples import FULL, FULL_OF_SERVER, IDLE, SHARED
from diagnose.healthy import Made, a_case, above_notes, causes, per_second
from loadstone.analyse.ceilings import ceilings
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.diagnose import Known, diagnose, diagnosis_of, levels_to_explain
from loadstone.diagnosis.frames import RunSeconds, environment_of
from loadstone.diagnosis.unexplained import unexplained
from loadstone.model.ceilings import Limits
from loadstone.model.finding import Finding
from loadstone.model.plan import Rate
from loadstone.model.result import HostFigures, LatencyPair, Result, TargetShare
from loadstone.report.findings import answer, as_renderable
from loadstone.report.text import as_plain
from loadstone.report.wrapping import UNLIMITED
from loadstone.runs import run_folder
from recorded import recorded_run
from scripted_engine import Script

NO_WRITES: dict[str, float | None] = {
    "log_syncs": 1.0,
    "log_written_bytes": 500.0,
    "binlog_syncs": 0.0,
    "binlog_written_bytes": 0.0,
    "binlog_cache_use": 0.0,
    "pages_flushed": 5.0,
    "row_lock_waits": 0.0,
    "row_lock_time_s": 0.0,
    "rows_inserted": 1.0,
    "rows_updated": 0.0,
    "rows_deleted": 0.0,
}
NO_SORTS: dict[str, float | None] = {
    "sort_range": 0.0,
    "sort_scan": 0.5,
    "created_tmp_tables": 3.0,
    "created_tmp_disk_tables": 0.5,
    "handler_read_rnd_next": 1000.0,
}
READS = {"commits_per_s": 0.0}

HEALTHY = {
    "oltp_read_write": Made(),
    "oltp_read_only": Made(tps=1200.0, rates=NO_WRITES, server_figures=READS),
    "oltp_point_select": Made(
        tps=30_000.0,
        mean_ms=0.5,
        rates={
            **NO_WRITES,
            **NO_SORTS,
            "questions": 30_000.0,
            "com_select": 30_000.0,
            "rows_sent": 30_000.0,
            "handler_read_next": 0.0,
            "handler_read_key": 30_000.0,
        },
        means={"threads_running": 5.0},
        server_figures=READS,
        step={"qps": 30_000.0},
    ),
    "oltp_update_non_index": Made(
        tps=5000.0,
        mean_ms=3.2,
        rates={
            **NO_SORTS,
            "questions": 5000.0,
            "com_select": 2.0,
            "rows_sent": 100.0,
            "rows_updated": 5000.0,
            "handler_read_next": 0.0,
            "handler_read_key": 5000.0,
            "binlog_cache_use": 5000.0,
        },
        means={"state.commit": 7.0},
        step={"qps": 5000.0},
    ),
    "oltp_insert": Made(
        tps=6000.0,
        mean_ms=2.6,
        rates={
            **NO_SORTS,
            "questions": 6000.0,
            "com_select": 2.0,
            "rows_sent": 100.0,
            "rows_inserted": 6000.0,
            "rows_updated": 0.0,
            "rows_deleted": 0.0,
            "handler_read_next": 0.0,
            "handler_read_key": 5.0,
            "buffer_pool_reads": 3.0,
        },
        means={"state.commit": 7.0},
        step={"qps": 6000.0},
    ),
    "select_random_points": Made(
        tps=8000.0,
        mean_ms=2.0,
        rates={**NO_WRITES, **NO_SORTS, "rows_sent": 80_000.0, "handler_read_key": 80_000.0},
        server_figures=READS,
        step={"qps": 8000.0},
    ),
}


@pytest.mark.parametrize("workload", HEALTHY)
def test_a_healthy_step_has_notes_only(workload: str) -> None:
    made = HEALTHY[workload].but(step={"workload": workload})
    assert above_notes(diagnosis_of(a_case(made))) == []


@pytest.mark.parametrize("workload", HEALTHY)
def test_a_healthy_ladder_has_notes_only(workload: str) -> None:
    made = HEALTHY[workload].but(step={"workload": workload})
    fewer = made.but(users=4, tps=made.tps / 2, means={"state.commit": 1.0, "threads_running": 3.0})
    assert above_notes(diagnosis_of(a_case(fewer, made))) == []


def test_a_ladder_up_to_full_cores_ends_at_the_cores_and_nothing_else() -> None:
    full = Made(users=64, tps=2000.0, host=FULL_OF_SERVER, means={"threads_running": 40.0})
    found = diagnosis_of(a_case(Made(users=4, tps=500.0), Made(), full))
    assert [finding.cause for finding in above_notes(found)] == ["cpu-bound"]
    assert found.answer.startswith("The server host's 4 cores are used up (97 % busy; the server")


def test_small_waits_beside_full_cores_are_notes() -> None:
    locked = Made(host=FULL_OF_SERVER, rates={"row_lock_time_s": 5.5})
    (first, *rest) = diagnosis_of(a_case(locked)).findings
    assert first.cause == "cpu-bound"
    assert [(one.cause, one.group) for one in rest] == [("row-locks", "note")]


def test_a_pool_that_fills_is_cold_and_not_too_small() -> None:
    """The seconds of a real run: point selects after the pool of 512 MiB was emptied."""
    pages = (5127, 10_721, 12_882, 13_491, 13_722, 14_024, 14_227, 14_257, 14_269)
    reads = (4357, 5594, 2161, 609, 231, 302, 203, 30, 12)
    case = a_case(
        Made(
            tps=10_388.0,
            rates={"buffer_pool_reads": 1500.0},
            host={"disk_read_iops": 1594.0, "disk_read_await_ms": 0.35, "process_cpu_user": 0.1},
            means={"pages_total": 32_448.0, "pages_free": 20_062.0, "pages_data": 12_386.0},
            highest={"pages_data": 14_269.0},
        ),
        seconds={
            ("server", "buffer_pool_reads"): per_second(*reads),
            ("server", "pages_data.now"): per_second(*pages),
            ("load", "tps"): per_second(*[10_388.0] * 9),
        },
    )
    assert causes(case)[0] == "cold-buffer-pool"
    assert "working-set" not in causes(case)


def test_what_a_group_of_threads_queues_is_no_full_line() -> None:
    """Statements in the pool's queue look like users whose packets are on the way, at a constant
    rate."""
    resting: dict[str, Any] = {
        "means": {"threads_running": 2.0},
        "host": {"cpu_idle": 0.5, "process_cpu_user": 0.8, "process_cpu_sys": 0.2},
    }
    pool: dict[str, str | None] = {"thread_handling": "pool-of-threads", "thread_pool_size": "1"}
    levels = (Made(users=4, **resting), Made(**resting))
    assert causes(a_case(*levels, variables=pool))[0] == "thread-pool-small"
    assert causes(a_case(*levels))[0] == "line-full"


def test_a_quick_disk_s_commits_are_a_note_and_a_slow_one_s_a_wait() -> None:
    waiting = Made(means={"state.commit": 12.0})
    found = {one.cause: one.group for one in diagnosis_of(a_case(waiting)).findings}
    assert found["commit-flush"] == "note"
    slow = waiting.but(rates={"log_syncs": 100.0})
    assert diagnosis_of(a_case(slow)).findings[0].cause == "commit-flush"


def test_users_behind_the_one_that_waits_for_the_replica_wait_for_it_too() -> None:
    """The states of a real run on MySQL 9.7 with a replica that had 0.024 cores."""
    group = Made(
        users=10,
        tps=24.0,
        rates={"semi_sync_wait_s": 1.03, "log_syncs": 20.0},
        means={
            "state.commit": 0.0,
            "state.waiting for handler commit": 9.0,
            "state.waiting for semi-sync ack from replica": 1.0,
        },
    )
    on: dict[str, str | None] = {"rpl_semi_sync_source_enabled": "ON"}
    assert causes(a_case(group, variables=on))[0] == "semi-sync-wait"
    off: dict[str, str | None] = {"rpl_semi_sync_source_enabled": "OFF"}
    assert causes(a_case(group, variables=off))[0] == "commit-flush"


def test_an_index_that_tells_too_little_is_no_better_than_none() -> None:
    walking = Made(tps=50.0, rates={"handler_read_next": 5e6, "rows_sent": 100.0})
    found = diagnosis_of(a_case(walking)).findings[0]
    assert found.cause == "missing-index"
    assert "through an index that is not selective" in found.sentence


def test_a_pool_may_have_too_few_threads() -> None:
    pool: dict[str, str | None] = {
        "thread_handling": "pool-of-threads",
        "thread_pool_size": "4",
        "thread_pool_max_threads": "4",
    }
    made = Made(means={"pool_threads": 4.0, "state.commit": 4.0})
    found = diagnosis_of(a_case(made, variables=pool)).findings[0]
    assert found.cause == "thread-pool-small"
    assert "4 threads (thread_pool_max_threads) for 16 users" in found.sentence
    many: dict[str, str | None] = {**pool, "thread_pool_max_threads": "65536"}
    assert above_notes(diagnosis_of(a_case(made, variables=many))) == []


def test_others_that_swap_are_not_the_server() -> None:
    rates: dict[str, float | None] = {
        "memory.swap_in_pages": 900.0,
        "memory.swap_out_pages": 900.0,
    }
    own = Made(host_rates=rates, host={"major_faults_per_s": 700.0})
    assert causes(a_case(own))[0] == "swapping"
    theirs = own.but(host={"major_faults_per_s": 0.5})
    assert "swapping" not in causes(a_case(theirs))


@pytest.mark.parametrize(
    ("url", "cache"),
    [("mysql://u@db1/s", "buffer pool"), ("postgresql://u@db1/s", "shared_buffers")],
)
def test_a_remedy_names_the_memory_for_pages_as_its_server_does(url: str, cache: str) -> None:
    target = TargetShare(
        target=url, server_version=None, events=1, queries=1, errors=0, connect_failures=0, users=16
    )
    rates: dict[str, float | None] = {
        "memory.swap_in_pages": 900.0,
        "memory.swap_out_pages": 900.0,
    }
    made = Made(host_rates=rates, step={"targets": (target,)})
    (found,) = (one for one in diagnosis_of(a_case(made)).findings if one.cause == "swapping")
    assert found.remedy == f"A smaller {cache} or fewer connections, or more memory."


def test_lost_packets_are_no_full_line() -> None:
    """Answers that are lost come late for a timer, while most come as quickly as ever."""
    least, median = 0.06, 0.2
    quick = Made().as_step().latency.service.model_copy(update={"min": least, "p50": median})
    lossy = Made(
        host=IDLE,
        mean_ms=40.0,
        means={"threads_running": 2.0, "state.writing to net": 5.0},
        host_rates={"tcp.retransmits": 60.0, "tcp.segments_out": 8000.0},
        step={"statements": {"read": quick}},
    )
    assert causes(a_case(lossy))[0] == "packet-loss"
    full = lossy.but(
        host_rates={"tcp.retransmits": 0.5},
        step={"statements": {"read": quick.model_copy(update={"p50": 20.0})}},
    )
    assert causes(a_case(full))[0] == "line-full"


def test_a_single_users_core_is_no_hot_core() -> None:
    alone = Made(
        users=1,
        host={"busiest_core": 0.99, "cpu_idle": 0.7, "cpu_user": 0.2},
        rates={"row_lock_time_s": 0.0},
        means={"row_lock_current_waits": 0.0},
    )
    assert above_notes(diagnosis_of(a_case(alone))) == []


def test_users_that_wait_for_something_without_a_name_are_not_too_few() -> None:
    odd = Made(host=IDLE, means={"state.user sleep": 12.0, "state.commit": 0.0})
    found = diagnosis_of(a_case(odd))
    assert found.findings[0].cause == "unexplained"
    assert 'the state "user sleep"' in found.answer


def test_encryption_is_a_note_while_cores_are_free() -> None:
    step = {"encrypted_users": 16, "tls": "TLSv1.3"}
    free = Made(step=step, host={"process_cpu_user": 0.5, "process_cpu_sys": 0.2})
    assert above_notes(diagnosis_of(a_case(free))) == []
    cheap = Made(step=step | {"qps": 100.0, "bytes_in": 0, "bytes_out": 0})
    assert "tls" not in causes(a_case(cheap))
    full = Made(tps=6000.0, step=step, host=FULL_OF_SERVER)
    assert causes(a_case(full))[:2] == ["tls", "cpu-bound"]


def test_hot_rows_of_tpcc_are_spread_by_more_warehouses() -> None:
    locked = Made(rates={"row_lock_time_s": 14.0, "row_lock_waits": 990.0})

    def of(workload: str) -> Finding:
        found = diagnosis_of(a_case(locked.but(step={"workload": workload})))
        return next(one for one in found.findings if one.cause == "row-locks")

    tpcc, usual = of("tpcc"), of("oltp_read_write")
    assert tpcc.trial is None and "--warehouses" in tpcc.remedy
    # Its keys do not follow --distribution, and neither do a template's.
    assert tpcc.untried and of("shop").trial is None
    assert usual.trial and usual.trial.settings[0].name == "distribution"


def test_the_generators_own_cores_are_no_neighbour() -> None:
    beside = Made(
        host=FULL | {"process_cpu_user": 1.5, "process_cpu_sys": 1.0},
        facts=SHARED,
        generator={"cpu_share": 0.6, "shards": 2},
    )
    assert causes(a_case(beside))[0] == "cpu-bound"


def test_a_generator_without_cores_is_named_behind_the_others_who_have_them() -> None:
    starved = Made(
        host=FULL | {"process_cpu_user": 0.3, "process_cpu_sys": 0.1},
        means={"threads_running": 1.3},
        generator={"cpu_share": 0.08, "run_delay_share": 0.83},
        facts=SHARED,
    )
    assert causes(a_case(starved))[:2] == ["noisy-neighbour", "client-bound"]


def test_a_generator_that_is_stopped_leaves_answers_lying() -> None:
    stopped = Made(
        host=IDLE,
        means={"threads_running": 1.3},
        generator={"cpu_share": 0.08, "held_p99_us": 40_000.0},
    )
    assert causes(a_case(stopped))[0] == "client-bound"


def test_a_throttled_server_is_not_blamed_for_its_encryption() -> None:
    made = Made(
        step={"encrypted_users": 16, "tls": "TLSv1.3"},
        host={"process_cpu_user": 0.5, "process_cpu_sys": 0.3},
        host_rates={"cgroup.periods": 10.0, "cgroup.throttled_periods": 9.0},
        host_means={"cgroup.cpu_cores": 0.8},
    )
    assert causes(a_case(made))[0] == "cpu-throttled"


def test_a_held_lock_is_named_although_nothing_is_done() -> None:
    still = Made(
        tps=0.0,
        host=IDLE,
        rates={"questions": 5.0, "rows_sent": 0.0},
        means={"state.waiting for table metadata lock": 16.0, "state.commit": 0.0},
    )
    found = diagnosis_of(a_case(still))
    assert found.findings[0].cause == "table-locks"
    assert "16 of 16 users (100 %) wait" in found.answer


def test_a_line_is_told_from_a_long_way() -> None:
    """Constant bytes with more users mean a full line; answers that are never fast do not."""
    waiting: dict[str, float | None] = {"threads_running": 2.0}
    line = a_case(Made(users=4, host=IDLE, means=waiting), Made(host=IDLE, means=waiting))
    assert causes(line)[0] == "line-full"
    rising = a_case(
        Made(users=4, tps=250.0, host=IDLE | {"net_bytes_out_per_s": 10e6}, means=waiting),
        Made(host=IDLE, means=waiting),
    )
    assert causes(rising)[0] == "few-users"


def test_a_groups_limit_of_the_disk_is_named_where_the_server_writes() -> None:
    limit: dict[str, float | None] = {"cgroup.disk.vda.write_iops": 1000.0}
    waiting = Made(
        host=IDLE | {"disk_write_iops": 1200.0},
        host_means=limit,
        means={"threads_running": 17.0, "state.commit": 13.0},
    )
    assert causes(a_case(waiting))[:2] == ["disk-cap", "commit-flush"]
    reading = waiting.but(rates={"log_syncs": 1.0, "binlog_syncs": 0.0, "pages_flushed": 2.0})
    assert "disk-cap" not in causes(a_case(reading))


def test_the_faster_interface_is_named() -> None:
    waiting: dict[str, float | None] = {"threads_running": 2.0}
    facts = {"nic.eth0.speed_mbit": "1000", "nic.eth1.speed_mbit": "10000"}
    # Case C1 of the field: 2,784 tps, 124 MB/s, the CPU at 36 %.
    host = {**IDLE, "cpu_user": 0.26, "cpu_idle": 0.64, "net_bytes_out_per_s": 124e6}
    host |= {"process_cpu_user": 1.0, "process_cpu_sys": 0.4}
    slow = [
        Made(users=users, tps=2784.0, host=host, means=waiting, facts=facts) for users in (50, 200)
    ]
    assert diagnosis_of(a_case(*slow)).answer == (
        "The network is full: 992 Mbit/s, the same as with 50 users, while the server's cores are "
        "at 36 % and users spend 100 % of their time in the network. The host has a faster "
        "interface: eth1 (10,000 Mbit/s, which would carry 28,065 events a second of 43.5 KiB)."
    )


# Case A of the field: threads, tps, and writes of the disk a second.
CASE_A = ((4, 500, 4000), (8, 1100, 3800), (80, 2100, 860), (600, 2100, 350))


def level_of_case_a(users: int, tps: float, writes: float) -> Made:
    """The disk's writes are syncs of both logs and little else, as both are durable there."""
    syncs = min(writes / 2, tps)
    return Made(
        users=users,
        tps=tps,
        rates={"log_syncs": syncs},
        means={"state.commit": 0.2 * users, "threads_running": 0.5 * users},
        host={"disk_write_iops": writes},
        server_figures={
            "log_syncs_per_s": syncs,
            "transactions_per_sync": tps / syncs,
            "bytes_per_sync": 2000.0 * tps / syncs,
        },
    )


def test_group_commit_is_told_as_case_a_has_it() -> None:
    ladder = [level_of_case_a(*level) for level in CASE_A]
    notes = {finding.cause: finding for finding in diagnosis_of(a_case(*ladder)).findings}
    assert notes["group-commit"].sentence == (
        "Group commit: from 4 users to 80 users the rate goes from 500 to 2,100 tps while log "
        "syncs fall from 500 to 430 a second. One sync carries 4.88 transactions instead of 1, and "
        "9.54 KiB of log instead of 1.95 KiB. Disk writes go from 4,000 to 860 a second. With 600 "
        "users the rate is 2,100 tps, at 12 transactions per sync and 350 disk writes a second: "
        "beyond the peak more users bring no gain."
    )
    assert notes["group-commit"].group == "note"


def test_case_a_is_told_without_its_host_too() -> None:
    """A managed server shows its counters and nothing of its machine."""
    ladder = [level_of_case_a(*level).but(step={"host": None}) for level in CASE_A]
    notes = {finding.cause: finding for finding in diagnosis_of(a_case(*ladder)).findings}
    assert "One sync carries 4.88 transactions instead of 1" in notes["group-commit"].sentence
    assert "writes" not in notes["group-commit"].sentence


def test_reads_commit_in_no_groups() -> None:
    """COMMIT of a read-only transaction counts as well, and the log is synced in any case."""
    levels = [
        Made(
            users=users,
            tps=tps,
            rates=NO_WRITES,
            server_figures={"log_syncs_per_s": 0.6, "transactions_per_sync": tps / 0.6},
        )
        for users, tps in ((1, 12_675.0), (4, 19_025.0))
    ]
    assert "group-commit" not in causes(a_case(*levels))


def test_the_cliff_is_a_suspicion_only_where_the_version_takes_pieces() -> None:
    made = Made(host={"minor_faults_per_s": 400_000.0, "process_cpu_sys": 1.5})
    sure = {}
    for version in ("10.11.19-MariaDB", "9.7.0", "8.0.11"):
        case = a_case(made, variables={"sort_buffer_size": "33554432", "version": version})
        findings = {finding.cause: finding for finding in diagnosis_of(case).findings}
        sure[version] = findings["sort-buffer-cliff"].confidence
    assert sure["9.7.0"] < 0.5 <= sure["8.0.11"] == sure["10.11.19-MariaDB"]


def test_a_log_that_is_full_within_a_second_keeps_its_checkpoint_young() -> None:
    """The figures of a log of 8 MiB on MySQL 9.7, which flushes well before the limit."""
    figures: dict[str, float | None] = {"log_written_bytes": 7e6, "pages_flushed": 4300.0}
    small = Made(
        users=22,
        rates=figures,
        means={"checkpoint_age_bytes": 4.8e6, "checkpoint_age_max_bytes": None},
    )
    capacity: dict[str, str | None] = {"innodb_redo_log_capacity": "8388608"}
    found = diagnosis_of(a_case(small, variables=capacity))
    assert found.answer == (
        "The redo log is too small: 6.68 MiB/s of redo fill its 6.64 MiB in 0.995 s, so pages must "
        "be flushed as fast as they change."
    )
    few_pages = small.but(rates={"pages_flushed": 60.0})
    assert "redo-log-small" not in causes(a_case(few_pages, variables=capacity))


def test_an_old_checkpoint_under_reads_is_no_small_log() -> None:
    made = Made(means={"checkpoint_age_bytes": 76e6}, rates={"log_written_bytes": 143.0})
    assert "redo-log-small" not in causes(a_case(made))


def test_what_has_no_name_is_called_unexplained_with_its_largest_wait() -> None:
    odd = Made(host=IDLE, means={"state.waiting for the moon": 12.0, "threads_running": 15.0})
    found = diagnosis_of(a_case(Made(users=4, means={"state.commit": 0.5}), odd))
    assert found.findings[0].cause == "unexplained"
    assert found.answer == (
        "Unexplained: no resource is used up and no known cause fits. The largest wait is the "
        'state "waiting for the moon", 75 % of the users\' time.'
    )


def test_users_that_stand_still_at_times_are_not_too_few() -> None:
    """The times of a server that was stopped for 0.4 s of each 0.8 s."""
    resting = Made(users=13, tps=795.0, host=IDLE)
    times = {"count": 3974, "p50": 8.8, "mean": 16.2, "p99": 411.0, "p999": 415.0}
    spread = resting.as_step().latency.service.model_copy(update=times)
    still = resting.but(step={"latency": LatencyPair(response=spread, service=spread)})
    assert diagnosis_of(a_case(still)).answer.endswith(
        "The largest wait is stalls: the slowest 1 % of the events take at least 25 % of the "
        "users' time (p99 411 ms, median 8.8 ms)."
    )
    even = spread.model_copy(update={"p99": 60.0, "p999": 90.0})
    alone = resting.but(step={"latency": LatencyPair(response=even, service=even)})
    assert causes(a_case(alone)) == ["few-users"]


def test_commits_that_are_set_to_wait_for_no_sync_do_not_wait_for_one() -> None:
    """A tiny pool on MySQL 9.7, whose commits read pages: 49 syncs for 2,919 commits."""
    waiting = Made(means={"state.commit": 12.0}, rates={"log_syncs": 49.0})
    relaxed: dict[str, str | None] = {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
    assert "commit-flush" in causes(a_case(waiting))
    assert "commit-flush" not in causes(a_case(waiting, variables=relaxed))


def test_a_rate_that_was_met_is_said_and_nothing_unexplained() -> None:
    rate = Rate(rate=1000.0)
    met = diagnosis_of(a_case(Made(step={"rate": rate, "due": 10_000})))
    assert met.answer.startswith("The requested rate was met: 1,000 events a second")
    missed = diagnosis_of(a_case(Made(step={"rate": rate, "due": 20_000})))
    assert missed.findings[0].cause == "unexplained"


def test_without_counters_all_is_not_evaluated_and_nothing_is_named() -> None:
    bare = Made(step={"server": None, "host": None, "encrypted_users": None})
    found = diagnosis_of(a_case(bare))
    assert found.answer == "Not evaluated: neither the server nor its host was observed."
    assert above_notes(found) == []
    needs = {one.cause: one.needs for one in found.not_evaluated}
    assert needs["row-locks"] == "server counter row_lock_waits"
    assert needs["cpu-bound"] == "host's cores"
    assert len(needs) > 25


def test_only_levels_from_the_knee_on_are_explained() -> None:
    case = a_case(*(Made(users=users, tps=tps) for users, tps in ((1, 100), (8, 910), (64, 1000))))
    assert [step.concurrency for step in levels_to_explain(case.ladder)] == [8, 64]


def test_a_report_beside_the_load_is_no_missing_index() -> None:
    """A single statement of another client reads whole tables, and none of ours does."""
    reading: dict[str, float | None] = {
        **NO_SORTS,
        "handler_read_rnd_next": 30e6,
        "select_scan": 3.0,
        "com_update": 0.0,
        "com_delete": 0.0,
        "handler_read_next": 0.0,
    }
    beside = Made(rates=reading, highest={"longest_statement_s": 9.0}, host=FULL_OF_SERVER)
    assert causes(a_case(beside))[0] == "other-clients"
    assert "missing-index" not in causes(a_case(beside))
    ours = beside.but(rates={"select_scan": 900.0}, highest={"longest_statement_s": 0.0})
    assert causes(a_case(ours))[0] == "missing-index"


def test_long_ranges_on_a_server_that_counts_no_rows_sent_are_no_missing_index() -> None:
    """A run on MySQL 9.7: ranges of 1,384 rows, which are sent to the client."""
    ranges = Made(
        tps=30.0,
        rates={
            **NO_WRITES,
            **NO_SORTS,
            "com_select": 420.0,
            "rows_sent": None,
            "handler_read_next": 165_000.0,
            "handler_read_key": 420.0,
            "bytes_sent": 15e6,
        },
        step={"bytes_in": 150_000_000},
    )
    assert "missing-index" not in causes(a_case(ranges))
    few = ranges.but(rates={"bytes_sent": 10_000.0}, step={"bytes_in": 100_000})
    assert "missing-index" in causes(a_case(few))


def test_a_server_that_was_gone_for_a_while_is_not_shared_with_others() -> None:
    """The server's rates are of the seconds in which it was up, the load's of all seconds."""
    busy: dict[str, float | None] = {"questions": 6000.0, "connections": 0.1, "bytes_sent": 9e6}
    made = Made(tps=900.0, rates=busy, step={"qps": 2700.0, "errors": {}})
    assert "other-clients" in causes(a_case(made))
    assert "other-clients" not in causes(a_case(made.but(server_figures={"seconds": 5.0})))


def test_a_statement_is_somebody_else_s_only_where_none_of_ours_may_last_so_long() -> None:
    slow = Made().as_step().latency.service.model_copy(update={"mean": 900.0, "max": 4000.0})
    step = {"latency": LatencyPair(response=slow, service=slow)}
    long: dict[str, float] = {"longest_statement_s": 6.0}
    assert "other-clients" not in causes(a_case(Made(highest=long, step=step)))
    locked = Made(highest=long, rates={"row_lock_time_s": 14.0})
    assert "other-clients" not in causes(a_case(locked))
    assert causes(a_case(Made(highest=long)))[0] == "other-clients"


def test_bytes_that_come_to_nobody_of_ours_are_others() -> None:
    dumped = diagnosis_of(a_case(Made(rates={"bytes_sent": 100e6})))
    assert dumped.findings[0].cause == "other-clients"
    said = "of the 100 MB a second that it sends, 60 MB (60 %) do not go to this load."
    assert said in dumped.answer


def test_a_core_that_is_shared_with_interrupts_is_used_up_as_well() -> None:
    """A run on two cores with the server on the first: 0.84 of it, and 0.14 for interrupts."""
    rates: dict[str, float | None] = {
        "cpu.0.idle_s": 0.013,
        "cpu.0.iowait_s": 0.0,
        "cpu.1.idle_s": 0.35,
    }
    pinned = Made(
        users=10,
        host={"cores": 2, "cpu_idle": 0.18, "process_cpu_user": 0.56, "process_cpu_sys": 0.28},
        host_rates=rates,
        host_means={"process.cpus_allowed": 1.0},
    )
    assert causes(a_case(pinned))[0] == "cpu-pinned"
    resting = pinned.but(host_rates={"cpu.0.idle_s": 0.15})
    assert "cpu-pinned" not in causes(a_case(resting))


def test_a_rate_that_was_missed_for_the_sake_of_commits_is_not_unexplained() -> None:
    step = {"rate": Rate(rate=1000.0), "due": 20_000}
    found = diagnosis_of(a_case(Made(means={"state.commit": 12.0}, step=step)))
    assert [one.cause for one in found.findings] == ["commit-flush"]


def test_a_disk_that_flushes_slowly_is_the_wait_with_one_level_too() -> None:
    slow: dict[str, float | None] = {"disk.vda.flushes": 100.0, "disk.vda.flush_s": 0.8}
    found = diagnosis_of(a_case(Made(means={"state.commit": 12.0}, host_rates=slow)))
    assert found.findings[0].cause == "commit-flush"
    assert found.findings[0].group == "wait"


def test_commits_that_wait_on_purpose_are_no_slow_disk() -> None:
    waiting = Made(users=4, tps=60.0, means={"state.commit": 3.8}, rates={"log_syncs": 60.0})
    on: dict[str, str | None] = {
        "binlog_commit_wait_count": "100",
        "binlog_commit_wait_usec": "50000",
    }
    assert causes(a_case(waiting, variables=on))[:2] == ["commit-delay", "commit-flush"]
    assert "commit-delay" not in causes(a_case(waiting))


def test_a_group_without_memory_or_swap_reads_its_program_again() -> None:
    thrashing = Made(
        host={"major_faults_per_s": 4000.0},
        host_means={"cgroup.memory_limit_bytes": 128.0 * 1024**2},
    )
    found = diagnosis_of(a_case(thrashing))
    assert found.findings[0].cause == "swapping"
    assert "too little memory within its control group's 128 MiB" in found.answer


def test_statements_that_the_generator_sends_again_are_lost_packets_too() -> None:
    rates = {"tcp.retransmits": 60.0, "tcp.segments_out": 8000.0}
    ours = HostFigures(seconds=10.0, rates=rates)
    lossy = Made(host=IDLE, means={"threads_running": 2.0}, step={"generator_host": ours})
    found = diagnosis_of(a_case(lossy))
    assert found.findings[0].cause == "packet-loss"
    assert "the generator's host retransmits 60 segments a second" in found.answer


def test_packets_that_others_lose_are_not_this_load_s() -> None:
    """A run whose host retransmitted 13 segments a second while no statement took 40 ms."""
    quick = Made().as_step().latency.service.model_copy(update={"mean": 4.0, "max": 37.0})
    step = {"latency": LatencyPair(response=quick, service=quick)}
    rates: dict[str, float | None] = {"tcp.retransmits": 40.0, "tcp.segments_out": 5000.0}
    assert "packet-loss" not in causes(a_case(Made(host_rates=rates, step=step)))
    late = {"latency": LatencyPair(response=quick.model_copy(update={"max": 412.0}), service=quick)}
    assert "packet-loss" in causes(a_case(Made(host_rates=rates, step=late)))


def test_a_storm_of_logins_beside_many_events_is_named_by_its_cost() -> None:
    made = Made(tps=30_000.0, rates={"connections": 2500.0, "threads_created": 2500.0})
    assert "connection-storm" in causes(a_case(made))
    few = made.but(rates={"connections": 200.0})
    assert "connection-storm" not in causes(a_case(few))


def test_a_query_cache_that_answers_nothing_is_work_for_nothing() -> None:
    on: dict[str, str | None] = {"query_cache_type": "ON"}
    stores: dict[str, float | None] = {"qcache_inserts": 20_000.0, "qcache_hits": 900.0}
    assert causes(a_case(Made(rates=stores), variables=on))[0] == "query-cache"
    answers: dict[str, float | None] = {"qcache_inserts": 900.0, "qcache_hits": 20_000.0}
    assert "query-cache" not in causes(a_case(Made(rates=answers), variables=on))


def test_a_run_is_diagnosed_from_its_folder(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    seconds = RunSeconds(run)
    (found,) = diagnose(run_folder.load(run), Known(environment_of(run), seconds))
    assert found.workload == "oltp_read_write"
    assert as_plain(as_renderable([found])).startswith(found.answer)
    assert list(answer([found])) == []
    tps = seconds.series("load", 1, "tps")
    assert tps is not None
    assert len(tps) == 5
    assert seconds.series("server", 1, "questions") is None


def test_a_run_without_a_step_has_nothing_to_explain(tmp_path: Path, script: Script) -> None:
    result = run_folder.load(recorded_run(tmp_path))
    empty = Result.model_validate(result.model_dump() | {"steps": ()})
    assert diagnose(empty, Known()) == []
    assert as_plain(as_renderable([])) == "No step has figures to explain.\n"


def test_the_text_has_evidence_remedy_and_trial() -> None:
    ages: dict[tuple[Source, str], Series] = {
        ("server", "checkpoint_age_bytes.now"): per_second(*[76e6] * 10)
    }
    case = a_case(Made(means={"checkpoint_age_bytes": 76e6}), seconds=ages)
    lines = as_plain(as_renderable([diagnosis_of(case)]), UNLIMITED).splitlines()
    assert lines[0].startswith("The redo log is too small: the checkpoint age is 72.5 MiB")
    assert lines[2] == " 1  redo-log-small (wait, explains 100 %, 90 % sure)"
    assert any(line.startswith("      - checkpoint_age_bytes 72.5 MiB") for line in lines)
    assert "      remedy: Raise innodb_log_file_size to 458 MiB or more." in lines
    assert "      to prove: SET GLOBAL innodb_log_file_size=480247808, and run again" in lines


def test_the_use_of_row_locks_is_never_read_as_a_share_of_the_users_time() -> None:
    waits = {"row_lock_waits_per_s": 700.0}
    step = {"qps": 2000.0, "writes": 10_000}
    still = Made(host=IDLE, means={"threads_running": 12.0}, server_figures=waits, step=step)
    case = a_case(still)
    found = {one.step: one for one in ceilings([case.step], Limits())}
    said = str(unexplained(replace(case, ceilings=found)).sentence)
    assert "row locks are used most (70 % of the writes found their row locked)" in said
