"""Settings that `loadstone check` advises against, and that a run shows no effect of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.healthy import Made, a_case
from diagnose.printed import printed
from loadstone.analyse.advice import Machine
from loadstone.analyse.mysql.settings import GIB, MIB
from loadstone.analyse.settings_review import review
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.diagnose import Known, cases_of, diagnosis_of
from loadstone.model.ceilings import Limits
from loadstone.model.error_codes import MYSQL
from loadstone.model.language import in_language
from loadstone.model.result import Result, RunInfo
from loadstone.report.findings import without_effect_text

BAD = {
    "version": "10.11.6-MariaDB",
    "log_bin": "ON",
    "max_binlog_size": str(128 * MIB),
    "innodb_log_file_size": str(96 * MIB),
    "innodb_log_buffer_size": str(8 * MIB),
    "innodb_io_capacity": "200",
    "general_log": "ON",
    "slow_query_log": "ON",
    "long_query_time": "0.000000",
    "performance_schema": "ON",
    "query_cache_size": str(MIB),
    "query_cache_type": "ON",
    "max_connections": "1000",
    "thread_handling": "one-thread-per-connection",
    "table_open_cache": "400",
    "sort_buffer_size": str(32 * MIB),
    "innodb_deadlock_detect": "OFF",
    "innodb_lock_wait_timeout": "50",
}


def shown(case: Case) -> dict[str, str]:
    """The causes by variable."""
    return {one.variable: one.cause for one in diagnosis_of(case).without_effect}


def test_every_cause_that_the_review_names_is_one_of_a_rule() -> None:
    causes = {rule.cause for rule in RULES_OF[MYSQL]}
    machine = Machine(memory_bytes=16 * GIB, rotational=False)
    for pool in (128 * MIB, 15 * GIB):
        found = review(BAD | {"innodb_buffer_pool_size": str(pool)}, machine)
        named = {one.cause for one in found} - {None}
        assert len(named) == 13
        assert named <= causes


def test_a_setting_whose_cause_was_evaluated_and_not_found_is_shown() -> None:
    found = shown(a_case())
    assert found["innodb_buffer_pool_size"] == "working-set"
    assert found["innodb_io_capacity"] == "io-capacity-low"
    assert found["table_open_cache"] == "table-cache-small"
    # No rule looks for the effect of these, or they suit a benchmark.
    assert not {"version", "sync_binlog", "sort_buffer_size"} & set(found)


def test_a_setting_with_an_effect_is_a_finding_instead() -> None:
    stores: dict[str, float | None] = {"qcache_inserts": 20_000.0, "qcache_hits": 900.0}
    on: dict[str, str | None] = {"query_cache_type": "ON"}
    assert "query_cache_type" in shown(a_case(variables=on))
    assert "query_cache_type" not in shown(a_case(Made(rates=stores), variables=on))


def test_of_a_cause_that_was_not_evaluated_at_some_level_nothing_is_said() -> None:
    blind = Made(rates={"buffer_pool_reads": None})
    assert "innodb_buffer_pool_size" not in shown(a_case(blind))
    assert "innodb_buffer_pool_size" not in shown(a_case(Made(users=8, tps=950.0), blind))
    assert "innodb_io_capacity" in shown(a_case(blind))


def test_sizes_are_those_of_the_machine_that_was_observed() -> None:
    pool: dict[str, str | None] = {"innodb_buffer_pool_size": str(GIB)}
    large = Made(host_means={"memory.total_bytes": 64.0 * GIB})
    assert "innodb_buffer_pool_size" in shown(a_case(large, variables=pool))
    for changed in ("memory.total_bytes", "cgroup.memory_limit_bytes"):
        small = large.but(host_means={changed: 2.0 * GIB})
        assert "innodb_buffer_pool_size" not in shown(a_case(small, variables=pool))
    slow_disk = replace(a_case(), limits=Limits(disk_read_iops=120.0))
    assert "innodb_io_capacity" not in shown(slow_disk)


def test_a_variant_is_judged_by_its_own_variables() -> None:
    step = Made(step={"variant": "large"}).as_step()
    servers = [{"variables": {"Innodb_io_capacity": value}} for value in ("200", "5000")]
    environment = {"targets": servers[:1], "variants": {"large": servers[1:]}}
    info = dict.fromkeys(RunInfo.model_fields) | {"id": "r", "name": "r", "state": "finished"}
    run = RunInfo.model_validate(info | {"steps_finished": 1, "notes": ()})
    (case,) = cases_of(Result(run=run, steps=(step,)), Known(environment))
    assert case.variables == {"innodb_io_capacity": "5000"}


@pytest.mark.parametrize("code", ["en", "zh"])
def test_they_are_one_line_and_none_if_there_is_none(code: str) -> None:
    words = in_language("zh" if code == "zh" else "en")
    found = diagnosis_of(a_case())
    line = words(without_effect_text(found))
    assert "innodb_io_capacity = 200 (io-capacity-low)" in line.replace("（", " (").replace(
        "）", ")"
    )
    assert "\n" not in line
    lines = printed([found]).splitlines()
    assert sum("no effect seen" in one for one in lines) == 1
    none = found.model_copy(update={"without_effect": ()})
    assert "no effect seen" not in printed([none])
