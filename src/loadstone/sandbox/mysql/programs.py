"""Throwaway servers of MySQL and MariaDB, as an implementation of `ServerPrograms`."""

from __future__ import annotations

from loadstone.sandbox.binary import ServerBinary
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
from loadstone.sandbox.mysql.clients import client_command, clients_of
from loadstone.sandbox.mysql.first_start import (
    client_file,
    end_first_start,
    prepare_first_start,
    users_of,
    values_of,
    write_client_file,
)
from loadstone.sandbox.mysql.initialise import initialise
from loadstone.sandbox.mysql.keeping import (
    before_keeping,
    is_warmed_up,
    reaches_files,
    without_identity,
)
from loadstone.sandbox.mysql.log import check_settings, error_of, hint_of, is_port_taken
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
from loadstone.sandbox.spec import SandboxSpec

__all__ = [
    "before_keeping",
    "cached",
    "cached_releases",
    "check",
    "client_command",
    "client_file",
    "clients_of",
    "command_line",
    "connect_replica",
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
    "is_name",
    "is_port_taken",
    "is_warmed_up",
    "keys_of",
    "labels",
    "libraries",
    "make_accounts",
    "makers",
    "methods",
    "names",
    "options_beside",
    "options_in",
    "prepare_first_start",
    "private_libraries",
    "reaches_files",
    "read_version",
    "releases",
    "servers",
    "settings_again",
    "settings_of",
    "users_of",
    "values_of",
    "version_options",
    "without_identity",
    "write_client_file",
]


def check(binary: ServerBinary, spec: SandboxSpec) -> None:
    """Refuse a spec that this server cannot meet, before anything is created.

    Raises:
        SandboxError: names the problem and the alternative.
    """
    check_methods(binary, spec.auth)
    check_connections(spec)
    check_settings(binary, spec.settings, plugin_options(spec, binary))
