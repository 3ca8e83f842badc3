"""Reads what a server is and which tables of the known layouts it has. Changes nothing."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from loadstone.model.compatible import Flavour
from loadstone.model.managed import managed_by
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.processlist import is_passed_on, is_readdressed
from loadstone.mysql.proxies import between
from loadstone.mysql.release_57 import changed_on_57, is_57
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import RowCount, ServerFacts, TableFacts, mark_in
from loadstone.servers.sanitize import plain

# MariaDB's error number, MySQL's, and the one that MySQL returns if threads count in parallel.
_TIME_IS_UP = (1969, 3024, 1317)

# What compatible servers answer to a statement that they do not have: a syntax error, an unknown
# error, one that is not supported.
_NOT_HERE = (1064, 1105, 1235)

# Words in the version or its comment, the first that is found counts. PlanetScale's is Vitess;
# TDDL is the layer that PolarDB-X distributes statements with.
_SAID: tuple[tuple[str, Flavour], ...] = (
    ("mariadb", "mariadb"),
    ("percona", "percona"),
    ("tidb", "tidb"),
    ("oceanbase", "oceanbase"),
    ("-tddl-", "polardbx"),
    ("vitess", "vitess"),
    ("planetscale", "vitess"),
)


_SET = (
    "SELECT VARIABLE_NAME FROM performance_schema.variables_info"
    " WHERE VARIABLE_SOURCE <> 'COMPILED'"
    " AND VARIABLE_NAME NOT IN ('innodb_lock_wait_timeout', 'lock_wait_timeout')"
    " ORDER BY VARIABLE_SOURCE = 'DYNAMIC' DESC, SET_TIME DESC, VARIABLE_NAME"
)
"""MySQL has it from 8.0 on. The last two our own session has set (`bound_lock_waits`)."""

_SET_ON_MARIADB = (
    "SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES"
    " WHERE GLOBAL_VALUE <> DEFAULT_VALUE AND GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO')"
    " ORDER BY GLOBAL_VALUE_ORIGIN = 'SQL' DESC, VARIABLE_NAME"
)


def describe_server(connection: Connection, target: Target) -> ServerFacts:
    """Read the server's description of itself, and all its variables.

    Raises:
        TargetError: the server refused.
    """
    variables = variables_of(connection, target)
    with statement_errors(target):
        status = _shown(
            connection,
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Uptime')",
        )
        started_s = _started_s(status)
        cipher = _shown(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    own: Any = connection
    facts = facts_of(
        variables, status, cipher.get("Ssl_cipher", ""), greeting=_text(own.get_server_info())
    )
    changed = {"not_default": _not_default(connection, target, variables, facts.flavour)}
    return facts.model_copy(
        update={"started_s": started_s} | changed | _between(connection, target)
    )


def _not_default(
    connection: Connection, target: Target, variables: Mapping[str, str], flavour: Flavour
) -> tuple[str, ...] | None:
    """Variables that were set: first those since the start, then by a file or the command line."""
    is_mariadb = "mariadb" in variables.get("version", "").lower()
    if is_57(variables.get("version", ""), flavour):
        return changed_on_57(variables)
    if not is_mariadb and not _is_on(variables, "performance_schema"):
        return None
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(_SET_ON_MARIADB if is_mariadb else _SET)
            return tuple(str(row[0]).lower() for row in cursor.fetchall())
    except TargetError:  # a release, or an account, that does not show it
        return None


def _started_s(status: Mapping[str, str]) -> float | None:
    """When the server was started, if it has just said for how long it has been up."""
    up_s = _number(status.get("Uptime"))
    return None if up_s is None else time.clock_gettime(time.CLOCK_BOOTTIME) - up_s


def _between(connection: Connection, target: Target) -> dict[str, object]:
    """What its list of connections shows of something between it and its clients."""
    try:
        passed_on, readdressed = (
            is_passed_on(connection, target),
            is_readdressed(connection, target),
        )
    except TargetError:  # it shows no list of its connections
        return {}
    found: dict[str, object] = {"is_passed_on": passed_on, "is_readdressed": readdressed}
    if passed_on:
        own: Any = connection
        # Details need another login, which may be one too many for the account or the proxy. What
        # they cost is no reason to describe nothing; a lost connection fails its next statement.
        with contextlib.suppress(TargetError), statement_errors(target):
            found["between"] = between(own, target)
    return found


def facts_of(
    variables: dict[str, str], status: Mapping[str, str], cipher: str = "", greeting: str = ""
) -> ServerFacts:
    """Facts about a server from its variables, some rows of its status and its greeting.

    The greeting is of what answers clients; the variables may be of a server behind it.
    """
    version, comment = variables.get("version", ""), variables.get("version_comment", "")
    flavour = flavour_of(greeting, version, comment, variables)
    return ServerFacts(
        version=greeting if flavour == "vitess" and greeting else version,
        flavour=flavour,
        comment=comment,
        variables=variables,
        connected=_number(status.get("Threads_connected")),
        cipher=cipher,
        max_connections=_number(variables.get("max_connections")),
        read_only=any(_is_on(variables, name) for name in ("read_only", "super_read_only")),
        thread_pool=_thread_pool(variables),
        service=managed_by(variables),
    )


def _thread_pool(variables: Mapping[str, str]) -> str | None:
    if variables.get("thread_handling") == "pool-of-threads":
        return "pool-of-threads"
    if variables.get("thread_handling") == "loaded-dynamically":
        return "thread_pool plugin"
    # In the consoles of ApsaraDB RDS and PolarDB it has a prefix.
    names = ("thread_pool_enabled", "loose_thread_pool_enabled")
    return names[0] if any(_is_on(variables, name) for name in names) else None


def _is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").upper() in ("ON", "1", "YES", "TRUE")


def variables_of(connection: Connection, target: Target) -> dict[str, str]:
    """All of a server's global variables at one moment, as text.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target):
        return _pairs(connection, "SHOW GLOBAL VARIABLES")


def socket_of(variables: Mapping[str, str]) -> Path | None:
    """The server's unix socket, as its process sees it."""
    return Path(variables["socket"]) if variables.get("socket") else None


def data_folder(variables: Mapping[str, str]) -> str | None:
    """The folder with a server's data, as its process sees it; `None`: it does not say."""
    return variables.get("datadir") or None


def takes_files(connection: Connection) -> bool:
    """Whether the server has LOAD DATA, if it allows it.

    Vitess sends statements to the servers of the rows, and refuses that one; what it shows as
    local_infile is of a server behind it. Other proxies say in their greeting that they have not.
    """
    own: Any = connection
    offers = bool(own.server_capabilities & CLIENT.LOCAL_FILES)
    return offers and flavour_of(_text(own.get_server_info()), "", "", {}) != "vitess"


def schema_exists(connection: Connection, target: Target, schema: str) -> bool:
    """Whether this user sees a schema with that name."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (schema,)
        )
        return cursor.fetchone() is not None


def tables_of(
    connection: Connection, target: Target, schema: str, name: str | None = None
) -> tuple[TableFacts, ...]:
    """All tables and views of a schema, the numbered ones in numeric order.

    `name`: only the table of that name, if it exists.
    """
    only, of = ("", (schema,)) if name is None else (" AND table_name = %s", (schema, name))
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, engine, table_type, UNIX_TIMESTAMP(create_time), table_comment"
            f" FROM information_schema.tables WHERE table_schema = %s{only}",
            of,
        )
        tables = cursor.fetchall()
        cursor.execute(
            "SELECT table_name, column_name, column_type, column_comment"
            " FROM information_schema.columns"
            f" WHERE table_schema = %s{only} ORDER BY table_name, ordinal_position",
            of,
        )
        columns: dict[str, list[tuple[str, str]]] = {}
        of_first: dict[str, str] = {}
        for table, column, kind, comment in cursor.fetchall():
            columns.setdefault(table, []).append((column, _type(_text(kind))))
            of_first.setdefault(table, _text(comment or ""))
    facts = (
        TableFacts(
            name=name,
            engine=engine,
            columns=tuple(columns.get(name, ())),
            is_view="VIEW" in str(kind).upper(),
            # Some servers keep comments of columns alone: crates/load marks the first one there.
            mark=mark_in(_text(comment or "") or of_first.get(name, "")),
            created_s=None if created is None else int(created),
        )
        for name, engine, kind, created, comment in tables
    )
    return tuple(sorted(facts, key=lambda table: (table.number or 0, table.name)))


def indexed_on(connection: Connection, target: Target, schema: str, column: str) -> frozenset[str]:
    """The tables of a schema with an index that begins with this column."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT table_name FROM information_schema.statistics"
            " WHERE table_schema = %s AND column_name = %s AND seq_in_index = 1",
            (schema, column),
        )
        return frozenset(str(row[0]) for row in cursor.fetchall())


def views_of(connection: Connection, target: Target) -> list[tuple[str, str]]:
    """Schema and name of all views that this user can read, except the server's own."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_schema, table_name FROM information_schema.views"
            " WHERE table_schema NOT IN ('sys', 'mysql')"
        )
        return [(str(schema), str(name)) for schema, name in cursor.fetchall()]


def functions_of(connection: Connection, target: Target, schema: str) -> frozenset[str]:
    """User-defined functions that a statement there can call without naming a schema.

    The names are in lower case. A user cannot call stored functions that it cannot see. Loadable
    functions can be called by all users, but not every user may list them.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT routine_name FROM information_schema.routines"
            " WHERE routine_schema = %s AND routine_type = 'FUNCTION'",
            (schema,),
        )
        found = {str(name).lower() for (name,) in cursor.fetchall()}
        with contextlib.suppress(pymysql.MySQLError):
            cursor.execute("SELECT name FROM mysql.func")
            found |= {str(name).lower() for (name,) in cursor.fetchall()}
    return frozenset(found)


def count_rows(connection: Connection, target: Target, table: str, limit_s: float = 10) -> RowCount:
    """The number of rows of a table in the current schema; its highest id after the time limit.

    The limit is the server's own, so the statement does not continue there after we stop waiting.
    """
    name = quoted(table)
    own: Any = connection
    if "mariadb" in str(own.get_server_info()).lower():
        statement = f"SET STATEMENT max_statement_time={limit_s:g} FOR SELECT COUNT(*) FROM {name}"
    else:
        hint = f"/*+ MAX_EXECUTION_TIME({int(limit_s * 1000)}) */"
        statement = f"SELECT {hint} COUNT(*) FROM {name}"
    with statement_errors(target):
        try:
            return RowCount(rows=_single(connection, statement), exact=True)
        except pymysql.MySQLError as error:
            if error.args[0] not in _TIME_IS_UP:
                raise
        return RowCount(rows=highest_id(connection, target, table), exact=False)


def highest_id(connection: Connection, target: Target, table: str) -> int:
    """The highest id of a table in the current schema; 0 if it is empty."""
    with statement_errors(target):
        return _single(connection, f"SELECT COALESCE(MAX(id), 0) FROM {quoted(table)}")


def quoted(name: str) -> str:
    """A name quoted for SQL, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _pairs(connection: Connection, statement: str) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return {_text(row[0]): _text(row[1]) for row in cursor.fetchall()}


def _shown(connection: Connection, statement: str) -> dict[str, str]:
    """As `_pairs`; empty if the server does not have such a statement."""
    try:
        return _pairs(connection, statement)
    except pymysql.MySQLError as error:
        if error.args[0] not in _NOT_HERE:
            raise
        return {}


def _single(connection: Connection, statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return int(row[0]) if row is not None else 0


def flavour_of(greeting: str, version: str, comment: str, variables: Mapping[str, str]) -> Flavour:
    """Which server it is, by the version in its greeting and by its variables."""
    if any(name.startswith("dolt_") for name in variables):
        return "dolt"  # until 2023 it greeted as Vitess
    said = f"{greeting} {version} {comment}".lower()
    for word, flavour in _SAID:
        if word in said:
            return flavour
    # These two have a version of MySQL.
    if "aurora_version" in variables:
        return "aurora"
    if comment.lower() == "dolt":
        return "dolt"
    return "mysql" if "mysql" in said or re.match(r"[5-9]\.", version) else "other"


def _type(text: str) -> str:
    """The type without its display width, which MySQL 8.0.19 and later omit."""
    return re.sub(r"^((?:big|small|medium|tiny)?int)\(\d+\)", r"\1", text.lower())


def _text(value: object) -> str:
    return plain(value.decode(errors="replace") if isinstance(value, bytes) else str(value))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
