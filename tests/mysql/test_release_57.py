"""What MySQL 5.7 has changed, next to the values that it was built with."""

from __future__ import annotations

import pytest

from loadstone.mysql.release_57 import changed_on_57, is_57


@pytest.mark.parametrize(
    ("version", "is_one"),
    [
        ("5.7.22-log", True),
        ("5.7.44-48", True),
        ("8.0.31", False),
        ("5.7.9-MariaDB", False),
        ("10.11.14-MariaDB", False),
        ("", False),
    ],
)
def test_a_release_is_known_by_its_version(version: str, *, is_one: bool) -> None:
    assert is_57(version) == is_one


def test_a_variable_with_another_value_is_named() -> None:
    same = {"innodb_sync_spin_loops": "30", "general_log": "OFF", "long_query_time": "10.000000"}
    assert changed_on_57(same) == ()
    other = {**same, "innodb_sync_spin_loops": "100000"}
    assert changed_on_57(other) == ("innodb_sync_spin_loops",)
    assert changed_on_57({"port": "3307"}) == ()
