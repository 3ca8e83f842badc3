"""A server's global variables: reads them, writes their values as SQL, sets them."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence
from typing import Any

from loadstone.model.hints import write
from loadstone.model.managed import SERVICES, managed_by
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import number_in
from loadstone.mysql.facts import describe_server, variables_of
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.facts import Value

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_RESTLESS = re.compile(
    r"gtid_.*|timestamp|.*last_insert_id|insert_id|rand_seed\d|error_count|warning_count|"
    r"last_gtid|pseudo_.*|identity|in_transaction|innodb_buffer_pool_(load|dump)_(now|abort)"
)

_PERSISTED = "SELECT variable_name, variable_value FROM performance_schema.persisted_variables"
_NOT_TOLD = (1044, 1142, 1143, 1146, 1370)
"""The table does not exist, or not for this account."""

_RESIZING = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'"
_RESIZED = ("Completed", "Size did not change", "Resizing buffer pool failed", "Failed")

_OF_MARIADB = (
    "SELECT variable_name, read_only, variable_scope FROM information_schema.system_variables"
)


def known_variables(connection: Connection, target: Target) -> dict[str, bool]:
    """All variables by name in lower case, and whether each can be set with SET GLOBAL.

    MySQL has no table for that: whether a variable can be set only shows when it is set.

    Raises:
        TargetError: the server refused.
    """
    facts = describe_server(connection, target)
    known = {name.lower(): True for name in facts.variables}
    if facts.flavour != "mariadb":
        return known
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_OF_MARIADB)
        rows = cursor.fetchall()
    for name, read_only, scope in rows:
        known[str(name).lower()] = read_only == "NO" and scope != "SESSION ONLY"
    return known


def is_being_set(connection: Connection, target: Target, name: str) -> bool:
    """Whether the server still works on a value that was set: on a resize of its buffer pool.

    It withdraws pages for as long as others use them, and retries ever later.

    Raises:
        TargetError: the server refused.
    """
    if name != "innodb_buffer_pool_size":
        return False
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_RESIZING)
        row = cursor.fetchone()
    said = str(row[1]) if row else ""
    return bool(said) and not said.startswith(_RESIZED)


def is_restless(name: str) -> bool:
    """Whether a variable changes by itself or with every statement, so that it is not a setting."""
    return _RESTLESS.fullmatch(name) is not None


def read_variables(
    connection: Connection, target: Target, names: Sequence[str]
) -> dict[str, Value]:
    """The values of several variables at one moment.

    Raises:
        SettingsError: the server has no such variable.
        TargetError: the connection is gone.
    """
    if not names:
        return {}
    for name in names:
        if not _NAME.fullmatch(name):
            said = say("{value} is not the name of a variable", value=repr(name))
            raise SettingsError(said, write("sync_binlog"))
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in names)}")
            row = cursor.fetchone() or (None,) * len(names)
    except TargetError as error:
        if number_in(error) in (1193, 1238):  # unknown, or a session variable
            said = say(
                "{place} has no global variable {names}",
                place=target.place,
                names=Joined(names, "choices"),
            )
            raise SettingsError(said, say("SHOW GLOBAL VARIABLES lists them all")) from error
        raise
    return {name: _value(each) for name, each in zip(names, row, strict=True)}


def _value(value: object) -> Value:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, int | float) or value is None else str(value)


def set_variable(connection: Connection, target: Target, name: str, value: str) -> None:
    """Set a variable for all new sessions; `value` is SQL.

    Raises:
        SettingsError: the server refused.
        TargetError: the connection is gone.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = {value}")
    except TargetError as error:
        if number_in(error) is None or error.kind != "statement_failed":
            raise
        hint = say(
            "only variables that change while the server runs can be set: see docs/experiments.md"
        )
        if number_in(error) in (1044, 1227):
            hint = _where_to_set(connection, target)
        said = say(
            "cannot set {name} to {value}: {reason}",
            name=name,
            value=value,
            reason=error.message,
        )
        raise SettingsError(said, hint) from error


def _where_to_set(connection: Connection, target: Target) -> Message:
    """What to do where the account may not set a variable."""
    managed = managed_by(variables_of(connection, target))
    if managed is None:
        return say("GRANT SYSTEM_VARIABLES_ADMIN (MySQL), SUPER, BINLOG ADMIN or the like")
    service = SERVICES[managed]
    return say(
        "users of {service} set variables in {place}: set it there, and compare two runs",
        service=service.name,
        place=service.place,
    )


def kept_for_start(connection: Connection, target: Target, name: str) -> str | None:
    """Nothing: SET GLOBAL leaves what a start will set as it is."""
    return None


def put_variable_back(
    connection: Connection, target: Target, name: str, value: Value, kept: str | None
) -> None:
    """Give a variable its old value again.

    Raises:
        SettingsError: the server refused.
        TargetError: the connection is gone.
    """
    set_variable(connection, target, name, literal_of(connection, value))


def literal_of(connection: Connection, value: Value) -> str:
    """A value from the server as an SQL literal; for a missing text, DEFAULT."""
    if value is None:
        return "DEFAULT"
    if isinstance(value, str):
        own: Any = connection
        quoted: str = own.escape(value)
        return quoted
    return repr(value)


def persisted_variables(connection: Connection, target: Target) -> dict[str, str]:
    """What MySQL's SET PERSIST sets at the next start; empty if the server does not report it.

    Raises:
        TargetError: the server refused, or the connection is gone.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(_PERSISTED)
            return {str(name).lower(): str(value) for name, value in cursor.fetchall()}
    except TargetError as error:
        if number_in(error) in _NOT_TOLD:
            return {}
        raise
