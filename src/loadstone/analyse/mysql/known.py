"""Knowledge about MySQL and MariaDB as a module that fits `known_settings.KnownSettings`."""

from __future__ import annotations

import re

from loadstone.analyse.mysql.differences import LISTS as lists
from loadstone.analyse.mysql.differences import PART_OF as part_of
from loadstone.analyse.mysql.differences import SHOWN_THOUGH_MISSING as shown_though_missing
from loadstone.analyse.mysql.differences import VERSIONS as versions
from loadstone.analyse.mysql.differences import is_identity, leaders
from loadstone.analyse.mysql.durability import DECIDING as deciding
from loadstone.analyse.mysql.durability import LASTING as lasting
from loadstone.analyse.mysql.durability import losing
from loadstone.analyse.mysql.managed import OF_PROVIDER as of_provider
from loadstone.analyse.mysql.managed import WRITTEN_THERE as written_there
from loadstone.analyse.mysql.managed import not_judged
from loadstone.analyse.mysql.setting_effects import MEANINGS as meanings
from loadstone.analyse.mysql.setting_effects import PLACES as places
from loadstone.analyse.mysql.setting_effects import RENAMED as renamed
from loadstone.analyse.mysql.settings import RULES as rules
from loadstone.analyse.mysql.shown import MATTERS as matters
from loadstone.analyse.mysql.shown import is_own

__all__ = [
    "deciding",
    "fragment_head",
    "is_identity",
    "is_own",
    "is_suspect",
    "lasting",
    "leaders",
    "lists",
    "losing",
    "matters",
    "meanings",
    "not_judged",
    "of_provider",
    "own_places",
    "part_of",
    "places",
    "read_alone",
    "renamed",
    "rules",
    "shown_though_missing",
    "versions",
    "written_there",
]

read_alone = ("innodb_io_capacity", "innodb_io_capacity_max", "innodb_max_dirty_pages_pct")
_SAYS_NOTHING = re.compile(
    # Where something is, what it is called, and in which words it speaks.
    r"dir$|path$|_file$|filename|basename|_index$|(^|_)port$|socket|hostname|^version|^bind_"
    r"|address|character_set|collation|time_zone|lc_|server_(id|uuid)|^report_|^relay|^plugin"
    r"|^default_(storage|tmp)|^lower_case|^explicit_defaults|^sql_(?!buffer)|^old|compat"
    # Who may do what, and when it is given up.
    r"|ssl|tls|auth|passw|secur|user$|privilege|role|read_?only|offline|local_infile|skip_"
    r"|require|keyring|timeout$|_connections$|max_allowed|connect_errors|expire|_retention"
    # Copies of the server, and the server's notes about itself.
    r"|gtid|replica|slave|master|semi_sync|group_replication|wsrep|^mysqlx|error_log|log_error"
    r"|log_warnings|log_timestamps|^performance_schema_|^pid|innodb_buffer_pool_(dump|load)"
)
"""Names of settings that say where something is, who may do what, or how something is shown."""

fragment_head = ("[mysqld]",)
own_places = ("datadir", "basedir", "hostname")

_NO_SUSPECTS = frozenset(
    {
        "binlog_cache_size", "character_set_server", "collation_server", "innodb_buffer_pool_size",
        "innodb_log_buffer_size", "innodb_log_file_size", "innodb_log_files_in_group",
        "innodb_redo_log_capacity", "max_connections", "max_heap_table_size",
        "max_prepared_stmt_count", "sort_buffer_size", "sql_mode", "table_definition_cache",
        "table_open_cache", "thread_cache_size", "tls_version", "tmp_table_size",
        "innodb_flush_log_at_trx_commit", "sync_binlog",
    }
)  # fmt: skip


def is_suspect(name: str) -> bool:
    """Whether a setting that was changed may be why one server is slow."""
    if name in _NO_SUSPECTS or name in places or is_identity(name) or is_own(name):
        return False
    return renamed.get(name, name) in meanings or _SAYS_NOTHING.search(name) is None
