"""What MySQL 5.7 has changed, next to the values that it was built with."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from loadstone.mysql.facts import facts_of
from loadstone.mysql.release_57 import changed_on_57, is_57


@pytest.mark.parametrize(
    ("version", "is_one"),
    [
        ("5.7.22-log", True),
        ("5.7.44-48 Percona Server", True),
        ("8.0.31", False),
        ("5.7.25-TiDB-v7.5.0", False),
        ("5.7.25-OceanBase-v4", False),
        ("5.7.9-vitess-12", False),
        ("10.11.14-MariaDB", False),
        ("", False),
    ],
)
def test_a_release_is_known_by_its_version_and_kind(version: str, *, is_one: bool) -> None:
    facts = facts_of({"version": version}, {}, greeting=version)
    assert is_57(version, facts.flavour) == is_one


def test_a_variable_with_another_value_is_named() -> None:
    same = {"innodb_sync_spin_loops": "30", "general_log": "OFF", "long_query_time": "10.000000"}
    assert changed_on_57(same) == ()
    other = {**same, "innodb_sync_spin_loops": "100000"}
    assert changed_on_57(other) == ("innodb_sync_spin_loops",)
    assert changed_on_57({"port": "3307"}) == ()


def test_flags_that_later_releases_have_are_not_named() -> None:
    flags = {"optimizer_switch": ",".join([*_flags(), "prefer_ordering_index=on"])}
    assert changed_on_57(flags) == ()
    flipped = {"optimizer_switch": flags["optimizer_switch"].replace("mrr=on", "mrr=off")}
    assert changed_on_57(flipped) == ("optimizer_switch",)


def _flags() -> list[str]:
    text = resources.files("loadstone.mysql").joinpath("defaults_5_7.json").read_text()
    flags: str = json.loads(text)["optimizer_switch"]
    return flags.split(",")
