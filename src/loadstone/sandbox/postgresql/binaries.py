"""Identifies PostgreSQL's server programs, and those that belong to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.binary import ServerBinary

servers = ("postgresql",)
makers = ("PostgreSQL",)
labels = {"postgresql": "PostgreSQL"}
names = ("postgres",)
elsewhere = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/lib/postgresql*/bin",
    "/usr/libexec/postgresql*",
    "/usr/local/pgsql/bin",
)
in_a_root: tuple[str, ...] = ()
"""None: initdb, which makes the data folder, starts the server with this system's own loader."""

cached = ("postgres/usr/lib/postgresql/*/bin",)
private_libraries: tuple[str, ...] = ()
version_options = ("--version",)
libraries = {"libpq.so.5": "libpq5"}
releases = ("postgresql-15", "postgresql-17", "postgresql-18")
cached_releases = tuple(
    f"{name}/usr/lib/postgresql/{name.partition('-')[2]}/bin" for name in releases
)
how_to_get_in_a_root = say(
    "PostgreSQL is not started in another system's folder; name a version, as postgresql-17"
)

_NAME = re.compile(r"postgresql-(\d+(?:\.\d+){0,2})")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+(?:\.\d+){0,2})")


def read_version(answer: str) -> tuple[str, str] | None:
    """Flavour and version from the output of `--version`; `None`: it is no such server."""
    found = _VERSION.search(answer)
    return None if found is None else ("postgresql", found[1])


def how_to_get(wanted: str | None) -> str:
    """How to get a server if there is none: this one, or any."""
    if wanted in releases:
        return say("tools/get-server {release} (touches no system folder)", release=wanted)
    if has_version(wanted):
        return say(
            "tools/get-server fetches {known}; --server also takes a program's path",
            known=", ".join(releases),
        )
    return say("tools/get-postgres (touches no system folder), or the system's own package")


def is_name(wanted: str | None) -> bool:
    """Whether it is the server's name, with or without a version."""
    return wanted in servers or has_version(wanted)


def has_version(wanted: str | None) -> bool:
    """Whether it is the name with a version, such as postgresql-17 or postgresql-15.18."""
    return wanted is not None and _NAME.fullmatch(wanted) is not None


def fits(binary: ServerBinary, wanted: str | None) -> bool:
    """Whether the server is the requested one; without a version any is."""
    named = _NAME.fullmatch(wanted or "")
    if named is None:
        return True
    version = tuple(map(int, named[1].split(".")))
    return binary.release[: len(version)] == version


def options_beside(program: Path) -> tuple[str, ...]:
    """None: the server finds its files from its own place."""
    return ()


def options_in(root: Path) -> tuple[str, ...]:
    """None, as above."""
    return ()


def sibling(command: Sequence[str], name: str) -> Path:
    """Another program of the same installation, from the server's command line."""
    return Path(command[0]).with_name(name)
