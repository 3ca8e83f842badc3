"""The review of PostgreSQL's settings."""

from __future__ import annotations

import pytest

from loadstone.analyse.advice import Machine
from loadstone.analyse.postgresql.settings import GIB, size_of
from loadstone.analyse.settings_review import fragment, review
from loadstone.model.error_codes import POSTGRESQL

FINE = {
    "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "shared_buffers": "16GB",
    "max_wal_size": "16GB", "autovacuum": "on", "log_statement": "none", "debug_assertions": "off",
    "log_min_duration_statement": "-1", "random_page_cost": "1.1", "synchronous_standby_names": "",
}  # fmt: skip
MACHINE = Machine(memory_bytes=64 * GIB, cores=8, rotational=False)


def test_settings_for_a_benchmark_need_no_advice() -> None:
    assert review(FINE, MACHINE, POSTGRESQL) == []


@pytest.mark.parametrize(
    ("name", "value", "weight", "wanted"),
    [
        ("fsync", "off", "unfair", "on"),
        ("synchronous_commit", "off", "unfair", "on"),
        ("full_page_writes", "off", "unfair", "on"),
        ("debug_assertions", "on", "unfair", None),
        ("shared_buffers", "128MB", "slow", "16384MB"),
        ("shared_buffers", "60GB", "slow", "16384MB"),
        ("max_wal_size", "1GB", "slow", "16GB"),
        ("autovacuum", "off", "slow", "on"),
        ("log_statement", "all", "slow", "none"),
        ("log_min_duration_statement", "0", "slow", "-1"),
        ("random_page_cost", "4", "note", "1.1"),
        ("synchronous_standby_names", "b", "note", None),
    ],
)
def test_each_rule_finds_its_setting_and_no_other(
    name: str, value: str, weight: str, wanted: str | None
) -> None:
    (found,) = review({**FINE, name: value}, MACHINE, POSTGRESQL)
    assert (found.variable, found.value, found.weight, found.wanted) == (
        name, value, weight, wanted,
    )  # fmt: skip


def test_a_commit_on_the_server_s_own_disk_is_unfair_only_beside_standbys() -> None:
    local = {**FINE, "synchronous_commit": "local"}
    assert review(local, MACHINE, POSTGRESQL) == []
    found = review({**local, "synchronous_standby_names": "b"}, MACHINE, POSTGRESQL)
    assert ("synchronous_commit", "unfair") in [(one.variable, one.weight) for one in found]


def test_of_an_unknown_machine_only_the_default_is_too_little() -> None:
    assert review({**FINE, "shared_buffers": "1GB"}, Machine(), POSTGRESQL) == []
    (found,) = review({**FINE, "shared_buffers": "128MB"}, Machine(), POSTGRESQL)
    assert found.wanted is None


def test_the_advice_is_written_as_the_configuration_file_has_it() -> None:
    found = review({**FINE, "fsync": "off", "shared_buffers": "128MB"}, MACHINE, POSTGRESQL)
    assert fragment(found, POSTGRESQL) == (
        "fsync = on\nshared_buffers = 16384MB  # at the server's start\n"
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("8kB", 8192), ("128MB", 128 * 1024**2), ("2GB", 2 * GIB), ("on", None), (None, None)],
)
def test_a_size_is_read_with_its_unit(text: str | None, size: int | None) -> None:
    assert size_of(text) == size
