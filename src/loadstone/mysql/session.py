"""The statements that set a session up, apart from its actual work."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pymysql

from loadstone.model.message import say
from loadstone.model.plan import Session
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import target_error
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.written_number import number

LONGEST_LOCK_WAIT_S = 50
"""Shorter than a statement's limit, so that the server reports the wait and cleans up."""

own_variables = frozenset(
    {
        "big_tables", "max_heap_table_size", "optimizer_trace", "profiling", "sort_buffer_size",
        "tmp_table_size",
    }
)  # fmt: skip
"""Variables of trials that each session may set for itself."""

_NO_SUCH_VARIABLE = 1193
_ANY_ERROR = 1105

_LEVEL = "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')"
"""By either name, as not all servers have both."""

_OF_SNAPSHOTS = "REPEATABLE READ"
_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"


def bound_lock_waits(connection: Connection) -> None:
    """Limit the lock waits of a connection's statements to less than their own time limit.

    By default servers let them wait for up to a day; an abandoned statement would stay there as
    long.

    Raises:
        pymysql.MySQLError: the server does not answer.
    """
    with connection.cursor() as cursor:
        for variable in ("lock_wait_timeout", "innodb_lock_wait_timeout"):
            try:
                cursor.execute(f"SET SESSION {variable} = {LONGEST_LOCK_WAIT_S}")
            except pymysql.MySQLError as error:
                if not _is_unknown_variable(error):
                    raise


def _is_unknown_variable(error: pymysql.MySQLError) -> bool:
    """Dolt says so in words, under the number of any error."""
    return error.args[0] == _NO_SUCH_VARIABLE or (
        error.args[0] == _ANY_ERROR and "unknown system variable" in str(error.args[1]).lower()
    )


def too_many_connections(message: str, most: int, instead: str) -> TargetError:
    """The error for a connection limit that is too low, like the server's own."""
    hint = say("SET GLOBAL max_connections = {most}; or {instead}", most=most, instead=instead)
    return target_error("too_many_connections", message, hint, 1040)


def use_schema(connection: Connection, schema: str) -> None:
    """Make a schema the connection's current one.

    Raises:
        pymysql.MySQLError: there is none for this user.
    """
    own: Any = connection
    own.select_db(schema)


def session_statements(session: Session) -> list[tuple[str, str, str]]:
    """What each connection of a load executes first: option, its value, statement."""
    said = [("--charset", session.charset, f"SET NAMES '{session.charset}'")]
    if session.isolation:
        level = session.isolation.replace("-", " ").upper()
        statement = f"SET SESSION TRANSACTION ISOLATION LEVEL {level}"
        said.append(("--isolation", session.isolation, statement))
    return said + [("--init-sql", statement, statement) for statement in session.init_sql]


def words_of_session(name: str, value: str) -> str:
    """The statement that sets a variable, with its value as in a file, for one session.

    The server takes no text for a number, and no unit: `2M` becomes bytes.
    """
    plain = number(value)
    if plain is None:
        return f"SET SESSION {name} = '" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"SET SESSION {name} = {plain}"


def set_in_session(connection: Connection, target: Target, name: str, value: str) -> None:
    """Set a variable for this connection.

    Raises:
        TargetError: the server refused, or took another number with no more than a warning.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(words_of_session(name, value))
        cursor.execute(f"SELECT @@SESSION.{name}")
        row = cursor.fetchone()
    wanted, taken = number(value), row[0] if row else None
    if wanted is not None and isinstance(taken, int | float | Decimal) and taken != wanted:
        said = say(
            "{place} has {name} = {taken} right after it was set to {value}",
            place=target.place,
            name=name,
            taken=str(taken),
            value=value,
        )
        raise SettingsError(said, say("write a value that it accepts unchanged"))


def take_snapshot(connection: Connection, target: Target) -> None:
    """Make all following statements see the data as it is now.

    Nothing is set where servers' default is in effect, and it is set back while the transaction
    lasts, whose level stays: a proxy gives sessions to others.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    set_level = "SET SESSION TRANSACTION ISOLATION LEVEL"
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_SNAPSHOT)
        cursor.execute(_LEVEL)
        row = cursor.fetchone()
        level = str(row[1]).replace("-", " ") if row else None
        if level == _OF_SNAPSHOTS:
            return
        connection.rollback()
        cursor.execute(f"{set_level} {_OF_SNAPSHOTS}")
        cursor.execute(_SNAPSHOT)
        if level:
            cursor.execute(f"{set_level} {level}")
