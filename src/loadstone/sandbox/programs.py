"""A family's throwaway servers: what they are, how they are set up. A new one is entered here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from loadstone.model.error_codes import MYSQL
from loadstone.model.target import Endpoint
from loadstone.sandbox.account import Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql import programs as mysql
from loadstone.sandbox.place import Place
from loadstone.sandbox.spec import SandboxSpec
from loadstone.servers.connection import Connection


class ServerPrograms(Protocol):
    """One family's."""

    # To find one.

    @property
    def servers(self) -> Sequence[str]:
        """What people call its servers, the preferred one first."""

    @property
    def makers(self) -> Sequence[str]:
        """What those are called in a sentence."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The same by flavour."""

    @property
    def names(self) -> Sequence[str]:
        """The file names of the programs."""

    @property
    def elsewhere(self) -> Sequence[str]:
        """Folders that they are in beside those of PATH."""

    @property
    def in_a_root(self) -> Sequence[str]:
        """Folders that they are in where another system is."""

    @property
    def cached(self) -> Sequence[str]:
        """Folders of a cache in which fetched ones are."""

    @property
    def private_libraries(self) -> Sequence[str]:
        """Folders of another system with libraries that nothing else has."""

    @property
    def version_options(self) -> Sequence[str]:
        """What a program is asked with for its version."""

    def read_version(self, answer: str) -> tuple[str, str] | None:
        """Flavour and version, by what it says of itself; `None`: it is none of the family's."""

    def options_in(self, root: Path) -> tuple[str, ...]:
        """Options of one in a folder that holds another system."""

    def fits(self, binary: ServerBinary, wanted: str | None) -> bool:
        """Whether it is what is wanted, one of `servers`, or what is preferred."""

    @property
    def how_to_get(self) -> str:
        """What to do where there is none."""

    @property
    def how_to_get_in_a_root(self) -> str:
        """What to do where another system has none."""

    # To start it.

    def check(self, binary: ServerBinary, spec: SandboxSpec) -> None:
        """Refuse what this server cannot be or do; raises `SandboxError`."""

    @property
    def methods(self) -> Mapping[str, str]:
        """Authentication methods by all their names, and what its servers call each."""

    def make_accounts(self, binary: ServerBinary, spec: SandboxSpec) -> tuple[Account, ...]:
        """The main user first, then one for each method."""

    def initialise(self, binary: ServerBinary, datadir: Path) -> None:
        """Make a data folder that is empty; raises `SandboxError`."""

    def settings_of(self, spec: SandboxSpec, binary: ServerBinary, role: str) -> dict[str, str]:
        """The variables that make the server what was asked for."""

    def settings_again(self, settings: Mapping[str, str]) -> dict[str, str] | None:
        """What gives a server with such values again; `None`: that takes more than settings."""

    def command_line(
        self, binary: ServerBinary, place: Place, spec: SandboxSpec, role: str
    ) -> tuple[str, ...]:
        """The whole command line of each start."""

    def datadir_option(self, datadir: Path) -> str:
        """What such a line has by which a server's data folder is known."""

    def files_of(self, spec: SandboxSpec) -> int:
        """The limit on open files that the server should get."""

    def prepare_first_start(
        self, binary: ServerBinary, place: Place, spec: SandboxSpec, accounts: tuple[Account, ...]
    ) -> tuple[str, ...]:
        """Let the users and the schema be made; gives the options that only this start has."""

    def end_first_start(self, place: Place) -> None:
        """Take away what only that was there for."""

    def users_of(self, connection: Connection) -> set[str]:
        """All users that the server has."""

    def values_of(self, connection: Connection, asked: dict[str, str]) -> dict[str, str]:
        """The values that the server has for what was set."""

    def connect_replica(
        self, primary: Endpoint, replica: Endpoint, binary: ServerBinary, primary_port: int
    ) -> None:
        """Let the one follow the other, and wait until it does; raises `SandboxError`."""

    # What it says.

    def error_of(self, log: str) -> str | None:
        """The first error of its log, without its time and numbers."""

    def is_port_taken(self, log: str) -> bool:
        """Whether it ended because somebody else listens there."""

    def hint_of(self, reason: str) -> str | None:
        """What to do about an error."""

    # What people do with it.

    @property
    def durable(self) -> Sequence[str]:
        """The settings that decide what a commit costs."""

    @property
    def client_file(self) -> str:
        """The name of an option file for other clients, in the sandbox's folder."""

    def write_client_file(self, place: Place, main: Account) -> None:
        """Write that."""

    def clients_of(self, flavour: str) -> Sequence[str]:
        """The names of such clients, the one that fits best first."""

    def client_command(
        self, client: str, file: Path, database: str, statement: str | None
    ) -> list[str]:
        """What opens a prompt of it, or carries one statement out."""


PROGRAMS: dict[str, ServerPrograms] = {MYSQL: mysql}
"""By the name that a target has for the family."""

SERVERS = tuple(name for family in PROGRAMS.values() for name in family.servers)
"""What people call servers; a family's preferred one comes first."""


def meant_by(wanted: str | None) -> tuple[str, ...]:
    """The families that a server of this name may be of; of a path, or none, all."""
    named = tuple(name for name, family in PROGRAMS.items() if wanted in family.servers)
    return named or tuple(PROGRAMS)


def canonical_methods(methods: tuple[str, ...]) -> tuple[str, ...]:
    """The methods by their servers' names, each once.

    Raises:
        SandboxError: there is no such method.
    """
    known = {other: name for family in PROGRAMS.values() for other, name in family.methods.items()}
    chosen: list[str] = []
    for method in methods:
        name = known.get(method)
        if name is None:
            names = ", ".join(dict.fromkeys(known.values()))
            raise SandboxError(f"unknown authentication method {method!r}", f"--auth takes {names}")
        if name not in chosen:
            chosen.append(name)
    return tuple(chosen)
