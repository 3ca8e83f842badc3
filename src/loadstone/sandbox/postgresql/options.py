"""The server's command line: durable, on a real disk, reachable only from this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.certificates import Certificates, KeyKind
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql.log import error_of, hint_of
from loadstone.sandbox.postgresql.running import run_program
from loadstone.sandbox.spec import SandboxSpec

DEFAULT_CONNECTIONS = 4500

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
"""The server's own defaults."""

durable = ("fsync", "synchronous_commit", "full_page_writes")
"""The settings that determine the cost of a commit."""

_OF_THE_SANDBOX = frozenset(
    {
        "config_file",
        "data_directory",
        "hba_file",
        "listen_addresses",
        "logging_collector",
        "port",
        "unix_socket_directories",
    }
)
"""Parameters that say where the server is: with others it could not be found."""

_WAITED_FOR = "synchronous_standby_names"
"""The standbys that commits wait for; none by default."""

_FILES = 4096
"""More than each of its processes opens by default (`max_files_per_process`, 1000)."""

_LONGEST_NAME = 63

_ENGLISH = ("-c", "lc_messages=C")
"""First on each command line, so that its errors can be read."""


def settings_of(spec: SandboxSpec, binary: ServerBinary, role: str) -> dict[str, str]:
    """The server's parameters for this spec; requested settings come last and win."""
    connections = str(spec.max_connections or DEFAULT_CONNECTIONS)
    settings = {**DURABLE, "max_connections": connections}
    if spec.semi_sync and role == "primary":
        settings[_WAITED_FOR] = "*"
    return settings | spec.settings


def settings_again(settings: Mapping[str, str]) -> dict[str, str] | None:
    """The settings for another server with these values; `None`: it waited for a standby."""
    return None if settings.get(_WAITED_FOR) else dict(settings)


def command_line(
    binary: ServerBinary, place: Place, spec: SandboxSpec, role: str
) -> tuple[str, ...]:
    """The whole command line of each start."""
    settings = {
        "listen_addresses": place.address,
        "port": str(place.port),
        # A list in which a quoted name may contain a comma.
        "unix_socket_directories": _quoted(place.socket.parent),
        **(_tls_settings(Certificates(place.folder / "tls")) if spec.tls else {}),
        **_without_defaults(settings_of(spec, binary, role)),
    }
    return (
        *(*binary.launcher, str(binary.program), *_ENGLISH, datadir_option(place.datadir)),
        *_as_options(settings),
    )


def keys_of(binary: ServerBinary) -> KeyKind:
    """Elliptic curves, which all its releases of today read."""
    return "ec"


def datadir_option(datadir: Path) -> str:
    """The option on a command line that identifies a server by its data folder."""
    return f"-D{datadir}"


def files_of(spec: SandboxSpec) -> int:
    """The limit on open files to request for each of the server's processes."""
    return _FILES


def check_settings(binary: ServerBinary, settings: Mapping[str, str]) -> None:
    """Let the server check its parameters, without a data folder.

    Raises:
        SandboxError: quotes the server's error.
    """
    for name in settings:
        if name.lower() in _OF_THE_SANDBOX:  # the server does not care about case
            raise SandboxError(
                say("--set {name}: a sandbox chooses that itself", name=name),
                say("leave it out"),
            )
    if not settings:
        return
    with tempfile.TemporaryDirectory(prefix="loadstone-") as folder:
        Path(folder, "postgresql.conf").touch()
        # -C must come first: with it, the server may also be asked by root.
        asks = ("-C", "server_version", *_ENGLISH, datadir_option(Path(folder)))
        done = run_program([str(binary.program), *asks, *_as_options(settings)])
    if done.returncode != 0:
        reason = error_of(done.stderr) or say("it left no word in its error log")
        said = say("the server does not start: {reason}", reason=reason)
        raise SandboxError(said, hint_of(reason))


def check_database(database: str) -> None:
    """Refuse a name that the server would shorten.

    Raises:
        SandboxError: it is too long.
    """
    if len(database) > _LONGEST_NAME:
        raise SandboxError(
            say("{name} is too long for a database of PostgreSQL", name=database),
            say("write at most {number} characters", number=_LONGEST_NAME),
        )


def _without_defaults(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings without those that a server has anyway.

    What is on the command line, ALTER SYSTEM cannot change while the server runs.
    """
    return {name: value for name, value in settings.items() if DURABLE.get(name) != value}


def _as_options(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _tls_settings(files: Certificates) -> dict[str, str]:
    return {
        "ssl": "on",
        "ssl_ca_file": str(files.ca),
        "ssl_cert_file": str(files.cert("server")),
        "ssl_key_file": str(files.key("server")),
    }


def _quoted(folder: Path) -> str:
    return '"' + str(folder).replace('"', '""') + '"'
