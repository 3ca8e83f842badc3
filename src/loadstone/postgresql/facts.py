"""Reads what a server is and which tables of the known layouts a database has. Changes nothing."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pg8000

from loadstone.model.compatible import Flavour
from loadstone.model.managed import managed_by
from loadstone.model.message import say
from loadstone.model.target import Target
from loadstone.postgresql.activity import OF_CLIENTS, is_passed_on, is_readdressed
from loadstone.postgresql.administration import Administration
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import code_of, statement_errors
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import RowCount, ServerFacts, TableFacts, mark_in
from loadstone.servers.sanitize import plain

SYSTEM_IDENTIFIER = "system_identifier"
"""A figure of pg_controldata, listed with the settings; a standby has that of its primary."""

DENIED = "42501"
_NOT_HERE = ("42883", "42P01", "42703", "0A000")
"""Codes of compatible servers that lack a function, a view or a column."""

_TIME_IS_UP = "57014"

# What we set for our own session is not the server's setting.
SHOWN = "CASE WHEN source = 'session' THEN reset_val ELSE current_setting(name, true) END"
"""A setting with its unit, as a column of pg_settings."""

_SETTINGS = f"SELECT name, {SHOWN} FROM pg_settings"
_SET = (
    "SELECT name FROM pg_settings WHERE source NOT IN ('default', 'override', 'client', 'session')"
    " AND setting IS DISTINCT FROM boot_val ORDER BY name"
)
_ITSELF = (
    "SELECT version(), pg_is_in_recovery(),"
    " extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8"
)
_CONNECTED = f"SELECT count(*) FROM pg_stat_activity WHERE {OF_CLIENTS}"
_CIPHER = "SELECT coalesce(cipher, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

# Partitions belong to their table, which is in the list.
_TABLES = (
    "SELECT c.relname, a.amname, c.relkind IN ('v', 'm'), obj_description(c.oid, 'pg_class')"
    " FROM pg_class AS c LEFT JOIN pg_am AS a ON a.oid = c.relam"
    " WHERE c.relnamespace = current_schema()::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition"
)
_COLUMNS = (
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)"
    " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
    " WHERE c.relnamespace = current_schema()::regnamespace AND a.attnum > 0"
    " AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    " AND NOT c.relispartition"
)
_TYPES = {"integer": "int"}
"""Names of types as `servers.facts.KNOWN_LAYOUTS` has them."""


def describe_server(connection: Connection, target: Target) -> ServerFacts:
    """Read the server's description of itself, and all its settings.

    Raises:
        TargetError: the server refused.
    """
    variables = variables_of(connection, target)
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_ITSELF)
        version, in_recovery, up_s = cursor.fetchone()
        cursor.execute(_CONNECTED)
        (connected,) = cursor.fetchone()
        cursor.execute(_CIPHER)
        cipher = cursor.fetchone()
        changed = None
        with _if_it_says():
            cursor.execute(_SET)
            changed = tuple(plain(str(row[0])) for row in cursor.fetchall())
    read_only = variables.get("default_transaction_read_only") == "on"
    return ServerFacts(
        version=variables.get("server_version", ""),
        flavour=flavour_of(str(version)),
        comment=plain(str(version).partition(" ")[0]),
        variables=variables,
        not_default=changed,
        connected=int(connected),
        started_s=time.clock_gettime(time.CLOCK_BOOTTIME) - float(up_s),
        cipher=plain(str(cipher[0])) if cipher else "",
        max_connections=_number(variables.get("max_connections")),
        read_only=bool(in_recovery) or read_only,
        service=managed_by(variables),
        is_passed_on=is_passed_on(connection, target),
        is_readdressed=is_readdressed(connection, target),
    )


def flavour_of(version: str) -> Flavour:
    """Which server it is, by what `version()` returns; compatible ones name themselves there."""
    is_own = re.match(r"PostgreSQL \d", version) and not re.search(
        r"-YB-|Greenplum|Redshift|openGauss|Materialize", version
    )
    return "postgresql" if is_own else "other"


def variables_of(connection: Connection, target: Target) -> dict[str, str]:
    """All of a server's settings at one moment, as text with their units, and its identifier.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        found = {plain(str(name)): plain(str(value or "")) for name, value in cursor.fetchall()}
        with _if_it_says():
            cursor.execute("SELECT system_identifier FROM pg_control_system()")
            found[SYSTEM_IDENTIFIER] = str(cursor.fetchone()[0])
    return found


@contextlib.contextmanager
def _if_it_says() -> Iterator[None]:
    """Do without an answer that the server does not have, or not for this account."""
    try:
        yield
    except pg8000.DatabaseError as error:
        if code_of(error) not in (DENIED, *_NOT_HERE):
            raise


def socket_of(variables: Mapping[str, str]) -> Path | None:
    """The first of the server's unix sockets, as its process sees it."""
    folder = variables.get("unix_socket_directories", "").partition(",")[0].strip().strip('"')
    return Path(folder) / f".s.PGSQL.{variables.get('port')}" if folder else None


def data_folder(variables: Mapping[str, str]) -> str | None:
    """The folder with a server's data, as its process sees it; `None`: only others may know."""
    return variables.get("data_directory") or None


def takes_files(connection: Connection) -> bool:
    """Whether rows can be sent to it by COPY."""
    return True


def database_exists(connection: Connection, target: Target, database: str) -> bool:
    """Whether the server has a database with that name that accepts connections."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s AND datallowconn", (database,))
        return cursor.fetchone() is not None


def schema_of(at: Administration, target: Target) -> str:
    """The schema of a database in which new tables are made, and unqualified names are found.

    Raises:
        TargetError: the session has none.
    """
    with statement_errors(target), at.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (name,) = cursor.fetchone()
    if name is None:
        raise TargetError(
            "unknown_database",
            say("no schema of this user's search_path exists at {place}", place=target.place),
            say("CREATE SCHEMA public in that database, or ALTER ROLE ... SET search_path"),
        )
    return str(name)


def tables_of(
    at: Administration, target: Target, name: str | None = None
) -> tuple[TableFacts, ...]:
    """All tables and views in the current schema of a database, the numbered ones in their order.

    `name`: only the table of that name, if it exists.
    """
    only, values = ("", ()) if name is None else (" AND c.relname = %s", (name,))
    with statement_errors(target), at.cursor() as cursor:
        cursor.execute(_TABLES + only, values)
        tables = cursor.fetchall()
        cursor.execute(f"{_COLUMNS}{only} ORDER BY c.relname, a.attnum", values)
        columns: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in cursor.fetchall():
            columns.setdefault(table, []).append((str(column), _type(str(kind))))
    facts = (
        TableFacts(
            name=table,
            engine=method,
            columns=tuple(columns.get(table, ())),
            is_view=bool(is_view),
            mark=mark_in(plain(comment or "")),
        )
        for table, method, is_view, comment in tables
    )
    return tuple(sorted(facts, key=lambda table: (table.number or 0, table.name)))


def indexed_on(connection: Connection, target: Target, schema: str, column: str) -> frozenset[str]:
    """The tables of a database with an index that begins with this column."""
    with statement_errors(target), of(connection).at(schema).cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid"
            " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
            " WHERE c.relnamespace = current_schema()::regnamespace AND i.indisvalid"
            " AND a.attname = %s",
            (column,),
        )
        return frozenset(str(name) for (name,) in cursor.fetchall())


def count_rows(connection: Connection, target: Target, table: str, limit_s: float = 10) -> RowCount:
    """The number of rows of a table in the current database; its highest id after the time limit.

    The limit is the server's own, so the statement does not continue there after we stop waiting.
    """
    with statement_errors(target):
        connection.begin()
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {max(int(limit_s * 1000), 1)}")
                cursor.execute(f"SELECT count(*) FROM {quoted(table)}")
                return RowCount(rows=int(cursor.fetchone()[0]), exact=True)
        except pg8000.DatabaseError as error:
            if code_of(error) != _TIME_IS_UP:
                raise
        finally:
            with contextlib.suppress(pg8000.Error):
                connection.rollback()
        return RowCount(rows=highest_id(connection, target, table), exact=False)


def highest_id(connection: Connection, target: Target, table: str) -> int:
    """The highest id of a table in the current database; 0 if it is empty."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(max(id), 0) FROM {quoted(table)}")
        return int(cursor.fetchone()[0])


def views_of(connection: Connection, target: Target) -> list[tuple[str, str]]:
    """Schema and name of all views that this user can read, except the server's own."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT schemaname, viewname FROM pg_views"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        return [(str(schema), str(name)) for schema, name in cursor.fetchall()]


def functions_of(connection: Connection, target: Target, schema: str) -> frozenset[str]:
    """User-defined functions that a statement in that database can call, in lower case."""
    with statement_errors(target), of(connection).at(schema).cursor() as cursor:
        cursor.execute(
            "SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace NOT IN"
            " ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
        )
        return frozenset(str(name).lower() for (name,) in cursor.fetchall())


def quoted(name: str) -> str:
    """A name quoted for SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def _type(text: str) -> str:
    return re.sub(r"^character(?=\()", "char", _TYPES.get(text, text))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
