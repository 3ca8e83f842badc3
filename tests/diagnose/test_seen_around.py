"""What a server's surroundings tell: limits, cores that others have, users whom nobody saw."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.accounts import an_account
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules import latency_bound, line_full, throttled
from loadstone.diagnosis.rules.mysql import disk_neighbour, table_locks
from loadstone.diagnosis.trials import free_memory
from loadstone.model.account import Trips
from loadstone.model.result import LatencyMs

MIB = 1024.0**2
IDLE: dict[str, Any] = {"cpu_user": 0.1, "cpu_sys": 0.08, "cpu_iowait": 0.0, "cpu_idle": 0.82} | {
    "process_cpu_user": 0.3,
    "process_cpu_sys": 0.2,
}
WAITING = an_account(on_core=0.1, waiting_for_a_core=0.7, commit=0.2)


@pytest.mark.parametrize(
    ("means", "free"),
    [
        ({}, 8192.0),
        ({"cgroup.memory_limit_bytes": 512 * MIB, "process.rss_bytes": 200 * MIB}, 312.0),
        ({"cgroup.memory_limit_bytes": 512 * MIB, "process.rss_bytes": 600 * MIB}, 0.0),
        ({"cgroup.memory_limit_bytes": 65_536 * MIB}, 8192.0),
        ({"cgroup.memory_limit_bytes": 512 * MIB, "process.rss_bytes": None}, None),
    ],
)
def test_a_trial_counts_on_memory_within_the_groups_limit(
    means: dict[str, float | None], free: float | None
) -> None:
    made = Made(host={"memory_available_bytes": 8192 * MIB}, host_means={**means})
    expected = None if free is None else pytest.approx(free * MIB)
    assert free_memory(a_case(made)) == expected


@pytest.mark.parametrize(("idle", "is_pinned"), [(0.0, True), (0.4, False)])
def test_a_server_shares_the_one_core_that_it_is_kept_to(idle: float, *, is_pinned: bool) -> None:
    cores = {"cpu.0.idle_s": idle, "cpu.1.idle_s": 0.95, "cpu.2.idle_s": 0.9, "cpu.3.idle_s": 1.0}
    made = Made(
        host=IDLE,
        host_rates={**cores},
        host_means={"process.cpus_allowed": 1.0},
        step={"account": WAITING},
    )
    found = throttled.PINNED_RULE.judge(a_case(made))
    assert (found is not None) == is_pinned


@pytest.mark.parametrize(
    "account", [WAITING, an_account(on_core=0.1, commit=0.2, unnamed=0.7)], ids=["cores", "nobody"]
)
def test_more_users_are_no_answer_where_users_wait_for_idle_cores_or_nobody_saw_them(
    account: Any,
) -> None:
    case = a_case(Made(host=IDLE, step={"account": account}))
    assert latency_bound.RULE.judge(case) is None
    (first, *_) = diagnosis_of(case).findings
    assert first.cause != "few-users"


def test_locks_of_tables_are_seen_without_the_states_of_connections() -> None:
    hidden = {"not_evaluated": {"connection_states": "the user lacks the right"}}
    account = an_account("sessions", table_lock=0.66, in_the_server=0.2)
    made = Made(server_figures=hidden, step={"account": account})
    found = table_locks.RULE.judge(a_case(made))
    assert found is not None
    assert found.share == pytest.approx(0.66)


@pytest.mark.parametrize(("least_s", "is_near"), [(0.00002, True), (0.001, False)])
def test_what_holds_statements_back_may_be_near(least_s: float, *, is_near: bool) -> None:
    spread = dict.fromkeys(LatencyMs.model_fields) | {"count": 100, "above_range": 0}
    far = LatencyMs.model_validate({**spread, "at_least": (), "min": 1.2, "p50": 1.3})
    account = an_account(way=0.95, on_core=0.05).model_copy(
        update={"trips": Trips(usual=1.2 * least_s, least=least_s)}
    )
    step = {"statements": {"read": far}, "account": account}
    found = latency_bound.RULE.judge(a_case(Made(host=IDLE, mean_ms=24.0, step=step)))
    assert found is not None
    assert found.cause == "far-away"
    assert ("holds statements back" in found.sentence) == is_near


def test_a_server_is_far_away_whether_its_host_is_seen_or_not() -> None:
    spread = dict.fromkeys(LatencyMs.model_fields) | {"count": 100, "above_range": 0}
    far = LatencyMs.model_validate({**spread, "at_least": (), "min": 1.2, "p50": 1.3})
    account = an_account("sessions", way=0.95, in_the_server=0.05)
    made = Made(mean_ms=24.0, step={"statements": {"read": far}, "account": account, "host": None})
    found = latency_bound.RULE.judge(a_case(made))
    assert found is not None
    assert (found.cause, found.confidence) == ("far-away", latency_bound.UNSEEN)


@pytest.mark.parametrize(("flushes", "is_found"), [(3000.0, True), (700.0, False)])
def test_flushes_of_others_are_what_commits_wait_behind(flushes: float, *, is_found: bool) -> None:
    made = Made(
        host={"disk_busy": 0.6, "disk_flushes_per_s": flushes},
        rates={"log_syncs": 300.0, "binlog_syncs": 300.0},
        means={"state.commit": 12.0},
    )
    found = disk_neighbour.RULE.judge(a_case(made))
    assert (found is not None) == is_found
    assert found is None or "of 3,000 flushes a second on vda" in found.sentence


@pytest.mark.parametrize(("tps_before", "is_full"), [(240.0, False), (950.0, True)])
def test_a_line_on_which_more_users_move_more_is_not_full(
    tps_before: float, *, is_full: bool
) -> None:
    way: dict[str, Any] = {"host": IDLE, "means": {"threads_running": 2.0}}
    case = a_case(Made(users=4, tps=tps_before, **way), Made(**way))
    assert (line_full.RULE.judge(case) is not None) == is_full
