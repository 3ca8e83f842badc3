"""Servers and loaders by the names of their files."""

from __future__ import annotations

import pytest

from loadstone.observe.programs import is_loader, is_server


@pytest.mark.parametrize(
    "name",
    [
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
        "ld-musl-x86_64.so.1",
        "ld-2.31.so",  # what the link of Debian 11 leads to
        "ld-2.17.so",
    ],
)
def test_a_systems_loader_is_known_whatever_its_age(name: str) -> None:
    assert is_loader(name)


@pytest.mark.parametrize("name", ["ld", "ld.bfd", "ldconfig", "ld-2.31.so.py", "mariadbd"])
def test_what_only_begins_alike_is_no_loader(name: str) -> None:
    assert not is_loader(name)


def test_programs_beside_a_server_are_none() -> None:
    assert is_server("mariadbd")
    assert not any(map(is_server, ("mysqld_safe", "mysqld_exporter", "mariadb")))
