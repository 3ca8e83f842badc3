"""Throwaway servers of MySQL and MariaDB, as an implementation of `ServerPrograms`."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from loadstone.model.message import say
from loadstone.sandbox.account import Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql.accounts import check_methods, make_accounts, methods
from loadstone.sandbox.mysql.binaries import (
    cached,
    cached_releases,
    elsewhere,
    fits,
    has_version,
    how_to_get,
    how_to_get_in_a_root,
    in_a_root,
    is_name,
    labels,
    libraries,
    makers,
    names,
    options_beside,
    options_in,
    private_libraries,
    read_version,
    releases,
    servers,
    version_options,
)
from loadstone.sandbox.mysql.clients import (
    client_command,
    client_file,
    clients_of,
    login_words,
    write_client_file,
)
from loadstone.sandbox.mysql.first_start import end_first_start, prepare_first_start
from loadstone.sandbox.mysql.initialise import initialise
from loadstone.sandbox.mysql.keeping import (
    before_keeping,
    clear_locks,
    is_warmed_up,
    reaches_files,
    without_identity,
)
from loadstone.sandbox.mysql.log import check_settings, error_of, hint_of, is_port_taken
from loadstone.sandbox.mysql.looking import answers, look_inside
from loadstone.sandbox.mysql.options import (
    check_connections,
    command_line,
    datadir_option,
    durable,
    files_of,
    keys_of,
    plugin_options,
    settings_again,
    settings_of,
)
from loadstone.sandbox.mysql.replication import connect_replica
from loadstone.sandbox.place import Place
from loadstone.sandbox.spec import SandboxSpec

__all__ = [
    "answers",
    "before_keeping",
    "cached",
    "cached_releases",
    "certificate_setting",
    "check",
    "clean_end",
    "clear_locks",
    "client_command",
    "client_file",
    "clients_of",
    "command_line",
    "connect_replica",
    "copy_primary",
    "datadir_option",
    "durable",
    "elsewhere",
    "end_first_start",
    "error_of",
    "files_of",
    "fits",
    "has_version",
    "hint_of",
    "how_to_get",
    "how_to_get_in_a_root",
    "in_a_root",
    "initialise",
    "is_listening",
    "is_name",
    "is_port_taken",
    "is_warmed_up",
    "keys_of",
    "labels",
    "libraries",
    "login_words",
    "look_inside",
    "make_accounts",
    "makers",
    "methods",
    "names",
    "options_beside",
    "options_in",
    "poolers",
    "prepare_first_start",
    "prepare_pooler",
    "private_libraries",
    "quick_end",
    "reaches_files",
    "read_version",
    "refuses_root",
    "releases",
    "servers",
    "settings_again",
    "settings_of",
    "socket_file",
    "version_options",
    "without_identity",
    "worker_title",
    "write_client_file",
]

poolers: tuple[str, ...] = ()
refuses_root = False
certificate_setting = "ssl_cert"
worker_title = None
clean_end = signal.SIGTERM
quick_end = signal.SIGTERM
"""There is no faster one but SIGKILL."""
copy_primary = None
"""Both servers of a sandbox run the same first statements."""


def socket_file(port: int) -> str:
    """The path of the unix socket in the sandbox's folder."""
    return "server.sock"


def check(binary: ServerBinary, spec: SandboxSpec) -> None:
    """Refuse a spec that this server cannot meet, before anything is created.

    Raises:
        SandboxError: names the problem and the alternative.
    """
    if spec.pooler is not None or spec.pooler_settings:
        raise _no_pooler(binary.flavour)
    check_methods(binary, spec.auth)
    check_connections(spec)
    check_settings(binary, spec.settings, plugin_options(spec, binary))


def prepare_pooler(
    name: str,
    server: Place,
    place: Place,
    accounts: Sequence[Account],
    settings: Mapping[str, str],
) -> tuple[str, ...]:
    """Refuse, as `check` does."""
    raise _no_pooler(name)


def is_listening(place: Place, command: Sequence[str]) -> bool:
    """Refuse, as `check` does."""
    raise _no_pooler(command[0])


def _no_pooler(server: str) -> SandboxError:
    return SandboxError(
        say("a throwaway {server} server has no pooler", server=server),
        say("--pooler is for --server postgresql"),
    )
