"""Managed services: what their servers are known by, and what a review says there.

The variables are written by us as the services' documents have them; none of these servers runs
here, and nothing was captured from one.
"""

from __future__ import annotations

from datetime import date

import pytest

from loadstone.analyse.advice import Advice, Machine
from loadstone.analyse.durability import VariantSettings, warnings
from loadstone.analyse.known_settings import KNOWN
from loadstone.analyse.settings_review import fragment, not_judged, review
from loadstone.model.managed import SERVICES, Managed, managed_by
from loadstone.mysql.facts import facts_of

GIB = 1024**3
ELSEWHERE = Machine(today=date(2026, 1, 1))

_INNODB = {
    "version_comment": "Source distribution",
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "log_bin": "ON",
    "innodb_doublewrite": "ON",
    "innodb_flush_method": "O_DIRECT",
    "max_binlog_size": str(128 * 1024**2),
    "innodb_log_buffer_size": str(8 * 1024**2),
    "max_connections": "2000",
    "thread_handling": "one-thread-per-connection",
    "table_open_cache": "4000",
}

DOCUMENTED: dict[Managed, dict[str, str]] = {
    "rds": {
        **_INNODB,
        "version": "8.0.35",
        "basedir": "/rdsdbbin/mysql-8.0.35.R2/",
        "datadir": "/rdsdbdata/db/",
        "innodb_doublewrite": "OFF",
    },
    "aurora": {
        **_INNODB,
        "version": "8.0.32",
        "aurora_version": "3.05.2",
        "basedir": "/rdsdbbin/oscar-8.0.mysql_aurora.3.05.2.0.1/",
        "log_bin": "OFF",
        "sync_binlog": "0",
        "innodb_doublewrite": "OFF",
        "innodb_flush_method": "fsync",
        "innodb_io_capacity": "200",
    },
    "apsaradb": {
        **_INNODB,
        "version": "8.0.28",
        "rds_release_date": "20230930",
        "sync_binlog": "1000",
        "thread_pool_enabled": "OFF",
        "thread_pool_size": "4",
        "thread_pool_oversubscribe": "32",
    },
    "polardb": {
        **_INNODB,
        "version": "8.0.13",
        "polardb_version": "8.0.1.1.30",
        "polar_log_bin": "OFF",
        "log_bin": "OFF",
        "innodb_doublewrite": "OFF",
        "loose_thread_pool_enabled": "ON",
        "loose_thread_pool_size": "16",
        "loose_thread_pool_oversubscribe": "10",
    },
    "cloudsql": {
        **_INNODB,
        "version": "8.0.31-google",
        "version_comment": "(Google)",
        "cloudsql_iam_authentication": "ON",
        "innodb_flush_log_at_trx_commit": "2",
    },
    "azure": {**_INNODB, "version": "8.0.37", "aad_auth_only": "OFF", "innodb_doublewrite": "ON"},
}
"""As documented, by service."""

OF_NONE = [
    {"version": "8.0.36", "basedir": "/usr/"},
    {"version": "10.11.14-MariaDB", "basedir": "/usr", "datadir": "/var/lib/mysql/"},
    # AliSQL, which anybody may run, and PolarDB-X's nodes.
    {"version": "5.6.32", "rds_threads_running_high_watermark": "50000"},
    {"version": "8.0.32-X-Cluster-8.4.20", "polardbx_engine_version": "8.4.20"},
    # PolarDB for PostgreSQL, which anybody may run.
    {"server_version": "17.11", "polardb_version": "17.11.1.0", "polar_deploy_mode": "OPEN_SOURCE"},
    {},
]


def about(service: Managed, name: str, /, **changed: str) -> Advice:
    found = review(DOCUMENTED[service] | changed, ELSEWHERE)
    return next(one for one in found if one.variable == name)


@pytest.mark.parametrize("service", DOCUMENTED)
def test_a_service_is_known_by_what_its_server_says(service: Managed) -> None:
    assert managed_by(DOCUMENTED[service]) == service
    assert facts_of(DOCUMENTED[service], {}).service == service


def test_each_service_has_its_documented_variables() -> None:
    assert DOCUMENTED.keys() == SERVICES.keys()


@pytest.mark.parametrize(
    ("variables", "service"),
    [
        ({"server_version": "16.3", "rds.extensions": "hll"}, "rds"),
        ({"server_version": "16.3", "data_directory": "/rdsdbdata/db"}, "rds"),
        ({"server_version": "16.3", "cloudsql.iam_authentication": "on"}, "cloudsql"),
        ({"server_version": "16.3", "azure.extensions": ""}, "azure"),
    ],
)
def test_postgresql_of_a_service_is_known_by_its_settings(
    variables: dict[str, str], service: Managed
) -> None:
    assert managed_by(variables) == service


@pytest.mark.parametrize("variables", OF_NONE)
def test_a_server_that_anybody_may_run_is_of_no_service(variables: dict[str, str]) -> None:
    assert managed_by(variables) is None


@pytest.mark.parametrize("service", DOCUMENTED)
def test_no_lines_are_made_for_a_file_that_nobody_can_write(service: Managed) -> None:
    found = review(DOCUMENTED[service], ELSEWHERE)
    assert fragment(found) == ""
    assert all(one.how for one in found if one.wanted is not None)
    at_home = {"version": "8.0.36"} | _INNODB
    assert "max_binlog_size = 1G" in fragment(review(at_home, ELSEWHERE))


def test_advice_says_where_a_setting_is_set_and_whether_it_takes_a_reboot() -> None:
    told = about("rds", "max_binlog_size")
    assert told.how == "set it in the DB parameter group: max_binlog_size = 1G (dynamic)"
    assert told.said == f"{told.why}; {told.how}"
    told = about("rds", "innodb_log_buffer_size")
    assert str(told.how).endswith("innodb_log_buffer_size = 64M (needs a reboot)")
    told = about("cloudsql", "innodb_flush_log_at_trx_commit")
    assert "the database flags" in str(told.how)
    assert "the server parameters" in str(about("azure", "max_binlog_size").how)


@pytest.mark.parametrize("service", ["rds", "apsaradb", "cloudsql", "azure"])
def test_what_only_the_provider_sets_is_said(service: Managed) -> None:
    assert about(service, "log_bin", log_bin="OFF").how == "only the provider can set this"


def test_names_are_those_of_the_console() -> None:
    told = about("polardb", "log_bin")
    assert told.how == (
        "set it in the console's parameters: loose_polar_log_bin = ON (needs a reboot)"
    )
    told = about("apsaradb", "thread_pool_enabled")
    assert "loose_thread_pool_enabled = ON (dynamic)" in str(told.how)


def test_what_aurora_s_storage_decides_is_not_judged() -> None:
    variables = DOCUMENTED["aurora"]
    found = {one.variable for one in review(variables, ELSEWHERE)}
    left_out = {one.partition(" = ")[0] for one in not_judged(variables, ELSEWHERE)}
    assert left_out == {
        "log_bin", "innodb_doublewrite", "innodb_flush_method", "innodb_io_capacity",
        "innodb_log_buffer_size",
    }  # fmt: skip
    assert not found & left_out
    assert KNOWN["mysql"].losing(variables) == []
    at_home = {name: one for name, one in variables.items() if name not in ("aurora_version",)}
    at_home["basedir"] = "/usr/"
    assert "innodb_doublewrite=OFF" in KNOWN["mysql"].losing(at_home)
    assert not_judged(at_home, ELSEWHERE) == []


def test_whole_pages_of_amazon_s_disks_need_no_doublewrite() -> None:
    assert not_judged(DOCUMENTED["rds"], ELSEWHERE) == ["innodb_doublewrite = OFF"]
    assert KNOWN["mysql"].losing(DOCUMENTED["rds"]) == []
    assert KNOWN["mysql"].losing(DOCUMENTED["rds"] | {"sync_binlog": "0"}) == ["sync_binlog=0"]


def test_pages_of_postgresql_on_amazon_are_not_judged() -> None:
    variables = {"server_version": "16.3", "rds.extensions": "", "full_page_writes": "off"}
    assert not_judged(variables, ELSEWHERE, "postgresql") == ["full_page_writes = off"]
    assert KNOWN["postgresql"].losing(variables) == []
    assert KNOWN["postgresql"].losing(variables | {"fsync": "off"}) == ["fsync=off"]


def test_durability_is_compared_only_where_the_setting_says_something() -> None:
    both = {
        "on aurora": VariantSettings("mysql", DOCUMENTED["aurora"]),
        "on rds": VariantSettings("mysql", DOCUMENTED["rds"] | {"innodb_doublewrite": "ON"}),
    }
    assert not [said for said in warnings(both) if "doublewrite" in said]


def test_a_pool_that_is_off_is_told_with_what_a_study_found() -> None:
    told = about("apsaradb", "thread_pool_enabled")
    assert (told.value, told.wanted, told.cause) == ("OFF", "ON", "no-thread-pool")
    assert "8 cores" in told.why and "96" in told.why
    few = review(DOCUMENTED["apsaradb"] | {"max_connections": "100"}, ELSEWHERE)
    assert not [one for one in few if one.variable.startswith("thread_")]


def test_a_pool_s_width_is_set_against_cores_and_connections() -> None:
    name = "thread_pool_oversubscribe"
    on = {"thread_pool_enabled": "ON"}
    told = about("apsaradb", name, **on)
    assert told.weight == "note" and "128 statements" in told.why
    assert "4 groups of 32 threads, 128 together" in told.why
    held = about("apsaradb", name, **on, max_connections="100")
    assert "max_connections is 100: the pool limits nothing" in held.why
    narrow = DOCUMENTED["apsaradb"] | on | {"thread_pool_size": "2", name: "3"}
    (told,) = [one for one in review(narrow, Machine(cores=16)) if one.variable == name]
    assert (told.weight, told.wanted) == ("slow", "8")
    assert not [one for one in review(narrow, Machine(cores=6)) if one.weight == "slow"
                and one.variable == name]  # fmt: skip


def test_names_with_the_console_s_prefix_are_the_pool_s() -> None:
    assert "160 statements" in about("polardb", "thread_pool_oversubscribe").why
    assert facts_of(DOCUMENTED["polardb"], {}).thread_pool == "thread_pool_enabled"
    found = review(DOCUMENTED["polardb"], ELSEWHERE)
    assert not [one for one in found if one.variable in ("thread_handling", "thread_pool_enabled")]
