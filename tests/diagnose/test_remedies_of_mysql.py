"""What MySQL's rules advise where the usual counters are missing, or mean something else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.accounts import an_account
from diagnose.healthy import Made, a_case, per_second
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.grown_work import grown
from loadstone.diagnosis.rules.mysql import (
    commit_flush,
    instrumentation,
    missing_index,
    other_clients,
    purge_delay,
    redo_small,
    row_locks,
    sorts,
    stored_programs,
    table_locks,
)
from loadstone.model.account import Cores
from loadstone.model.hot_spots import HotSpots, StatementSpot

WAITING = {"row_lock_current_waits": 8.0}
OLD = {"oldest_transaction_s": 40.0}
IN_COMMIT: dict[str, Any] = {"means": {"state.commit": 12.0}, "rates": {"binlog_syncs": 400.0}}
IN_CIRCLES = {"oldest_holding_transaction_s": 0.0, "oldest_waiting_transaction_s": 40.0}
CIRCLES: dict[str, str | None] = {"innodb_deadlock_detect": "OFF", "innodb_lock_wait_timeout": "50"}


@pytest.mark.parametrize(
    ("highest", "variables", "said"),
    [
        (OLD, {}, "End the transaction that has been open for 40 s"),
        (OLD | {"oldest_holding_transaction_s": 0.0}, {}, "Spread the changes"),
        (OLD | {"oldest_holding_transaction_s": 40.0}, CIRCLES, "End the transaction"),
        (OLD | {"oldest_holding_transaction_s": 0.0}, CIRCLES, "Spread the changes"),
        (OLD | IN_CIRCLES, CIRCLES, "innodb_deadlock_detect=ON"),
        (OLD | IN_CIRCLES, {}, "Spread the changes"),
        (OLD | {"oldest_prepared_transaction_s": 40.0}, {}, "XA ROLLBACK"),
        (OLD, {"autocommit": "OFF"}, "Set autocommit=ON"),
        (OLD, {"autocommit": "ON", "init_connect": "SET autocommit=0"}, "Set autocommit=ON"),
        (OLD, {"autocommit": "ON", "init_connect": "SET autocommit=1"}, "End the transaction"),
    ],
)
def test_who_keeps_rows_decides_what_helps(
    highest: dict[str, float], variables: dict[str, str | None], said: str
) -> None:
    changes = {"com_update": 900.0, "com_commit": 0.0, "row_lock_waits": 50.0}
    made = Made(means={**WAITING}, highest=highest, rates={**changes})
    found = row_locks.RULE.judge(a_case(made, variables=variables))
    assert found is not None
    assert said in found.remedy


@pytest.mark.parametrize(
    ("level", "of_sessions", "is_said"),
    [("SERIALIZABLE", None, True), ("SERIALIZABLE", "read-committed", False),
     ("READ-COMMITTED", "serializable", True), ("READ-COMMITTED", None, False)],
)  # fmt: skip
def test_reads_that_lock_rows_are_told(level: str, of_sessions: str | None, is_said: bool) -> None:
    made = Made(means={**WAITING}, rates={"row_lock_waits": 50.0}, step={"reads": 900})
    case = a_case(made, variables={"transaction_isolation": level})
    found = row_locks.RULE.judge(replace(case, drive={"session": {"isolation": of_sessions}}))
    assert found is not None
    assert ("SELECT in a transaction locks" in found.remedy) == is_said


@pytest.mark.parametrize(("locked", "is_said"), [(0.0, True), (5.0, False)])
def test_an_engine_that_locks_tables_is_told_from_a_session_that_does(
    locked: float, is_said: bool
) -> None:
    waits: dict[str, float | None] = {"com_lock_tables": locked, "table_locks_waited": 900.0}
    made = Made(means={"state.Waiting for table level lock": 10.0}, rates=waits)
    found = table_locks.RULE.judge(a_case(made))
    assert found is not None
    assert ("ENGINE=InnoDB" in found.remedy) == is_said


@pytest.mark.parametrize(("first", "came"), [(1.0, 0.5), (2.0, 0.0)])
def test_what_an_event_takes_while_little_is_kept_is_its_own(first: float, came: float) -> None:
    seconds: dict[tuple[Source, str], Series] = {
        ("server", "history_length.now"): per_second(*[1000.0 * at for at in range(1, 11)]),
        ("host", "process.cpu_user_s"): per_second(*[first] * 3, *[2.0] * 7),
        ("load", "tps"): per_second(*[1000.0] * 10),
    }
    case = a_case(seconds=seconds)
    assert case.step.window is not None
    window = case.step.window.model_copy(update={"from_s": 3.0, "to_s": 10.0})
    case = replace(case, step=case.step.model_copy(update={"window": window}))
    assert grown(case, "history_length") == pytest.approx(came, abs=0.01)


def test_only_what_commits_wait_for_is_a_sync_of_theirs() -> None:
    lazy: dict[str, str | None] = {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "1"}
    slow = Made(**IN_COMMIT).but(rates={"log_syncs": 1.3, "binlog_file_wait_s": 3.0})
    found = commit_flush.RULE.judge(a_case(slow, variables=lazy))
    assert found is not None
    assert "400 log syncs a second" in found.sentence
    quick = Made(means={"state.commit": 3.0}).but(
        rates={"log_syncs": 1.3, "redo_file_wait_s": 0.02, "binlog_syncs": 4000.0}
    )
    assert commit_flush.RULE.judge(a_case(quick, variables=lazy)) is None


def test_a_log_that_fills_in_a_moment_is_small_whatever_its_age() -> None:
    rates: dict[str, float | None] = {"log_written_bytes": 20e6, "pages_flushed": 900.0}
    made = Made(means={"checkpoint_age_bytes": None, "checkpoint_age_max_bytes": None}, rates=rates)
    files: dict[str, str | None] = {
        "innodb_log_file_size": "4194304",
        "innodb_log_files_in_group": "2",
        "innodb_redo_log_capacity": None,
    }
    found = redo_small.RULE.judge(a_case(made, variables=files))
    assert found is not None
    assert "fill its 6.64 MiB" in found.sentence
    large = files | {"innodb_log_file_size": "1073741824"}
    assert redo_small.RULE.judge(a_case(made, variables=large)) is None


@pytest.mark.parametrize(
    ("version", "most_us", "history", "each_ms"),
    [
        ("5.7.22", "100000", 1010.0, "5.1"),
        ("10.11.6-MariaDB", "100000", 1010.0, "5.1"),
        ("8.0.31", "100000", 3000.0, "20"),
        ("8.0.31", "100000", 1010.0, None),  # one batch of purge
        ("5.7.22", "0", 1010.0, None),
    ],
)
def test_the_delay_for_purge_is_the_servers_own(
    version: str, most_us: str, history: float, each_ms: str | None
) -> None:
    variables: dict[str, str | None] = {
        "version": version,
        "innodb_max_purge_lag": "1000",
        "innodb_max_purge_lag_delay": most_us,
        "innodb_purge_threads": "4",
        "innodb_purge_batch_size": "300",
    }
    made = Made(means={"history_length": history})
    found = purge_delay.RULE.judge(a_case(made, variables=variables))
    assert (found is None) == (each_ms is None)
    assert found is None or f"waits {each_ms} ms" in found.sentence


@pytest.mark.parametrize(
    ("variables", "tried", "said"),
    [
        ({"tmp_table_size": "1024"}, [], "Raise tmp_table_size"),
        (
            {"tmp_table_size": "16777216", "temptable_max_ram": "2097152"},
            ["temptable_max_ram"],
            "Raise temptable_max_ram (2 MiB)",
        ),
        (
            {"tmp_table_size": "16777216", "big_tables": "ON"},
            ["big_tables"],
            "Set big_tables=OFF",
        ),
    ],
)
def test_what_sends_temporary_tables_to_disk_is_tried(
    variables: dict[str, str | None], tried: list[str], said: str
) -> None:
    rates = {"created_tmp_tables": 1000.0, "created_tmp_disk_tables": 900.0}
    found = sorts.TEMPORARY_RULE.judge(a_case(Made(rates={**rates}), variables=variables))
    assert found is not None
    assert found.trial is not None
    names = [one.name for one in found.trial.settings]
    assert names == [*tried, "tmp_table_size", "max_heap_table_size"]
    assert said in found.remedy


def test_threads_that_help_a_long_statement_are_its_own() -> None:
    reads = {"commits_per_s": 0.0}
    long = Made(highest={"longest_statement_s": 30.0}, mean_ms=1.0, server_figures=reads)
    cores = Cores.model_validate({"users": 0.5, "others": 0.0, "own": 1.2})
    account = an_account(on_core=0.1, waiting_for_a_core=0.3).model_copy(update={"cores": cores})
    found = other_clients.RULE.judge(a_case(long.but(step={"account": account})))
    assert found is not None
    assert "has been running for 30 s" in found.sentence
    resting = account.model_copy(update={"cores": cores.model_copy(update={"own": 0.02})})
    assert other_clients.RULE.judge(a_case(long.but(step={"account": resting}))) is None
    writes = long.but(step={"account": account}, server_figures={"commits_per_s": 900.0})
    assert other_clients.RULE.judge(a_case(writes)) is None


def test_what_other_clients_call_is_no_trigger() -> None:
    made = Made(rates={"queries": 60_000.0, "com_stmt_prepare": 0.0, "com_call_procedure": 2.0})
    seldom = made.but(rates={"com_call_procedure": 0.01})
    cores = Cores.model_validate({"users": 1.0, "others": 0.5, "own": 0.1})
    account = an_account(on_core=0.1).model_copy(update={"cores": cores})
    assert stored_programs.RULE.judge(a_case(made)) is not None
    assert stored_programs.RULE.judge(a_case(made.but(step={"account": account}))) is None
    assert stored_programs.RULE.judge(a_case(seldom.but(step={"account": account}))) is not None


def _sums(statement: str) -> HotSpots:
    spot = dict.fromkeys(StatementSpot.model_fields, 0) | {
        "statement": statement,
        "schema_name": "sbtest",
        "count": 1000,
        "time_s": 5.0,
        "rows_examined": 20_000_000,
        "rows_sent": 1000,
    }
    return HotSpots(statements=(StatementSpot.model_validate(spot),))


@pytest.mark.parametrize(
    ("statement", "is_found"),
    [
        ("SELECT SUM ( `k` ) FROM `sbtest1` WHERE `id` BETWEEN ? AND ?", False),
        ("SELECT COUNT ( `k` ) FROM `sbtest1` GROUP BY `c`", True),
        ("SELECT `c` FROM `sbtest1` WHERE `k` > ? AND `pad` = ?", True),
        ("SELECT COUNT ( * ) FROM `sbtest1` WHERE `k` = ? AND `pad` = ?", True),
    ],
)
def test_a_sum_needs_the_rows_that_an_index_leads_to(statement: str, *, is_found: bool) -> None:
    rates = {"handler_read_next": 20e6, "handler_read_rnd_next": 0.0, "rows_sent": 1000.0}
    made = Made(rates={**rates}, step={"hot_spots": _sums(statement)})
    assert (missing_index.RULE.judge(a_case(made)) is not None) == is_found


def test_stages_are_timed_events_as_well() -> None:
    made = Made(step={"hot_spots": HotSpots(fine_events=20_000_000)})
    found = instrumentation.RULE.judge(a_case(made, variables={"performance_schema": "ON"}))
    assert found is not None
    assert found.sentence.endswith("of the server's CPU.")


def test_where_no_more_than_a_resource_is_known_changed_settings_are_told() -> None:
    full = {"cpu_user": 0.7, "cpu_sys": 0.27, "cpu_iowait": 0.01, "cpu_idle": 0.02} | {
        "process_cpu_user": 2.7,
        "process_cpu_sys": 0.9,
    }
    changed: dict[str, str | None] = {
        "innodb_spin_wait_delay": "6000",
        "port": "3307",
        "innodb_redo_log_capacity": "104857600",
    }
    told = {"targets": [{"not_default": [*changed]}]}
    case = replace(a_case(Made(host=full), variables=changed), environment=told)
    (found, *_) = diagnosis_of(case).findings
    assert found.cause == "cpu-bound"
    assert found.remedy.endswith("changed on this server: innodb_spin_wait_delay=6000.")
