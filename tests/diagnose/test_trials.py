"""The change that would prove each finding: named, from which value to which, and safe to try."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.examples import EXAMPLES, FULL_OF_SERVER, SHARED
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.no_trial import NO_CLAIM, NOTHING_TO_CHANGE, WHY, with_reason
from loadstone.diagnosis.rules import cpu_bound, line_full
from loadstone.diagnosis.rules.mysql import commit_flush, redo_small, sorts
from loadstone.diagnosis.rules.mysql import working_set as pool
from loadstone.diagnosis.trials import by_socket, same
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import say
from loadstone.model.result import TargetShare
from loadstone.report.findings import trial_text

MIB = 1024**2
EXAMPLE = {example.cause: example for example in EXAMPLES}
ON_TCP = TargetShare(
    target="mysql://bench@127.0.0.1:3306/sbtest",
    server_version=None,
    events=1,
    queries=1,
    errors=0,
    connect_failures=0,
    users=1,
)


def found(cause: str, case: Case | None = None) -> Finding:
    finding = EXAMPLE[cause].rule.judge(case or EXAMPLE[cause].fires)
    assert finding is not None
    return finding


def trial_of(cause: str, case: Case | None = None) -> Trial:
    trial = found(cause, case).trial
    assert trial is not None
    return trial


def values(trial: Trial) -> dict[str, str]:
    return {setting.name: setting.value for setting in trial.settings}


@pytest.mark.parametrize(
    ("cause", "kind", "settings"),
    [
        ("tls", "client", {"tls": "disabled"}),
        ("commit-flush", "dynamic", {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}),
        (
            "io-capacity-low",
            "dynamic",
            {"innodb_io_capacity_max": "4000", "innodb_io_capacity": "2000"},
        ),
        ("general-log", "dynamic", {"general_log": "OFF"}),
        ("slow-log", "dynamic", {"slow_query_log": "OFF"}),
        (
            "table-cache-small",
            "dynamic",
            {"table_open_cache": "4000", "table_definition_cache": "4000"},
        ),
        ("no-thread-pool", "start", {"thread_handling": "pool-of-threads"}),
        ("thread-pool-small", "dynamic", {"thread_pool_size": "4"}),
        ("binlog-cache-small", "dynamic", {"binlog_cache_size": "524288"}),
        ("redo-log-small", "dynamic", {"innodb_log_file_size": str(458 * MIB)}),
        (
            "deadlock-checks",
            "dynamic",
            {"innodb_lock_wait_timeout": "1", "innodb_deadlock_detect": "OFF"},
        ),
        ("semi-sync-wait", "dynamic", {"rpl_semi_sync_master_enabled": "OFF"}),
        ("few-users", "users", {"concurrency": "64"}),
        ("far-away", "users", {"concurrency": "64"}),
        ("line-full", "client", {"compression": "zlib"}),
        ("sort-buffer-cliff", "dynamic", {"sort_buffer_size": str(2 * MIB)}),
        ("temporary-tables-on-disk", "dynamic", {"tmp_table_size": str(64 * MIB)}),
        ("query-cache", "dynamic", {"query_cache_type": "OFF"}),
        ("instrumentation", "start", {"performance_schema": "OFF"}),
        ("cold-buffer-pool", "again", {"buffer_pool": "warm"}),
    ],
)
def test_a_finding_says_what_would_prove_it(
    cause: str, kind: str, settings: dict[str, str]
) -> None:
    trial = trial_of(cause)
    assert (trial.kind, values(trial)) == (kind, values(trial) | settings)
    assert all(setting.before != setting.value for setting in trial.settings)


@pytest.mark.parametrize("cause", sorted(EXAMPLE))
def test_a_finding_has_a_trial_or_says_why_not(cause: str) -> None:
    told = with_reason(found(cause))
    assert (told.trial is None and cause not in NO_CLAIM) == (told.untried is not None)
    # Without any change, the reason is the cause's own.
    assert told.untried != NOTHING_TO_CHANGE


def test_reasons_are_of_causes_that_there_are() -> None:
    of_postgresql = {cause for rule in RULES_OF["postgresql"] for cause in rule.titles}
    assert WHY.keys() <= {example.cause for example in EXAMPLES} | {"purge-lag"} | of_postgresql
    assert NO_CLAIM <= {example.cause for example in EXAMPLES} | {
        "rate-met",
        "unexplained",
        "not-observed",
    }


@pytest.mark.parametrize("cause", sorted(EXAMPLE))
def test_a_trial_never_asks_for_what_is_so_already(cause: str) -> None:
    trial = found(cause).trial
    for setting in trial.settings if trial and trial.kind in ("dynamic", "start") else ():
        assert setting.before is not None
        assert not same(setting.before, setting.value)


def test_less_durability_is_told_with_what_it_costs() -> None:
    trial = trial_of("commit-flush")
    assert trial.costs is not None and "loses up to a second of commits" in trial.costs
    assert trial.change == (
        "innodb_flush_log_at_trx_commit=2 in place of 1, sync_binlog=0 in place of 1"
    )
    timeout = trial_of("deadlock-checks").costs
    assert timeout is not None and "innodb_lock_wait_timeout=1" in timeout


@pytest.mark.parametrize(
    ("cause", "risky"),
    [("commit-flush", True), ("semi-sync-wait", True), ("general-log", False), ("tls", False)]
    + [("redo-log-small", False), ("deadlock-checks", False), ("binlog-cache-small", False)],
)
def test_what_a_crash_would_lose_is_known(cause: str, risky: bool) -> None:
    assert trial_of(cause).risks_commits is risky


def test_what_is_relaxed_already_is_not_tried() -> None:
    case = EXAMPLE["commit-flush"].fires
    relaxed = {**(case.variables or {}), "sync_binlog": "0"}
    trial = trial_of("commit-flush", replace(case, variables=relaxed))
    assert values(trial) == {"innodb_flush_log_at_trx_commit": "2"}
    both = relaxed | {"innodb_flush_log_at_trx_commit": "2"}
    assert commit_flush.RULE.judge(replace(case, variables=both)) is None


def test_where_all_is_set_already_there_is_nothing_to_change() -> None:
    found = commit_flush.RULE.judge(EXAMPLE["commit-flush"].fires)
    assert found is not None
    without = found.model_copy(update={"trial": None})
    assert with_reason(without).untried == NOTHING_TO_CHANGE


@pytest.mark.parametrize(
    ("free", "times"), [(None, 0), (64 * MIB, 0), (300 * MIB, 2), (4096 * MIB, 4)]
)
def test_the_pool_grows_by_no_more_than_half_of_the_free_memory(
    free: float | None, times: int
) -> None:
    reading = {"disk_read_iops": 2500.0, "disk_read_await_ms": 0.3, "memory_available_bytes": free}
    made = Made(rates={"buffer_pool_reads": 2500.0}, host=reading, means={"pages_free": 1000.0})
    finding = pool.RULE.judge(a_case(made))
    assert finding is not None
    wanted = {"innodb_buffer_pool_size": str(times * 128 * MIB)}
    assert (values(finding.trial) if finding.trial else {}) == (wanted if times else {})


def test_a_pool_that_may_not_grow_so_far_is_larger_from_a_start() -> None:
    reading = {"disk_read_iops": 2500.0, "disk_read_await_ms": 0.3, "memory_available_bytes": 4e9}
    made = Made(rates={"buffer_pool_reads": 2500.0}, host=reading, means={"pages_free": 1000.0})
    for most, kind in (("", "dynamic"), (str(8192 * MIB), "dynamic"), (str(128 * MIB), "start")):
        more: dict[str, str | None] = {"innodb_buffer_pool_size_max": most} if most else {}
        finding = pool.RULE.judge(a_case(made, variables=more))
        assert finding is not None and finding.trial is not None
        assert finding.trial.kind == kind


@pytest.mark.parametrize(
    ("version", "kind"),
    [("10.11.19-MariaDB-log", "start"), ("5.7.44-log", "start"), ("8.0.46", "dynamic")],
)
def test_the_log_buffer_grows_while_newer_servers_run(version: str, kind: str) -> None:
    case = EXAMPLE["log-buffer-small"].fires
    told = {**(case.variables or {}), "version": version}
    trial = trial_of("log-buffer-small", replace(case, variables=told))
    assert (trial.kind, values(trial)) == (kind, {"innodb_log_buffer_size": str(64 * MIB)})


@pytest.mark.parametrize(
    ("variables", "kind"),
    [
        ({"version": "10.11.19-MariaDB-log"}, "dynamic"),
        ({"version": "10.6.20-MariaDB"}, "start"),
        ({"version": "5.7.44-log"}, "start"),
        ({"version": "9.7.0", "innodb_redo_log_capacity": str(100 * MIB)}, "dynamic"),
    ],
)
def test_the_redo_log_is_resized_where_the_server_can(
    variables: dict[str, str | None], kind: str
) -> None:
    case = EXAMPLE["redo-log-small"].fires
    told = {**(case.variables or {}), **{name: text or "" for name, text in variables.items()}}
    finding = redo_small.RULE.judge(replace(case, variables=told))
    assert finding is not None and finding.trial is not None
    assert finding.trial.kind == kind


def test_a_thread_pool_is_offered_by_servers_that_have_one() -> None:
    case = EXAMPLE["no-thread-pool"].fires
    without = {k: v for k, v in (case.variables or {}).items() if k != "thread_pool_size"}
    for version in ("8.0.46", "9.6.0", "10.11.19-MariaDB"):
        finding = found("no-thread-pool", replace(case, variables={**without, "version": version}))
        assert finding.trial is None
        assert "has no thread pool" in (with_reason(finding).untried or "")
    trial = trial_of("no-thread-pool", replace(case, variables={**without, "version": "9.7.0"}))
    assert (trial.kind, values(trial)) == (
        "start",
        {"plugin_load_add": "thread_pool.so", "loose_thread_pool_size": "4"},
    )


def test_the_text_protocol_is_tried_before_the_socket() -> None:
    made = Made(host=FULL_OF_SERVER, facts=SHARED, step={"targets": (ON_TCP,)})
    case = a_case(made)
    trial = cpu_bound.RULE.judge(replace(case, drive={"protocol": "text"}))
    assert trial is not None and trial.trial is not None
    assert values(trial.trial) == {"prepared": "on"}
    trial = cpu_bound.RULE.judge(replace(case, drive={"protocol": "prepared"}))
    assert trial is not None and trial.trial is not None
    assert values(trial.trial) == {"connect": "socket"}
    assert not trial.trial.refutes, "full cores are full whatever the way"
    elsewhere = cpu_bound.RULE.judge(a_case(Made(host=FULL_OF_SERVER)))
    assert elsewhere is not None and elsewhere.trial is None


def test_the_socket_is_offered_with_its_reason() -> None:
    made = Made(host=FULL_OF_SERVER, facts=SHARED, step={"targets": (ON_TCP,)})
    trial = by_socket(a_case(made), say("TCP"))
    assert trial is not None
    said = "run again over the unix socket, which saves the cost of TCP"
    assert trial_text(trial) == said


def test_a_full_line_on_one_host_is_gone_around() -> None:
    case = EXAMPLE["line-full"].fires
    host = case.step.host
    assert host is not None
    here = host.model_copy(update={"facts": {**host.facts, **SHARED}})
    step = case.step.model_copy(update={"host": here, "targets": (ON_TCP,)})
    finding = line_full.RULE.judge(case.at(step))
    assert finding is not None and finding.trial is not None
    assert values(finding.trial) == {"connect": "socket"}


def test_a_unix_socket_is_no_line_that_can_be_full() -> None:
    case = EXAMPLE["line-full"].fires
    socket = ON_TCP.model_copy(update={"target": "mysql://u@localhost/sbtest?socket=/run/s.sock"})
    step = case.step.model_copy(update={"targets": (socket,)})
    assert line_full.RULE.judge(case.at(step)) is None


@pytest.mark.parametrize(
    ("version", "sure"), [("8.0.11", 0.8), ("5.7.44", 0.8), ("8.0.18", 0.3), ("9.7.0", 0.3)]
)
def test_the_sort_buffer_s_cliff_is_a_suspicion_where_the_version_takes_pieces(
    version: str, sure: float
) -> None:
    case = EXAMPLE["sort-buffer-cliff"].fires
    told = {**(case.variables or {}), "version": version}
    finding = sorts.CLIFF_RULE.judge(replace(case, variables=told))
    assert finding is not None and finding.trial is not None
    assert finding.confidence == sure
    assert ("try it first" in finding.sentence) == (sure == 0.3)
    # New connections take the global value, and each step of a trial opens new ones.
    assert values(finding.trial) == {"sort_buffer_size": "2097152"}


@pytest.mark.parametrize(
    ("version", "mib", "faults", "sure"),
    [("10.11.19-MariaDB", 33, 4.5, 0.6), ("10.11.19-MariaDB", 31, 0.03, None)]
    + [("9.7.0", 64, 0.0, None), ("10.11.19-MariaDB", 64, 0.5, None)],
)
def test_a_setting_alone_is_no_suspicion(
    version: str, mib: int, faults: float, sure: float | None
) -> None:
    # As measured: 754 events of two sorts a second, a quarter of the CPU in the kernel.
    made = Made(
        tps=754.0,
        rates={"sort_range": 1508.0, "sort_scan": 0.0},
        host={
            "minor_faults_per_s": 1508.0 * faults,
            "process_cpu_user": 0.189,
            "process_cpu_sys": 0.074,
        },
    )
    told: dict[str, str | None] = {"sort_buffer_size": str(mib * MIB), "version": version}
    finding = sorts.CLIFF_RULE.judge(a_case(made, variables=told))
    assert (finding and finding.confidence) == sure
    if finding:
        assert finding.share == pytest.approx(0.092, abs=0.005)


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [("ON", "1", True), ("OFF", "0", True), ("10", "10.000000", True), ("2", "1", False)]
    + [("pool-of-threads", "one-thread-per-connection", False)],
)
def test_values_are_compared_as_the_server_means_them(one: str, other: str, are: bool) -> None:
    assert same(one, other) is are
