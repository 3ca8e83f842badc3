"""What is asked of a sandbox."""

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
    """A throwaway server as asked for; by default whatever server is there, MariaDB first."""

    server: str | None = None
    """`mariadb`, `mysql`, or the path of a server program."""
    root: Path | None = None
    """The folder of another system, from which the program, its libc and its libraries are."""
    name: str | None = None
    settings: dict[str, str] = {}
    """Server variables, by name; they win over the sandbox's own choices."""
    auth: tuple[str, ...] = ()
    """Authentication methods that get a user each."""
    password: str | None = None
    """Of the user `loadstone`; `None` makes a random one, the empty text means none."""
    database: str = Field(default="sbtest", pattern=r"[A-Za-z0-9_]{1,64}")
    replica: bool = False
    semi_sync: bool = False
    max_connections: PositiveInt | None = None
    """Refused when the limit on open files does not allow it; by default as much as it allows."""
    tls: bool = True
    owned: bool = True
    """Whether it ends with this process. If not, it stays until `stop`."""
    namespace: Namespace | None = None
    """Where its network is; `None`: this machine's own."""
    timeout_s: float = Field(default=60, gt=0)

    @field_validator("settings")
    @classmethod
    def _names_are_variables(cls, settings: dict[str, str]) -> dict[str, str]:
        return {_variable(name): value for name, value in settings.items()}


def parse_setting(text: str) -> tuple[str, str]:
    """Take `name=value` apart, as `--set` has it.

    Raises:
        SandboxError: there is no name or no `=`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SandboxError(
            say("--set {value} is not name=value", value=repr(text)), write("--set sync_binlog=0")
        )
    return _variable(name.strip()), value.strip()


def _variable(name: str) -> str:
    # The server takes dashes and underscores alike; a leading -- is what people copy from my.cnf.
    return name.removeprefix("--").replace("-", "_")
