"""Managed services of databases: which one a server belongs to, and where its settings are set.

None of these servers runs here. What they say is as their own documents have it, and as programs
quote it that tell them apart:

- Amazon RDS has its programs in /rdsdbbin and its data in /rdsdbdata (phpMyAdmin's and Dolphie's
  test for it); its PostgreSQL has settings that begin with `rds.`.
- Aurora has `aurora_version` as well (Aurora User Guide, "Aurora MySQL configuration parameters").
- PolarDB for MySQL has `polardb_version` (its guide, "Engine versions"), and variables that begin
  with `polar_`. PolarDB for PostgreSQL has those too, but anybody may run it.
- ApsaraDB RDS has `rds_release_date` (its guide on minor engine versions; so had PolarDB until
  February 2020). Other variables with `rds_` are in AliSQL, which anybody may run.
- Cloud SQL has a version such as `8.0.31-google`, the flag `cloudsql_iam_authentication`, and in
  PostgreSQL settings that begin with `cloudsql.` (its guide, "Configure database flags").
- Azure Database has `aad_auth_only` (its guide, "Set up Microsoft Entra authentication"; Dolphie's
  test for it), and in PostgreSQL settings that begin with `azure.`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loadstone.model.message import Message, say

Managed = Literal["rds", "aurora", "apsaradb", "polardb", "cloudsql", "azure"]
"""A managed service."""


@dataclass(frozen=True)
class Service:
    """A managed service: nobody but its provider has files, a shell, or a superuser's rights."""

    name: str
    place: Message
    """Where its users set parameters, as its documents call it."""


SERVICES: Mapping[Managed, Service] = {
    "rds": Service("Amazon RDS", say("the DB parameter group")),
    "aurora": Service("Aurora", say("the DB cluster parameter group")),
    "apsaradb": Service("ApsaraDB RDS", say("the console's parameters")),
    "polardb": Service("PolarDB", say("the console's parameters")),
    "cloudsql": Service("Cloud SQL", say("the database flags")),
    "azure": Service("Azure Database", say("the server parameters")),
}

_FOLDERS = ("basedir", "datadir", "data_directory")
_RDS_FOLDERS = ("/rdsdbbin", "/rdsdbdata")

# The first that any variable's name begins with; Aurora's are in Amazon RDS' folders.
_NAMES: tuple[tuple[str, Managed], ...] = (
    ("aurora_version", "aurora"),
    ("polardb_version", "polardb"),
    ("cloudsql", "cloudsql"),
    ("azure.", "azure"),
    ("aad_auth_only", "azure"),
    ("rds.", "rds"),
)
# These are in servers that speak PostgreSQL's protocol too, where they say less.
_NAMES_WITH_MYSQL: tuple[tuple[str, Managed], ...] = (
    ("polar_", "polardb"),
    ("rds_release_date", "apsaradb"),
)


def managed_by(variables: Mapping[str, str]) -> Managed | None:
    """The managed service whose server has these variables; `None`: none that is known."""
    of_postgresql = "server_version" in variables
    names = _NAMES if of_postgresql else (*_NAMES, *_NAMES_WITH_MYSQL)
    if of_postgresql and "polardb_version" in variables:
        return None
    for start, service in names:
        if any(name.startswith(start) for name in variables):
            return service
    if any(variables.get(name, "").startswith(_RDS_FOLDERS) for name in _FOLDERS):
        return "rds"
    return "cloudsql" if "-google" in variables.get("version", "") else None
