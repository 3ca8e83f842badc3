"""Knowledge about MySQL and MariaDB as a module that fits `known_settings.KnownSettings`."""

from __future__ import annotations

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
    "renamed",
    "rules",
    "shown_though_missing",
    "versions",
    "written_there",
]

fragment_head = ("[mysqld]",)
own_places = ("datadir", "basedir", "hostname")

_NO_SUSPECTS = frozenset(
    {
        "binlog_cache_size", "character_set_server", "collation_server", "innodb_buffer_pool_size",
        "innodb_log_buffer_size", "innodb_log_file_size", "innodb_log_files_in_group",
        "innodb_redo_log_capacity", "max_connections", "max_heap_table_size",
        "max_prepared_stmt_count", "sort_buffer_size", "sql_mode", "table_definition_cache",
        "table_open_cache", "thread_cache_size", "tls_version", "tmp_table_size",
    }
)  # fmt: skip


def is_suspect(name: str) -> bool:
    """Whether a setting that was changed may be why one server is slow."""
    known = name in _NO_SUSPECTS or name in places
    return renamed.get(name, name) in meanings and not known
