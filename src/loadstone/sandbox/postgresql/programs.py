"""Throwaway servers of PostgreSQL, as an implementation of `ServerPrograms`."""

from __future__ import annotations

import signal

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.postgresql.accounts import check_methods, make_accounts, methods
from loadstone.sandbox.postgresql.binaries import (
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
from loadstone.sandbox.postgresql.clients import (
    client_command,
    client_file,
    clients_of,
    login_words,
    write_client_file,
)
from loadstone.sandbox.postgresql.initialise import (
    end_first_start,
    initialise,
    prepare_first_start,
)
from loadstone.sandbox.postgresql.keeping import (
    before_keeping,
    clear_locks,
    is_warmed_up,
    reaches_files,
    without_identity,
)
from loadstone.sandbox.postgresql.log import error_of, hint_of, is_port_taken
from loadstone.sandbox.postgresql.looking import answers, is_listening, look_inside
from loadstone.sandbox.postgresql.options import (
    check_database,
    check_settings,
    command_line,
    datadir_option,
    durable,
    files_of,
    keys_of,
    settings_again,
    settings_of,
)
from loadstone.sandbox.postgresql.pgbouncer import NAME, check_pooler, prepare_pooler
from loadstone.sandbox.postgresql.replication import connect_replica, copy_primary
from loadstone.sandbox.spec import SandboxSpec
from loadstone.sandbox.unprivileged import words_as_user

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

poolers = (NAME,)
refuses_root = True
certificate_setting = "ssl_cert_file"
worker_title = "postgres: "
clean_end = signal.SIGINT
"""A fast shutdown; SIGTERM would wait for all clients."""
quick_end = signal.SIGQUIT
"""An immediate shutdown, without a checkpoint."""


def socket_file(port: int) -> str:
    """The unix socket in the sandbox's folder; the server itself makes its name of the port."""
    return f"run/.s.PGSQL.{port}"


def check(binary: ServerBinary, spec: SandboxSpec) -> None:
    """Refuse a spec that this server cannot meet, before anything is created.

    Raises:
        SandboxError: names the problem and the alternative.
    """
    check_methods(spec.auth)
    check_database(spec.database)
    check_pooler(spec.pooler, spec.pooler_settings)
    words_as_user()
    check_settings(binary, spec.settings)
