"""Ceilings, the review of settings and the scalability law have Chinese, with the same figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from analyse.made import a_step
from analyse.test_ceilings import a_host, a_server, of
from analyse.test_settings import GOOD_MYSQL, MACHINE
from analyse.test_usl import RAYTRACER, SDM91
from loadstone.analyse.advice import Advice, Machine
from loadstone.analyse.ceilings import ceilings
from loadstone.analyse.ladder import levels
from loadstone.analyse.mysql.setting_effects import MEANINGS
from loadstone.analyse.mysql.settings import GIB, MIB
from loadstone.analyse.settings_review import review
from loadstone.analyse.usl import Refused, Usl, fit, law, of_ladder
from loadstone.model.ceilings import Limits, Resource
from loadstone.model.language import in_language
from loadstone.model.message import Message
from loadstone.model.observed import SHARED_HOST
from loadstone.model.plan import Rate
from loadstone.model.result import GeneratorCost

CHINESE = in_language("zh")

CALIBRATED = GeneratorCost.model_validate(
    dict.fromkeys(GeneratorCost.model_fields) | {"ceiling_qps": 50_000.0, "cpu_share": 0.5}
)
USERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def within(message: Message) -> Iterator[Message]:
    yield message
    for value in message.values.values():
        if isinstance(value, Message):
            yield from within(value)


def figures(text: str) -> list[str]:
    return sorted(re.findall(r"\d[\d,.]*\d|\d", text))


def assert_has_chinese(message: Message) -> None:
    assert [str(part) for part in within(message) if not CHINESE.knows(part)] == []
    assert figures(CHINESE(message)) == figures(message)


@pytest.mark.parametrize("name", MEANINGS)
def test_what_a_setting_means_has_chinese(name: str) -> None:
    assert_has_chinese(MEANINGS[name].performance)
    if (durability := MEANINGS[name].durability) is not None:
        assert_has_chinese(durability)


@pytest.mark.parametrize(
    ("changed", "machine"),
    [
        ({"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}, MACHINE),
        ({"innodb_flush_log_at_trx_commit": "2", "innodb_doublewrite": "OFF"}, MACHINE),
        ({"log_bin": "OFF", "innodb_buffer_pool_size": str(15 * GIB)}, MACHINE),
        ({"max_binlog_size": str(128 * MIB), "innodb_buffer_pool_size": str(128 * MIB)}, MACHINE),
        ({"innodb_buffer_pool_size": str(128 * MIB)}, Machine()),
        ({"innodb_redo_log_capacity": str(MIB), "innodb_log_buffer_size": str(MIB)}, MACHINE),
        ({"innodb_io_capacity": "200", "innodb_flush_neighbors": "1"}, MACHINE),
        ({"innodb_flush_method": "fsync", "general_log": "ON"}, MACHINE),
        ({"slow_query_log": "ON", "long_query_time": "0.000000"}, MACHINE),
        ({"performance_schema": "ON", "query_cache_size": "1", "query_cache_type": "ON"}, MACHINE),
        ({"max_connections": "5000", "thread_handling": "one-thread-per-connection"}, MACHINE),
        ({"table_open_cache": "400", "table_definition_cache": "100"}, MACHINE),
        ({"sort_buffer_size": str(64 * MIB), "version": "5.7.44"}, MACHINE),
        ({"join_buffer_size": str(64 * MIB), "sort_buffer_size": str(64 * MIB)}, MACHINE),
        ({"innodb_deadlock_detect": "OFF", "innodb_lock_wait_timeout": "50"}, MACHINE),
    ],
)
def test_what_the_review_says_has_chinese(changed: dict[str, str], machine: Machine) -> None:
    found = review(GOOD_MYSQL | changed, machine)
    assert len(found) >= 1
    for advice in found:
        assert_has_chinese(advice.why)


def about(found: list[Advice], variable: str) -> str:
    (advice,) = (one for one in found if one.variable == variable)
    return CHINESE(advice.why)


def test_parts_of_a_reason_are_joined_as_chinese_joins_them() -> None:
    changed = {"innodb_doublewrite": "OFF", "innodb_buffer_pool_size": str(GIB)}
    found = review(GOOD_MYSQL | changed, MACHINE)
    assert about(found, "innodb_doublewrite") == "断电时写到一半的页会损坏；关闭它写入量减半"
    memory = about(found, "innodb_buffer_pool_size")
    assert memory == "机器内存为 16 GiB；放不下的数据要从磁盘读取"


SHARED = {SHARED_HOST: "yes"}
OWN_CPU = {"process_cpu_user": 0.6, "process_cpu_sys": 0.4}
CEILINGS: list[tuple[Resource, Limits, dict[str, Any]]] = [
    ("server CPU", Limits(), {"host": a_host(cores=4, cpu_idle=0.5)}),
    ("server CPU", Limits(), {"host": a_host(cores=4, cpu_idle=0.5, facts=SHARED)}),
    ("server CPU", Limits(), {"host": a_host(cores=4, cpu_idle=0.25, **OWN_CPU)}),
    ("server CPU", Limits(), {"host": a_host(cores=4, cpu_idle=0.2, **OWN_CPU, facts=SHARED)}),
    ("server CPU", Limits(cores=1.5), {"host": a_host(cores=4, cpu_idle=0.5, **OWN_CPU)}),
    ("hottest core", Limits(), {"host": a_host(cores=4, cpu_idle=0.5, busiest_core=0.9)}),
    (
        "flushes",
        Limits(syncs_per_s=1000),
        {"server": a_server(log_syncs_per_s=100.0, binlog_syncs_per_s=90.0)},
    ),
    ("flushes", Limits(flushes_per_s=1200), {"host": a_host(disk_flushes_per_s=400.0)}),
    ("disk writes", Limits(disk_write_iops=1234), {"host": a_host(disk_write_iops=200.0)}),
    ("disk reads", Limits(disk_read_iops=1234), {"host": a_host(disk_read_iops=200.0)}),
    (
        "disk write bandwidth",
        Limits(disk_write_bytes_per_s=3e8),
        {"host": a_host(disk_write_bytes_per_s=5e6)},
    ),
    (
        "network from the server",
        Limits(line_bytes_per_s=125e6),
        {"host": a_host(nic="eth0", net_bytes_out_per_s=4e6)},
    ),
    ("row locks", Limits(), {"writes": 1000, "server": a_server(row_lock_waits_per_s=50.0)}),
    ("generator", Limits(), {"generator": CALIBRATED}),
    (
        "generator",
        Limits(),
        {"generator": CALIBRATED.model_copy(update={"ceiling_qps": None})},
    ),
    ("concurrency", Limits(answer_s=0.01), {"users": 64}),
]


@pytest.mark.parametrize(("resource", "limits", "step"), CEILINGS)
def test_what_a_ceiling_is_computed_from_has_chinese(
    resource: Resource, limits: Limits, step: dict[str, Any]
) -> None:
    found = of(resource, limits, **{"tps": 100.0, **step})
    assert found.how is not None and figures(found.how)
    assert_has_chinese(found.how)


@pytest.mark.parametrize(
    "step",
    [
        a_step(),
        a_step(tps=100.0, host=a_host(), server=a_server(), rate=Rate(rate=100)),
        a_step(tps=100.0, host=a_host(cores=4, cpu_idle=0.5, busiest_core=0.5), users=64),
        a_step(tps=100.0, writes=1000, server=a_server(row_lock_waits_per_s=0.5)),
        a_step(tps=100.0, host=a_host(disk_write_iops=0.001, disk_read_iops=0.0)),
    ],
)
@pytest.mark.parametrize("limits", [Limits(), Limits(disk_write_iops=1000, disk_read_iops=1000)])
def test_why_there_is_no_ceiling_has_chinese(step: Any, limits: Limits) -> None:
    (found,) = ceilings([step], limits)
    reasons = [one.why_not for one in found.ceilings if one.why_not is not None]
    assert reasons
    for why_not in reasons:
        assert_has_chinese(why_not)


@pytest.mark.parametrize(
    "points",
    [
        [(1, 100.0)],
        [(1, 0.0), *SDM91[1:]],
        [(2**at, rate) for at, rate in enumerate((100, 900, 150, 1000, 120, 800, 90))],
        [(n, 100.0 * n) for n in USERS],
        [(n, 1000.0) for n in USERS],
    ],
)
def test_why_the_law_says_nothing_has_chinese(points: list[tuple[float, float]]) -> None:
    found = fit(points)
    assert isinstance(found, Refused)
    assert_has_chinese(found.reason)


def test_an_open_loop_is_refused_in_chinese() -> None:
    steps = [a_step(users=8, rate=Rate(rate=rate), tps=rate) for rate in (1, 2)]
    found = of_ladder(levels(steps))
    assert isinstance(found, Refused)
    assert CHINESE(found.reason) == "开环：到达率是给定的，不是测得的"


@pytest.mark.parametrize("points", [RAYTRACER, [(n, law(n, 100, 0.01, 0.0001)) for n in USERS]])
def test_why_there_is_no_peak_has_chinese(points: list[tuple[float, float]]) -> None:
    found = fit(points)
    assert isinstance(found, Usl) and found.no_peak is not None
    assert_has_chinese(found.no_peak)
