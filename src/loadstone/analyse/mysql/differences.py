"""Rules for the differences between the settings of MySQL and MariaDB servers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from loadstone.model.message import Message, say

PART_OF: Mapping[str, str] = {
    "sync_binlog": "log_bin",
    "binlog_checksum": "log_bin",
    "rpl_semi_sync_source_timeout": "rpl_semi_sync_source_enabled",
    "rpl_semi_sync_source_wait_for_replica_count": "rpl_semi_sync_source_enabled",
    "rpl_semi_sync_source_wait_point": "rpl_semi_sync_source_enabled",
}
"""Settings that have no effect unless a feature is on, with the feature's switch."""

SHOWN_THOUGH_MISSING = {
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "performance_schema",
    "rpl_semi_sync_source_enabled",
    "thread_handling",
    "thread_pool_enabled",
}
"""Settings whose absence says how the server works. Other missing settings belong to features that
only one vendor has; they are only counted."""


def leaders(name: str) -> tuple[str, ...]:
    """The settings from which a server derives this one by default."""
    if name.startswith("performance_schema_"):
        return ("performance_schema", "max_connections", "table_open_cache")
    return _LEADERS.get(name, ())


_LEADERS: Mapping[str, tuple[str, ...]] = {
    "back_log": ("max_connections",),
    "host_cache_size": ("max_connections",),
    "innodb_buffer_pool_chunk_size": ("innodb_buffer_pool_size",),
    "innodb_buffer_pool_instances": ("innodb_buffer_pool_size",),
    "innodb_io_capacity_max": ("innodb_io_capacity",),
    "innodb_log_file_size": ("innodb_redo_log_capacity",),
    "innodb_log_file_buffering": ("innodb_flush_log_at_trx_commit",),
    "innodb_log_files_in_group": ("innodb_redo_log_capacity",),
    "innodb_open_files": ("table_open_cache",),
    "innodb_page_cleaners": ("innodb_buffer_pool_instances",),
    "max_relay_log_size": ("max_binlog_size",),
    "open_files_limit": ("max_connections", "table_open_cache"),
    "table_definition_cache": ("table_open_cache",),
    "table_open_cache_instances": ("table_open_cache",),
    "thread_cache_size": ("max_connections",),
}

_IDENTITY = re.compile(
    r"(?:server_(?:uuid|uid|id)|hostname|report_\w+|(?:extra_|admin_|mysqlx_)?port"
    r"|(?:mysqlx_)?socket|(?:admin_|mysqlx_)?(?:bind_)?address|pid_file|init_file|timestamp"
    r"|(?:last_)?insert_id|identity|rand_seed\d|pseudo_\w+|error_count|warning_count"
    r"|gtid_(?:binlog_pos|binlog_state|current_pos|slave_pos|executed|purged|owned)|last_gtid"
    r"|in_transaction|external_user|proxy_user|wsrep_\w*(?:address|node|position|provider)\w*"
    r"|innodb_version|(?:general|slow_query)_log_file|log_error|(?:log_bin|relay_log)_(?:basename|index)"
    r"|(?:admin_)?ssl_(?:ca|cert|key|crl)\w*|version_server_\w+|core_file)"
)
"""Variables that only identify a server or reflect its own past."""

VERSIONS: Mapping[str, Message] = {
    "version": say("server version"),
    "version_comment": say("server's maker"),
    "version_compile_machine": say("server built for machine"),
    "version_compile_os": say("server built for system"),
    "version_source_revision": say("server's source revision"),
    "version_ssl_library": say("server's TLS library"),
    "version_malloc_library": say("server's malloc library"),
    "version_compile_zlib": say("server's zlib"),
}
"""Variables that identify the build of a server, with their labels."""

LISTS = {"optimizer_switch", "sql_mode"}
"""Settings with long lists as values, of which only the differences are shown."""


def is_identity(name: str) -> bool:
    """Whether the variable only identifies a server or reflects its own past."""
    return _IDENTITY.fullmatch(name) is not None
