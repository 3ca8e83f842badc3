"""What an account may do, from its grants, against what docs/privileges.md says commands need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymysql

from loadstone.model.message import Message
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.processlist import SEE_OTHERS
from loadstone.servers import rights
from loadstone.servers.connection import Connection
from loadstone.servers.endpoint_request import DEFAULT_SCHEMA
from loadstone.servers.rights import Right, Rights
from loadstone.servers.sanitize import plain

_READS = ("SELECT",)
_WRITES = (*_READS, "INSERT", "UPDATE", "DELETE")
_MAKES = (*_WRITES, "CREATE", "INDEX")
_DROPS = ("SELECT", "DELETE", "DROP", "LOCK TABLES")


@dataclass(frozen=True)
class Need:
    """What a command needs: privileges on the schema of its tables, and on all of the server."""

    what: Message
    on_schema: tuple[str, ...] = ()
    on_all: tuple[str, ...] = ()
    schema: str | None = None
    """A schema of the server's own, in place of that of the tables."""


NEEDS = (
    Need(rights.CHECK),
    Need(rights.RUN_READS, _READS),
    Need(rights.RUN, _WRITES),
    Need(rights.PREPARE, _MAKES),
    Need(rights.CLEANUP, _DROPS),
    Need(rights.EXPERIMENT, (*_MAKES, "DROP", "LOCK TABLES")),
    Need(rights.SET, on_all=("SUPER",)),
    Need(rights.OBSERVE, on_all=(SEE_OTHERS,)),
    Need(rights.STATEMENTS, ("SELECT",), schema="performance_schema"),
)
"""By docs/privileges.md; tables that a proof or an experiment uses need their own rights."""

# MySQL 8 deprecates SUPER, and needs only this part of it here. Older ones do not know the part.
_INSTEAD = {"SUPER": "SYSTEM_VARIABLES_ADMIN"}
_ALL = "ALL PRIVILEGES"

_GRANT = re.compile(
    r"(?P<does>GRANT|REVOKE) (?P<privileges>.+?) ON"
    r" (?:\*|(?P<quote>[`\"])(?P<schema>.*?)(?P=quote))\.\* (?:TO|FROM) "
)
_NO_ROLES = (1064, 1105, 1235, 1305)
"""What servers without roles answer to CURRENT_ROLE()."""


@dataclass(frozen=True)
class Grants:
    """The privileges of an account; those on single tables and columns are left out."""

    on_all: frozenset[str] = frozenset()
    on_schemas: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By schema as GRANT names it, where `%` and `_` are wildcards unless escaped."""
    revoked: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Parts of `on_all` that schemas are excepted from."""

    def has(self, privilege: str, schema: str | None = None) -> bool:
        """Whether the account has a privilege on a schema; `None`: on all of the server."""
        names = {privilege, _ALL, _INSTEAD.get(privilege, privilege)}
        if names & self.on_all:
            return schema is None or not names & self.revoked.get(schema, frozenset())
        return schema is not None and any(
            names & given for pattern, given in self.on_schemas.items() if _covers(pattern, schema)
        )


def rights_of(connection: Connection, target: Target) -> Rights:
    """What the account of a connection may do in the target's schema.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_USER()")
        (account,) = cursor.fetchone() or ("",)
        cursor.execute("SELECT VERSION()")
        (version,) = cursor.fetchone() or ("",)
        cursor.execute("SHOW GRANTS")
        lines = [str(row[0]) for row in cursor.fetchall()]
        lines += _of_roles(connection, cursor)
    splits = _splits_super(str(version))
    return judged(grants_in(lines), plain(str(account)), target.database, splits_super=splits)


def _splits_super(version: str) -> bool:
    """Whether a server of this version grants parts of SUPER as MySQL 8.0 does."""
    major = re.match(r"\d+", version)
    return "mariadb" not in version.lower() and major is not None and int(major[0]) >= 8


def _of_roles(connection: Connection, cursor: Any) -> list[str]:
    """The grants of MySQL's active roles; MariaDB lists them with the account's own."""
    own: Any = connection
    if "mariadb" in str(own.get_server_info()).lower():
        return []
    try:
        cursor.execute("SELECT CURRENT_ROLE()")
    except pymysql.MySQLError as error:
        if error.args[0] not in _NO_ROLES:
            raise
        return []
    (roles,) = cursor.fetchone() or (None,)
    if roles in (None, "NONE"):
        return []
    cursor.execute(f"SHOW GRANTS FOR CURRENT_USER() USING {roles}")
    return [str(row[0]) for row in cursor.fetchall()]


def grants_in(lines: Iterable[str]) -> Grants:
    """The privileges in the lines of SHOW GRANTS; roles and proxies in it are none."""
    on_all: set[str] = set()
    given: dict[str, set[str]] = {}
    revoked: dict[str, set[str]] = {}
    for line in lines:
        found = _GRANT.match(line)
        if found is None:
            continue
        privileges = {each.strip() for each in found["privileges"].upper().split(",")}
        schema = found["schema"]
        if schema is None:
            on_all |= privileges
        else:
            kept = given if found["does"] == "GRANT" else revoked
            kept.setdefault(schema.replace("``", "`"), set()).update(privileges)
    return Grants(
        frozenset(on_all),
        {name: frozenset(those) for name, those in given.items()},
        {name: frozenset(those) for name, those in revoked.items()},
    )


def judged(grants: Grants, account: str, schema: str | None, *, splits_super: bool) -> Rights:
    """What an account with these grants may do; `schema` is that of the tables.

    `splits_super`: the server grants parts of SUPER, by the names that MySQL 8.0 gave them.
    """
    schema = schema or DEFAULT_SCHEMA
    found = []
    for need in NEEDS:
        missing = tuple(_missing(need, grants, account, schema, splits_super=splits_super))
        found.append(Right(need.what, missing, needs_superuser="SUPER" in need.on_all))
    return Rights(account, schema, tuple(found), sees_sessions=grants.has(SEE_OTHERS))


def _missing(
    need: Need, grants: Grants, account: str, schema: str, *, splits_super: bool
) -> Iterator[str]:
    """The statements that grant what a command lacks."""
    on = need.schema or schema
    lacks = [one for one in need.on_schema if not grants.has(one, on)]
    if lacks:
        yield f"GRANT {', '.join(lacks)} ON {_quoted(on)}.* TO {_account(account)}"
    lacks = [one for one in need.on_all if not grants.has(one)]
    if lacks:
        names = [_INSTEAD.get(one, one) if splits_super else one for one in lacks]
        yield f"GRANT {', '.join(names)} ON *.* TO {_account(account)}"


def _covers(pattern: str, schema: str) -> bool:
    """Whether a schema is one of those that GRANT names by a pattern."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(regex, schema, re.DOTALL) is not None


def _account(name: str) -> str:
    """`least@%` as GRANT takes it."""
    user, _, host = name.rpartition("@")
    return f"'{user}'@'{host}'"


def _quoted(schema: str) -> str:
    """The schema as people write it, quoted only where it has to be."""
    return schema if re.fullmatch(r"[a-z0-9_]+", schema) else f"`{schema.replace('`', '``')}`"
