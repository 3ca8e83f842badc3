"""The interface of a family's throwaway servers. New families are entered here."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.target import Endpoint
from loadstone.sandbox.account import Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.certificates import KeyKind
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql import programs as mysql
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql import programs as postgresql
from loadstone.sandbox.spec import SandboxSpec
from loadstone.servers.connection import Connection


class ServerPrograms(Protocol):
    """How one family's servers are found, started and used."""

    # Finding a server.

    @property
    def servers(self) -> Sequence[str]:
        """The names of its servers for users, the preferred one first."""

    @property
    def makers(self) -> Sequence[str]:
        """The names of those servers' makers in a sentence."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The makers' names by flavour."""

    @property
    def names(self) -> Sequence[str]:
        """The file names of the programs."""

    @property
    def elsewhere(self) -> Sequence[str]:
        """Folders with such programs in addition to those of PATH, or patterns of them (`*`)."""

    @property
    def in_a_root(self) -> Sequence[str]:
        """Folders with such programs in another system's root."""

    @property
    def cached(self) -> Sequence[str]:
        """Folders of a cache with downloaded servers, or patterns of them."""

    @property
    def cached_releases(self) -> Sequence[str]:
        """Folders of a cache with servers that are used only when their version is named."""

    @property
    def releases(self) -> Sequence[str]:
        """The names with a version that can be fetched."""

    @property
    def libraries(self) -> Mapping[str, str]:
        """Packages of the libraries that a program may lack, by library."""

    def is_name(self, wanted: str | None) -> bool:
        """Whether it is a name of the family's servers, with or without a version."""

    def has_version(self, wanted: str | None) -> bool:
        """Whether it is such a name with a version."""

    @property
    def private_libraries(self) -> Sequence[str]:
        """Folders of another system with libraries that only such servers use."""

    @property
    def version_options(self) -> Sequence[str]:
        """The options with which a program reports its version."""

    def read_version(self, answer: str) -> tuple[str, str] | None:
        """Flavour and version from that output; `None`: the program is not of the family."""

    def options_in(self, root: Path) -> tuple[str, ...]:
        """Options of a server in a folder that holds another system."""

    def options_beside(self, program: Path) -> tuple[str, ...]:
        """Options of a server that was unpacked without a system around it."""

    def fits(self, binary: ServerBinary, wanted: str | None) -> bool:
        """Whether the server is the requested one of `servers`, or by default the preferred one."""

    def how_to_get(self, wanted: str | None) -> str:
        """How to get a server if there is none: this one, or any."""

    @property
    def how_to_get_in_a_root(self) -> str:
        """How to get one if another system has none."""

    # Starting it.

    @property
    def refuses_root(self) -> bool:
        """Whether its servers do not run as root, so that root must give them another user."""

    def socket_file(self, port: int) -> str:
        """The path of the unix socket in the sandbox's folder."""

    def check(self, binary: ServerBinary, spec: SandboxSpec) -> None:
        """Refuse a spec that this server cannot meet; raises `SandboxError`."""

    @property
    def methods(self) -> Mapping[str, str]:
        """Authentication methods by all their names, with the name that the servers use."""

    def make_accounts(self, binary: ServerBinary, spec: SandboxSpec) -> tuple[Account, ...]:
        """The main user first, then one for each method."""

    def initialise(self, binary: ServerBinary, datadir: Path) -> None:
        """Create a data folder that has no users but root; raises `SandboxError`."""

    def settings_of(self, spec: SandboxSpec, binary: ServerBinary, role: str) -> dict[str, str]:
        """The server's variables for this spec."""

    def settings_again(self, settings: Mapping[str, str]) -> dict[str, str] | None:
        """The settings for another server with these values; `None`: that takes more."""

    def command_line(
        self, binary: ServerBinary, place: Place, spec: SandboxSpec, role: str
    ) -> tuple[str, ...]:
        """The whole command line of each start."""

    def keys_of(self, binary: ServerBinary) -> KeyKind:
        """The kind of keys that its TLS library reads."""

    def datadir_option(self, datadir: Path) -> str:
        """The option on a command line that identifies a server by its data folder."""

    def files_of(self, spec: SandboxSpec) -> int:
        """The limit on open files to request for the server."""

    def prepare_first_start(
        self, binary: ServerBinary, place: Place, spec: SandboxSpec, accounts: tuple[Account, ...]
    ) -> tuple[str, ...]:
        """Prepare users and schema; returns the options that only this start has."""

    def end_first_start(self, place: Place) -> None:
        """Remove the files of the first start."""

    def answers(self, place: Place, command: Sequence[str], login: Endpoint) -> bool:
        """Whether the server, which was started with that command, takes statements.

        Raises `SandboxError` if it never will.
        """

    def look_inside(
        self, place: Place, command: Sequence[str], login: Endpoint, asked: Mapping[str, str]
    ) -> tuple[set[str], dict[str, str]]:
        """All users that the server has, and its values of the variables that were set."""

    @property
    def copy_primary(self) -> Callable[[Place, ServerBinary, Path], None] | None:
        """Makes a replica's data folder from its running primary; raises `SandboxError`.

        `None`: a replica starts with data of its own, as its primary did.
        """

    def connect_replica(
        self, primary: Endpoint, replica: Endpoint, binary: ServerBinary, primary_port: int
    ) -> None:
        """Make one server follow the other, and wait until it does; raises `SandboxError`."""

    # A connection pooler in front of it.

    @property
    def poolers(self) -> Sequence[str]:
        """The names of poolers, and of their programs."""

    def prepare_pooler(
        self,
        name: str,
        server: Place,
        place: Place,
        accounts: Sequence[Account],
        settings: Mapping[str, str],
    ) -> tuple[str, ...]:
        """Write a pooler's files in its place; returns its command line.

        Raises `SandboxError` if there is none of that name.
        """

    def is_listening(self, place: Place, command: Sequence[str]) -> bool:
        """Whether a pooler accepts connections; `command` is that of its server."""

    # Ending it.

    @property
    def clean_end(self) -> signal.Signals:
        """The signal for a clean shutdown, which does not wait for clients."""

    @property
    def quick_end(self) -> signal.Signals:
        """The signal for the fastest end, if the data is not used any more."""

    @property
    def worker_title(self) -> str | None:
        """The start of the names of its other processes; `None` if it has only one process."""

    def clear_locks(self, datadir: Path) -> None:
        """Remove what a crashed server has left that would keep it from starting again."""

    # Keeping its data for others.

    def reaches_files(self, setting: str) -> bool:
        """Whether a setting may change what the files of the same rows contain."""

    def before_keeping(self, connection: Connection, binary: ServerBinary) -> None:
        """Prepare for the shutdown whose data folder is kept."""

    def is_warmed_up(self, connection: Connection) -> bool:
        """Whether a server has in memory what it loads there at its start."""

    def without_identity(self, datadir: Path) -> None:
        """Remove what identifies the server from a data folder."""

    # Reading its messages.

    def error_of(self, log: str) -> str | None:
        """The first error of its log, without its time and numbers."""

    def is_port_taken(self, log: str) -> bool:
        """Whether the server ended because its port was already in use."""

    def hint_of(self, reason: str) -> str | None:
        """What to do about an error; `None` if there is no advice."""

    # Using it.

    @property
    def durable(self) -> Sequence[str]:
        """The settings that determine the cost of a commit."""

    @property
    def certificate_setting(self) -> str:
        """The variable with the server's certificate."""

    @property
    def client_file(self) -> str:
        """The name of a file with the login for other clients, in the sandbox's folder."""

    def write_client_file(self, place: Place, main: Account) -> None:
        """Write that file."""

    def login_words(self, place: Place, database: str) -> str:
        """What a person types after a client's name to log in with that file."""

    def clients_of(self, flavour: str, command: Sequence[str]) -> Sequence[str]:
        """The names or paths of clients for the server with this command line, best first."""

    def client_command(
        self, client: str, place: Place, database: str, statement: str | None
    ) -> list[str]:
        """The command that opens a client's prompt, or runs one statement."""


PROGRAMS: dict[str, ServerPrograms] = {MYSQL: mysql, POSTGRESQL: postgresql}
"""The server programs by family name."""

SERVERS = tuple(name for family in PROGRAMS.values() for name in family.servers)
"""The server names for users; a family's preferred one comes first."""


def is_server_name(text: str) -> bool:
    """Whether it names a server, as `mysql` and `mysql-5.7` do, rather than a program's path."""
    return any(family.is_name(text) for family in PROGRAMS.values())


def meant_by(wanted: str | None) -> tuple[str, ...]:
    """The families that a server name may belong to; for a path all, for `None` the usual one."""
    if wanted is None:
        return (MYSQL,)
    named = tuple(name for name, family in PROGRAMS.items() if family.is_name(wanted))
    return named or tuple(PROGRAMS)


def makers_of(family: str) -> str:
    """The names of a family's servers for a sentence: `MariaDB, MySQL`."""
    return ", ".join(PROGRAMS[family].makers)


def families_of_program(text: str) -> tuple[str, ...]:
    """The families that a server's name, or the path of its program, belongs to."""
    program = Path(text).name
    return tuple(
        name
        for name, family in PROGRAMS.items()
        if family.is_name(text) or ("/" in text and program in family.names)
    )


def canonical_methods(methods: tuple[str, ...]) -> tuple[str, ...]:
    """The methods in the servers' own names, each once.

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
