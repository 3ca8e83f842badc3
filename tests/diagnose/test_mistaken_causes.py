"""What looks like a cause, and is none; and causes that used to look like others."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account, diagnosed, first, named
from diagnose.examples import FULL_OF_SERVER, IDLE, SHARED
from diagnose.healthy import Made, a_case, per_second
from loadstone.diagnosis.context import Series
from loadstone.diagnosis.rules import line_full, tls
from loadstone.diagnosis.rules.mysql import (
    commit_flush,
    logging,
    long_transaction,
    missing_index,
    redo_small,
    table_locks,
)
from loadstone.model.account import Cores
from loadstone.model.finding import Finding
from loadstone.model.result import TargetShare

AGE = "checkpoint_age_bytes"


def redo(ages: Series, written: float) -> Finding | None:
    made = Made(means={AGE: 76e6}, rates={"log_written_bytes": written})
    return redo_small.RULE.judge(a_case(made, seconds={("server", f"{AGE}.now"): ages}))


def test_a_checkpoint_that_is_old_since_the_tables_were_loaded_holds_nobody() -> None:
    falling = per_second(*(82e6 - 0.5e6 * second for second in range(10)))
    left = redo(falling, 0.2e6)
    steady = redo(per_second(*[76e6] * 10), 0.2e6)
    assert left is not None and left.share is not None
    assert steady is not None and steady.share is not None
    assert left.share < 0.4 * steady.share


def test_history_that_purge_has_not_reached_is_a_note_as_long_as_the_rate_does_not_fall() -> None:
    made = Made(means={"history_length": 400_000.0, "oldest_transaction_s": 0.0})
    rates = per_second(*[1000.0] * 9)
    falling = per_second(*(1000.0 - 50 * second for second in range(9)))
    history = per_second(*(100_000.0 + 4000 * second for second in range(9)))
    found = [
        long_transaction.RULE.judge(
            a_case(
                made,
                seconds={("load", "tps"): series, ("server", "history_length.now"): history},
            )
        )
        for series in (rates, falling)
    ]
    assert [one and (one.cause, one.group) for one in found] == [
        ("purge-lag", "note"),
        ("purge-lag", "wait"),
    ]


def test_slow_syncs_are_a_cause_long_before_they_take_half_of_the_time() -> None:
    made = Made(
        host=IDLE,
        rates={"log_syncs": 300.0},
        server_figures={"commits_per_s": 1000.0},
        host_rates={"disk.vda.flushes": 300.0, "disk.vda.flush_s": 1.5},
    )
    account = an_account(commit=0.15, log_sync=0.1, on_core=0.3)
    found = named(diagnosed(made, account), "commit-flush")
    assert found.group == "wait"
    quick = made.but(host_rates={"disk.vda.flush_s": 0.12})
    assert "commit-flush" not in first(diagnosed(quick, account), 9)


@pytest.mark.parametrize(("mode", "group"), [("required", "setting"), ("preferred", "note")])
def test_encryption_that_nobody_asked_for_on_this_machine_is_a_note(mode: str, group: str) -> None:
    target = TargetShare(
        target=f"mysql://u@127.0.0.1:3306/db?tls={mode}", server_version=None, events=1, queries=1,
        errors=0, connect_failures=0, users=16,
    )  # fmt: skip
    made = Made(
        host=FULL_OF_SERVER,
        facts=SHARED,
        step={"encrypted_users": 16, "tls": "TLSv1.3", "qps": 60_000.0, "targets": (target,)},
    )
    found = tls.RULE.judge(a_case(made))
    assert found is not None and found.group == group


def test_inserts_that_wait_for_the_next_number_are_told_from_rows() -> None:
    made = Made(rates={"row_lock_time_s": 0.0, "row_lock_waits": 0.0})
    account = an_account(row_lock=0.5, on_core=0.1)
    found = named(
        diagnosed(made, account, variables={"innodb_autoinc_lock_mode": "0"}), "row-locks"
    )
    assert "innodb_autoinc_lock_mode=0" in found.sentence
    assert found.trial is not None and found.trial.kind == "start"
    usual = diagnosed(made, account, variables={"innodb_autoinc_lock_mode": "2"})
    assert "autoinc" not in named(usual, "row-locks").sentence


def test_lines_that_the_slow_log_leaves_out_are_not_written() -> None:
    made = Made(rates={"slow_queries": 19_000.0, "questions": 20_000.0})
    on: dict[str, str | None] = {"slow_query_log": "ON", "long_query_time": "0.000000"}
    assert logging.SLOW_RULE.judge(a_case(made, variables=on)) is not None
    sampled = a_case(made, variables={**on, "log_slow_rate_limit": "100"})
    assert logging.SLOW_RULE.judge(sampled) is None


@pytest.mark.parametrize(("others", "is_ours"), [(1.2, False), (0.1, True)])
def test_rows_that_a_long_report_scans_are_not_those_of_changes(
    others: float, is_ours: bool
) -> None:
    """If its work on a core is enough for all of them."""
    cores = Cores(users=0.8, others=others, own=0.1)
    account = an_account(on_core=0.3).model_copy(update={"cores": cores})
    made = Made(
        tps=1000.0,
        rates={
            "handler_read_rnd_next": 5e6,
            "handler_read_key": 3000.0,
            "handler_read_next": 0.0,
            "com_select": 1000.0,
            "com_update": 2000.0,
            "com_delete": 0.0,
            "select_scan": 0.0,
            "select_full_join": 0.0,
            "rows_sent": 1000.0,
        },
        highest={"longest_statement_s": 30.0},
        step={"account": account},
    )
    assert (missing_index.RULE.judge(a_case(made)) is not None) is is_ours


def test_a_state_that_few_moments_show_is_no_full_line_where_looks_saw_nobody_send() -> None:
    made = Made(host=IDLE, means={"state.writing to net": 8.0}, step={"bytes_out": 10**9})
    seen = made.but(step={**made.step, "account": an_account(way=0.2, on_core=0.4, sending=0.4)})
    unseen = made.but(step={**made.step, "account": an_account(way=0.2, on_core=0.4)})
    assert line_full.RULE.judge(a_case(seen)) is not None
    assert line_full.RULE.judge(a_case(unseen)) is None


def test_a_lock_that_programs_take_by_name_is_called_so() -> None:
    found = table_locks.RULE.judge(a_case(Made(means={"state.user lock": 6.0})))
    assert found is not None and "GET_LOCK()" in found.sentence


def test_writes_that_wait_for_the_disk_are_syncs_of_commits() -> None:
    """By O_DSYNC, also where a commit only writes the log."""
    made = Made(
        rates={"log_syncs": 900.0},
        step={"account": an_account(log_sync=0.7, on_core=0.1)},
        host=IDLE,
        host_rates={"disk.vda.flushes": 900.0, "disk.vda.flush_s": 9.0},
    )
    lazy: dict[str, str | None] = {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
    assert commit_flush.RULE.judge(a_case(made, variables=lazy)) is None
    waiting = a_case(made, variables={**lazy, "innodb_flush_method": "O_DSYNC"})
    assert commit_flush.RULE.judge(waiting) is not None


@pytest.mark.parametrize(("in_queue_s", "is_named"), [(0.01, True), (4.5, False)])
def test_reads_in_bursts_wait_for_a_limit_that_is_not_used_on_average(
    in_queue_s: float, is_named: bool
) -> None:
    """Those that a disk itself is slow with are in its queue."""
    made = Made(
        host={**IDLE, "disk_read_iops": 70.0, "disk_queue": 5.0},
        host_means={"cgroup.disk.vda.read_iops": 166.0},
        host_rates={"disk.vda.read_s": in_queue_s},
        rates={"buffer_pool_reads": 60.0},
    )
    found = diagnosed(made, an_account(disk_read=0.3, on_core=0.3))
    assert ("disk-cap" in first(found)) is is_named
    if is_named:
        assert named(found, "disk-cap").share == pytest.approx(0.3, abs=0.01)
        assert "in bursts" in named(found, "disk-cap").sentence


def test_a_table_that_is_locked_now_and_then_is_seen_by_looks_alone() -> None:
    """A state that is read once a second may be that of one moment."""
    looked = Made(step={"account": an_account(table_lock=0.05, on_core=0.1)})
    assert table_locks.RULE.judge(a_case(looked)) is not None
    one_moment = Made(means={"state.waiting for table metadata lock": 0.8})
    assert table_locks.RULE.judge(a_case(one_moment)) is None
