"""Knowledge about PostgreSQL as a module that fits `known_settings.KnownSettings`.

Source: https://www.postgresql.org/docs/current/runtime-config.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from loadstone.analyse.postgresql.settings import MEANINGS as meanings
from loadstone.analyse.postgresql.settings import RULES as rules
from loadstone.analyse.postgresql.settings import losing, not_judged
from loadstone.model.managed import Managed
from loadstone.model.message import Message, say

__all__ = [
    "deciding", "fragment_head", "is_identity", "is_own", "lasting", "leaders", "lists", "losing",
    "is_suspect", "matters", "meanings", "not_judged", "of_provider", "own_places", "part_of",
    "places", "read_alone", "renamed", "rules", "shown_though_missing", "versions", "written_there",
]  # fmt: skip

renamed: Mapping[str, str] = {}
places = ("data_directory",)
_NO_SUSPECTS = ("max_connections", "max_wal_size", "shared_buffers", "work_mem")
read_alone: tuple[str, ...] = ()
_SAYS_NOTHING = re.compile(
    r"^(log|ssl|lc|krb|unix_socket|archive|recovery|restore|primary|hot_standby|wal_(receiver|retr))"
    r"|_(timeout|file|directory|dir|libraries|connections|(?<!^io_)workers|senders|slots|style|collation)$"
    r"|^(datestyle|timezone|application_name|bonjour|cluster_name|default_text_search_config"
    r"|dynamic_shared_memory_type|listen_addresses|min_wal_size|password_encryption|port"
    r"|search_path|server_encoding|client_encoding|stats_temp_directory|timezone_abbreviations"
    r"|default_transaction_read_only|role|session_authorization|transaction_\w+)$"
)
"""Names of settings that say where something is, who may do what, or how something is shown."""
fragment_head: tuple[str, ...] = ()
of_provider: Mapping[Managed, Collection[str]] = {
    service: ("fsync", "full_page_writes") for service in ("rds", "cloudsql", "azure")
}
written_there: Mapping[Managed, Mapping[str, str]] = {}
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


def leaders(name: str) -> tuple[str, ...]:
    """The settings from which a server derives this one by default."""
    return ("shared_buffers",) if name == "wal_buffers" else ()


def is_identity(name: str) -> bool:
    """Whether the setting only identifies a server or reflects its own past."""
    return name in _IDENTITY


def is_suspect(name: str) -> bool:
    """Whether a setting that was changed may be why one server is slow."""
    known = is_identity(name) or name in _NO_SUSPECTS or name in places
    return not known and (name in matters or _SAYS_NOTHING.search(name.lower()) is None)


def is_own(name: str) -> bool:
    """Whether the setting differs between any two servers and affects no figure."""
    return is_identity(name) or name.startswith("log_")
