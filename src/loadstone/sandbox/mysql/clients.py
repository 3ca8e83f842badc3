"""The usual clients of MySQL's and MariaDB's servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_CLIENTS = {"mariadb": ("mariadb", "mysql"), "mysql": ("mysql", "mariadb")}


def clients_of(flavour: str) -> Sequence[str]:
    """The names of the clients, best match first."""
    return _CLIENTS["mariadb" if flavour == "mariadb" else "mysql"]


def client_command(client: str, file: Path, database: str, statement: str | None) -> list[str]:
    """The command that opens a prompt, or runs one statement."""
    more = ["-e", statement] if statement is not None else []
    return [client, f"--defaults-file={file}", *more, database]
