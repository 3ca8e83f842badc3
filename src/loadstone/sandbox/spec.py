"""The request for a sandbox."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, PositiveInt, field_validator

from loadstone.model.frozen import Frozen
from loadstone.model.hints import write
from loadstone.model.message import say
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.network import Namespace

UNKNOWN_TO_SERVER = "unknown to this server"
"""Stands for the value of a `loose_` variable that the server left out."""


class SandboxSpec(Frozen):
    """The requested throwaway server; by default any that is installed, MariaDB first."""

    server: str | None = None
    """`mariadb`, `mysql`, one of them with a version (`mysql-5.7`), or the path of a program."""
    root: Path | None = None
    """The folder of another system, which provides the program, its libc and its libraries."""
    name: str | None = None
    settings: dict[str, str] = {}
    """Server variables, by name; they win over the sandbox's own choices."""
    auth: tuple[str, ...] = ()
    """Authentication methods, each of which gets a user."""
    password: str | None = None
    """The password of the user `loadstone`; `None` makes a random one, the empty text means
    none."""
    database: str = Field(default="sbtest", pattern=r"[A-Za-z0-9_]{1,64}")
    replica: bool = False
    semi_sync: bool = False
    """Whether commits wait for the replica."""
    pooler: str | None = None
    """The connection pooler in front of the server; `None`: none."""
    pooler_settings: dict[str, str] = {}
    max_connections: PositiveInt | None = None
    """Refused if the limit on open files does not allow it; by default as much as it allows."""
    tls: bool = True
    owned: bool = True
    """Whether the sandbox ends with this process. If not, it stays until `stop`."""
    namespace: Namespace | None = None
    """The server's network namespace; `None`: this machine's own network."""
    data: Path | None = None
    """A data folder that such a server left; it starts on a copy. `None`: on a new one."""
    timeout_s: float = Field(default=60, gt=0)

    @field_validator("settings")
    @classmethod
    def _names_are_variables(cls, settings: dict[str, str]) -> dict[str, str]:
        return {_variable(name): value for name, value in settings.items()}


def parse_setting(
    text: str, option: str = "--set", example: str = "sync_binlog=0"
) -> tuple[str, str]:
    """Split `name=value`, as `--set` and similar options take it.

    Raises:
        SandboxError: there is no name or no `=`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SandboxError(
            say("{option} {value} is not name=value", option=option, value=repr(text)),
            write(f"{option} {example}"),
        )
    return _variable(name.strip()), value.strip()


def _variable(name: str) -> str:
    # The server treats dashes and underscores alike; people copy a leading -- from my.cnf.
    return name.removeprefix("--").replace("-", "_")
