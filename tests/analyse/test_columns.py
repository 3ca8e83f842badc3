"""Figures of a step by name, and what is not evaluated."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from loadstone.analyse.derived_figures import of_step, users_in_commit, value
from loadstone.model.columns import COLUMNS, Column
from loadstone.model.result import HostFigures, LatencyMs, ServerFigures
from loadstone.report.columns import HEADS

READ = LatencyMs.model_validate(
    dict.fromkeys(LatencyMs.model_fields)
    | {"count": 5, "above_range": 0, "at_least": (), "mean": 2.5}
)
STEP = a_step(
    users=20,
    tps=100.0,
    bytes_in=2_000_000,
    bytes_out=500_000,
    encrypted_users=5,
    errors={"1205": 20},
    statements={"read": READ},
    server=ServerFigures(
        seconds=10.0,
        row_lock_waits_per_s=50.0,
        bytes_per_sync=2500.0,
        rates={
            "row_lock_time_s": 4.0,
            "redo_file_wait_s": 0.2,
            "deadlocks": 0.5,
            "log_written_bytes": 150_000.0,
        },
        means={"row_lock_current_waits": 6.0, "state.commit": 0.7, "state.sending": 3.0},
    ),
    host=HostFigures(
        seconds=10.0,
        cpu_idle=0.25,
        cpu_iowait=0.05,
        process_cpu_user=0.75,
        process_cpu_sys=0.25,
        minor_faults_per_s=1000.0,
        disk_write_bytes_per_s=400_000.0,
        rates={"cgroup.throttled_s": 0.125},
    ),
)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("lock_ms", 60.0),  # the six that are seen to wait, by a hundred events a second
        ("lock_waits", 0.5),
        ("waiting", 6.0),
        ("flush_ms", 7.0),
        ("deadlocks", 0.5),
        ("errors", 2.0),
        ("server_us", 10_000.0),
        ("server_sys", 25.0),
        ("minor_faults", 10.0),
        ("disk_kb", 4.0),
        ("cpu_idle", 30.0),
        ("throttled", 12.5),
        ("net_kb", 2.5),
        ("line_mbit", 1.6),
        ("encrypted", 25.0),
        ("log_kb_per_sync", 2.5),
        ("log_kb", 1.5),
        ("read_ms", 2.5),
        ("write_ms", None),
        ("context_switches", None),
    ],
)
def test_figures_are_reckoned_from_what_was_counted(column: Column, expected: float | None) -> None:
    assert of_step(column, STEP) == pytest.approx(expected)


def test_every_column_has_a_head_and_an_unobserved_step_is_no_nought() -> None:
    assert set(HEADS) == set(COLUMNS)
    by_client = {"connect_failures", "errors", "deadlocks", "line_mbit", "net_kb", "response_ms"}
    known = {column for column in COLUMNS if of_step(column, a_step()) is not None}
    assert known == by_client


def test_states_that_nobody_may_see_are_not_evaluated() -> None:
    refused = ServerFigures(seconds=1.0, not_evaluated={"connection_states": "no PROCESS"})
    assert users_in_commit(refused) is None


def test_repeats_have_a_median_of_those_that_know() -> None:
    steps = [STEP, a_step(), STEP.model_copy(update={"host": None})]
    assert value("cpu_idle", steps) == 30.0
    assert value("cpu_idle", steps[1:]) is None
