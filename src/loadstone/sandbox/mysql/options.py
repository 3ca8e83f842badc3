"""The server's command line: durable, on a real disk, reachable only from this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.certificates import Certificates, KeyKind
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql.accounts import auth_options, plugins_of
from loadstone.sandbox.mysql.binaries import command_of, is_mariadb, mariadb_plugins
from loadstone.sandbox.mysql.initialise import run_as_root
from loadstone.sandbox.open_files import reachable_files
from loadstone.sandbox.place import LOOPBACK, Place
from loadstone.sandbox.spec import SandboxSpec

DEFAULT_CONNECTIONS = 4500
# Not all of a container's billion: MySQL allocates memory for each file that it may open.
_WANTED_FILES = 65_536
# Both servers keep at least this many descriptors for themselves and their table cache, and lower
# max_connections by the number that is missing.
_FILES_FOR_ITSELF = 810

# 8.0.16 is the first that MySQL built with OpenSSL 1.1.1.
_HAS_CURVES = (8, 0, 16)

DURABLE = {
    "log_bin": "binlog",
    "sync_binlog": "1",
    "innodb_flush_log_at_trx_commit": "1",
}


durable = ("sync_binlog", "innodb_flush_log_at_trx_commit")
"""The settings that determine the cost of a commit."""


def settings_of(spec: SandboxSpec, binary: ServerBinary, role: str) -> dict[str, str]:
    """The server's variables for this spec; requested settings come last and win."""
    settings = {
        **DURABLE,
        "max_connections": str(spec.max_connections or DEFAULT_CONNECTIONS),
        "max_prepared_stmt_count": "1048576",
        "local_infile": "ON",
        "server_id": "1" if role == "primary" else "2",
    }
    if spec.semi_sync:
        settings |= semi_sync_settings(binary, role)
    if role == "replica":
        settings |= {"relay_log": "relay", "relay_log_recovery": "ON", "read_only": "ON"}
    return settings | spec.settings


def settings_again(settings: Mapping[str, str]) -> dict[str, str] | None:
    """The settings for another server with these values; `None`: it waited for a replica."""
    # The variable shows that there is a binary log; the option takes its file name.
    again = {name: value for name, value in settings.items() if name != "log_bin"}
    if any(name.startswith("rpl_semi_sync") and value == "ON" for name, value in again.items()):
        return None
    return again


def semi_sync_settings(binary: ServerBinary, role: str) -> dict[str, str]:
    """The settings that turn on semi-synchronous replication, in the server's own names."""
    return {f"rpl_semi_sync_{_end(binary, role)}_enabled": "ON"}


def _end(binary: ServerBinary, role: str) -> str:
    old, new = ("master", "source") if role == "primary" else ("slave", "replica")
    return old if is_mariadb(binary) or binary.release < (8, 0, 26) else new


def command_line(
    binary: ServerBinary, place: Place, spec: SandboxSpec, role: str
) -> tuple[str, ...]:
    """The whole command line, without the file of first statements."""
    settings = settings_of(spec, binary, role)
    options = [
        datadir_option(place.datadir),
        f"--tmpdir={place.temporary}",
        f"--socket={place.socket}",
        f"--pid-file={place.folder / 'server.pid'}",
        f"--log-error={place.error_log}",
        f"--bind-address={place.address}",
        f"--port={place.port}",
        # A namespace reaches no name server, and each login would wait for one.
        *(() if place.address == LOOPBACK else ("--skip-name-resolve",)),
        *run_as_root(),
        *plugin_options(spec, binary, role),
        *(_tls_options(Certificates(place.folder / "tls")) if spec.tls else ()),
        *auth_options(binary, spec.auth),
        *(("--mysqlx=OFF",) if not is_mariadb(binary) and binary.release >= (8, 0, 11) else ()),
    ]
    # Options are written with dashes; `loose_name` and `--loose-name` are the same to the server.
    options += [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    return (*command_of(binary), *options)


def keys_of(binary: ServerBinary) -> KeyKind:
    """Elliptic curves, but for MySQL's releases that came with TLS libraries without them."""
    return "rsa" if not is_mariadb(binary) and binary.release < _HAS_CURVES else "ec"


def datadir_option(datadir: Path) -> str:
    """The option on a command line that identifies a server by its data folder."""
    return f"--datadir={datadir}"


def files_of(spec: SandboxSpec) -> int:
    """The limit on open files to request for the server; the machine may allow less."""
    # Five for each connection, as MySQL itself requests.
    return max(_WANTED_FILES, 5 * (spec.max_connections or 0))


def check_connections(spec: SandboxSpec) -> None:
    """Refuse more connections than descriptors allow, before the server silently lowers them.

    Raises:
        SandboxError: says how many are possible, and what to raise.
    """
    if spec.max_connections is None:
        return
    most = reachable_files(files_of(spec))
    needed = spec.max_connections + _FILES_FOR_ITSELF
    if needed > most:
        raise SandboxError(
            f"max_connections {spec.max_connections} needs {needed} open files, and this machine"
            f" allows {most}",
            f"ulimit -Hn {needed} (as root), or at most {most - _FILES_FOR_ITSELF} connections",
        )


def plugin_options(spec: SandboxSpec, binary: ServerBinary, role: str = "primary") -> list[str]:
    """The plugin folder, and the plugins that semi-synchronous replication needs."""
    if not is_mariadb(binary):
        return [f"--plugin-load-add=semisync_{_end(binary, role)}.so"] if spec.semi_sync else []
    plugins = mariadb_plugins(binary.release)
    if plugins is None or not plugins_of(spec.auth):
        return []
    return [f"--plugin-dir={plugins}"]


def _tls_options(files: Certificates) -> tuple[str, ...]:
    return (
        f"--ssl-ca={files.ca}",
        f"--ssl-cert={files.cert('server')}",
        f"--ssl-key={files.key('server')}",
    )
