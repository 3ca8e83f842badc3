"""Knowledge about PostgreSQL as a module that fits `known_settings.KnownSettings`.

It knows which settings decide whether a commit lasts, and which to show. It reviews none.

Source: https://www.postgresql.org/docs/current/runtime-config.html
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.advice import Rule
from loadstone.analyse.meaning import Meaning
from loadstone.model.message import Message, say

meanings: Mapping[str, Meaning] = {
    "fsync": Meaning(
        "unfair",
        say("off saves each wait for the disk"),
        say("off may leave a database that cannot be read after a crash of the host"),
    ),
    "synchronous_commit": Meaning(
        "unfair",
        say("off and local save waits for the log or the standbys at each commit"),
        say("off may lose the latest commits in a crash; local may lose them in a failover"),
    ),
    "full_page_writes": Meaning(
        "unfair",
        say("off writes less to the log after each checkpoint"),
        say("off may leave torn pages after a crash of the host"),
    ),
}
renamed: Mapping[str, str] = {}
places = ("data_directory",)
rules: tuple[Rule, ...] = ()
fragment_head: tuple[str, ...] = ()
deciding = ("fsync", "synchronous_commit", "full_page_writes")
lasting: Mapping[str, str] = {"fsync": "1", "synchronous_commit": "1"}
versions: Mapping[str, Message] = {"server_version": say("server version")}
own_places = ("data_directory", "config_file", "hba_file", "ident_file", "external_pid_file")
part_of: Mapping[str, str] = {}
shown_though_missing: tuple[str, ...] = ()
lists: tuple[str, ...] = ()
matters = (
    *deciding, "wal_sync_method", "wal_level", "synchronous_standby_names", "commit_delay",
    "shared_buffers", "huge_pages", "max_wal_size", "checkpoint_timeout",
    "checkpoint_completion_target", "wal_buffers", "wal_compression", "work_mem",
    "effective_io_concurrency", "max_connections", "default_transaction_isolation", "autovacuum",
    "jit", "ssl",
)  # fmt: skip

_SAFE_COMMITS = ("on", "remote_apply", "remote_write")
_IDENTITY = frozenset(
    {
        "system_identifier",
        "port",
        "cluster_name",
        "listen_addresses",
        "unix_socket_directories",
        "in_hot_standby",
        "primary_conninfo",
        *own_places,
    }
)


def losing(variables: Mapping[str, str]) -> list[str]:
    """Those of the current settings with which a crash may lose commits."""
    good = {"fsync": ("on",), "full_page_writes": ("on",), "synchronous_commit": _SAFE_COMMITS}
    return [
        f"{name}={variables[name]}"
        for name, values in good.items()
        if name in variables and variables[name] not in values
    ]


def leaders(name: str) -> tuple[str, ...]:
    """The settings from which a server derives this one by default."""
    return ("shared_buffers",) if name == "wal_buffers" else ()


def is_identity(name: str) -> bool:
    """Whether the setting only identifies a server or reflects its own past."""
    return name in _IDENTITY


def is_own(name: str) -> bool:
    """Whether the setting differs between any two servers and affects no figure."""
    return is_identity(name) or name.startswith("log_")
