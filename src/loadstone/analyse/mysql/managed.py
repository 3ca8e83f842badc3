"""What managed services of MySQL and MariaDB do to settings: who sets them, and which mean less.

Sources: Amazon RDS User Guide ("RDS Optimized Writes": `innodb_doublewrite` is off where the disk
writes whole pages; binary logs come with automated backups), Aurora User Guide ("MySQL parameters
that don't apply to Aurora MySQL"; its storage has the only log, and takes no pages), Cloud SQL
("Configure database flags"; binary logs come with point-in-time recovery), Azure Database
("Server parameters"), PolarDB ("Thread pool": names in its console begin with `loose_`, and the
pool is switched without a restart; "Enable binary logging"; its nodes share one distributed
storage), ApsaraDB RDS ("Thread pool").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from loadstone.model.managed import Managed, managed_by

_POOL = ("thread_pool_enabled", "thread_pool_size", "thread_pool_oversubscribe")
_LOOSE = {name: f"loose_{name} = {{wanted}}" for name in _POOL}

STORED: Mapping[Managed, Collection[str]] = {
    "rds": ("innodb_doublewrite",),
    "polardb": ("innodb_doublewrite", "innodb_flush_method"),
    "aurora": (
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "log_bin",
        "innodb_doublewrite",
        "innodb_flush_method",
        "innodb_flush_neighbors",
        "innodb_io_capacity",
        "innodb_log_file_size",
        "innodb_redo_log_capacity",
        "innodb_log_buffer_size",
    ),
}
"""Settings of InnoDB's files that are not judged, as the service's storage is not made of them."""

OF_PROVIDER: Mapping[Managed, Collection[str]] = {
    service: ("log_bin", "innodb_flush_method")
    for service in ("rds", "apsaradb", "cloudsql", "azure")
}
"""Settings that only the provider sets; the binary log comes with backups."""

WRITTEN_THERE: Mapping[Managed, Mapping[str, str]] = {
    "apsaradb": _LOOSE,
    "polardb": {**_LOOSE, "log_bin": "loose_polar_log_bin = ON"},
}
"""What to set in the service's console where a setting has another name there."""


def not_judged(variables: Mapping[str, str]) -> Collection[str]:
    """The settings of this server that say nothing, as the service's storage decides instead."""
    service = managed_by(variables)
    return STORED.get(service, ()) if service else ()
