"""The review of a server's settings."""

from __future__ import annotations

from datetime import date

import pytest

from loadstone.analyse.advice import Advice, Machine
from loadstone.analyse.mysql.settings import GIB, MIB
from loadstone.analyse.settings_review import fragment, review

GOOD_MYSQL = {
    "version": "8.4.6",
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "log_bin": "ON",
    "innodb_doublewrite": "ON",
    "max_binlog_size": str(GIB),
    "innodb_buffer_pool_size": str(8 * GIB),
    "innodb_redo_log_capacity": str(4 * GIB),
    "innodb_log_buffer_size": str(64 * MIB),
    "innodb_io_capacity": "10000",
    "innodb_flush_neighbors": "0",
    "innodb_flush_method": "O_DIRECT",
    "general_log": "OFF",
    "slow_query_log": "OFF",
    "performance_schema": "OFF",
    "max_connections": "500",
    "table_open_cache": "4000",
    "table_definition_cache": "2000",
    "sort_buffer_size": "262144",
}
MACHINE = Machine(memory_bytes=16 * GIB, cores=8, rotational=False, today=date(2026, 11, 1))


def about(name: str, machine: Machine = MACHINE, /, **changed: str) -> list[Advice]:
    found = review(GOOD_MYSQL | changed, machine)
    return [advice for advice in found if advice.variable == name]


def test_good_settings_leave_nothing_to_say() -> None:
    assert review(GOOD_MYSQL, MACHINE) == []
    assert fragment([]) == ""


@pytest.mark.parametrize(
    ("name", "value", "weight"),
    [
        ("innodb_flush_log_at_trx_commit", "2", "unfair"),
        ("innodb_flush_log_at_trx_commit", "0", "unfair"),
        ("sync_binlog", "0", "unfair"),
        ("sync_binlog", "1000", "unfair"),
        ("innodb_doublewrite", "OFF", "unfair"),
        ("log_bin", "OFF", "unfair"),
        ("max_binlog_size", str(128 * MIB), "slow"),
        ("innodb_buffer_pool_size", str(128 * MIB), "slow"),
        ("innodb_buffer_pool_size", str(15 * GIB), "slow"),
        ("innodb_redo_log_capacity", str(100 * MIB), "slow"),
        ("innodb_log_buffer_size", str(8 * MIB), "note"),
        ("innodb_io_capacity", "200", "slow"),
        ("innodb_flush_neighbors", "1", "slow"),
        ("innodb_flush_method", "fsync", "slow"),
        ("general_log", "ON", "slow"),
        ("performance_schema", "ON", "note"),
        ("table_open_cache", "400", "slow"),
        ("table_definition_cache", "100", "note"),
        ("sort_buffer_size", str(32 * MIB), "slow"),
    ],
)
def test_what_is_found(name: str, value: str, weight: str) -> None:
    found = about(name, MACHINE, **{name: value})
    assert [advice.weight for advice in found] == [weight]
    assert found[0].why


def test_a_variable_that_the_server_does_not_have_is_no_finding() -> None:
    assert review({"version": "8.4.6"}, MACHINE) == []


def test_a_turning_disk_is_slow_by_itself() -> None:
    turning = Machine(memory_bytes=16 * GIB, rotational=True, today=date(2026, 11, 1))
    assert about("innodb_io_capacity", turning, innodb_io_capacity="200") == []
    assert about("innodb_flush_neighbors", turning, innodb_flush_neighbors="1") == []


def test_sync_binlog_without_a_binary_log_is_no_matter() -> None:
    assert about("sync_binlog", sync_binlog="0", log_bin="OFF") == []


def test_of_a_machine_that_is_not_known_sizes_are_not_judged() -> None:
    elsewhere = Machine(today=date(2026, 11, 1))
    assert about("innodb_buffer_pool_size", elsewhere, innodb_buffer_pool_size=str(GIB)) == []
    assert about("innodb_buffer_pool_size", elsewhere, innodb_buffer_pool_size=str(128 * MIB))


def test_the_sort_buffer_is_doubtful_only_where_the_version_takes_it_in_pieces() -> None:
    huge = {"sort_buffer_size": str(64 * MIB)}
    assert "pieces" in about("sort_buffer_size", MACHINE, **huge)[0].why
    assert "pieces" not in about("sort_buffer_size", MACHINE, version="5.7.44", **huge)[0].why
    assert (
        "pieces" not in about("sort_buffer_size", MACHINE, version="10.11.6-MariaDB", **huge)[0].why
    )


def test_doublewrite_has_more_values_than_on_and_off() -> None:
    for value in ("DETECT_AND_RECOVER", "DETECT_ONLY", "fast", "1"):
        assert about("innodb_doublewrite", innodb_doublewrite=value) == []


def test_odd_text_is_no_error() -> None:
    odd = {"slow_query_log": "ON", "long_query_time": "soon", "max_connections": "many"}
    assert review(GOOD_MYSQL | odd, MACHINE) == []


def test_mariadb_changes_its_redo_log_while_it_runs_since_10_9() -> None:
    small = {"innodb_log_file_size": str(96 * MIB)}
    old = review({"version": "10.6.12-MariaDB", **small}, MACHINE)
    new = review({"version": "10.11.6-MariaDB", **small}, MACHINE)
    redo = [
        next(one for one in found if one.variable == "innodb_log_file_size") for found in (old, new)
    ]
    assert [advice.restart for advice in redo] == [True, False]


def test_a_version_past_its_support_is_noted() -> None:
    assert about("version", version="5.7.44-log")
    assert not about("version", version="10.11.6-MariaDB")
    assert not about("version", version="99.1.0")


def test_the_fragment_is_ready_and_says_what_needs_a_restart() -> None:
    found = review(
        GOOD_MYSQL | {"sync_binlog": "0", "innodb_doublewrite": "OFF", "general_log": "ON"}, MACHINE
    )
    lines = fragment(found).splitlines()
    assert lines[0] == "[mysqld]"
    assert "sync_binlog = 1" in lines
    assert lines[-1] == "innodb_doublewrite = ON  # at the server's start"


def test_what_is_unfair_comes_first() -> None:
    found = review(GOOD_MYSQL | {"general_log": "ON", "sync_binlog": "0"}, MACHINE)
    assert [advice.weight for advice in found] == ["unfair", "slow"]
