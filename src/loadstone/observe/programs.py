"""Which programs are database servers, by name."""

from __future__ import annotations

# Whole names: mysqld_safe and mysqld_exporter begin alike and are something else.
_SERVERS = {"mariadbd", "mariadbd-debug", "mysqld", "mysqld-debug"}
_LOADERS = ("ld-linux", "ld-musl")


def is_server(name: str) -> bool:
    """Whether a program of this file name is a server of MySQL's family."""
    return name in _SERVERS


def is_loader(name: str) -> bool:
    """Whether this is the system's loader, which then runs the program that it is told."""
    return name.startswith(_LOADERS)
