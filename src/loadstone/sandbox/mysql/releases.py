"""The releases of MySQL and MariaDB that `tools/get-server` fetches, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A release that can be fetched."""

    folder: str
    """The folder with its program, in a cache."""


RELEASES: Mapping[str, Release] = {
    "mysql-5.7": Release("mysql-5.7/bin"),
    "mysql-8.0.15": Release("mysql-8.0.15/bin"),
    "mysql-8.0": Release("mysql-8.0/bin"),
    "mysql-9": Release("mysql/usr/sbin"),
    "mariadb-10.5": Release("debian-bullseye/usr/sbin"),
    "mariadb-10.11": Release("debian-bookworm/usr/sbin"),
    "mariadb-11.8": Release("debian-trixie/usr/sbin"),
}
"""Releases by name, oldest first."""

_NAME = re.compile(r"(mariadb|mysql)-(\d+(?:\.\d+){0,2})")


def release_named(name: str) -> tuple[str, tuple[int, ...]] | None:
    """Flavour and (part of) the version in a name such as mysql-5.7; `None`: it has no version."""
    found = _NAME.fullmatch(name)
    return found and (found[1], tuple(map(int, found[2].split("."))))
