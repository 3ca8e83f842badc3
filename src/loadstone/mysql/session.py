"""What a session executes apart from the statements that it is there for."""

from __future__ import annotations

from typing import Any

import pymysql

from loadstone.model.message import say
from loadstone.model.plan import Session
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import target_error
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError

LONGEST_LOCK_WAIT_S = 50
"""Below the limit of a statement: then the server says what was waited for, and nothing stays."""

_NO_SUCH_VARIABLE = 1193


def bound_lock_waits(connection: Connection) -> None:
    """Let no statement of a connection wait for a lock for longer than its own limit.

    Servers let them wait for a day, and for that long what is given up stays behind there.

    Raises:
        pymysql.MySQLError: the server does not answer.
    """
    with connection.cursor() as cursor:
        for variable in ("lock_wait_timeout", "innodb_lock_wait_timeout"):
            try:
                cursor.execute(f"SET SESSION {variable} = {LONGEST_LOCK_WAIT_S}")
            except pymysql.MySQLError as error:
                if error.args[0] != _NO_SUCH_VARIABLE:
                    raise


def too_many_connections(message: str, most: int, instead: str) -> TargetError:
    """The server takes too few connections, as it would say itself."""
    hint = say("SET GLOBAL max_connections = {most}; or {instead}", most=most, instead=instead)
    return target_error("too_many_connections", message, hint, 1040)


def use_schema(connection: Connection, schema: str) -> None:
    """Go into a schema.

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


def take_snapshot(connection: Connection, target: Target) -> None:
    """Let all that follows see the data as it is now."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
