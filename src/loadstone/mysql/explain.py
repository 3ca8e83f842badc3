"""A server's answer on a statement that is examined without being executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql

from loadstone.model.message import say
from loadstone.mysql.facts import quoted
from loadstone.servers.connection import Connection
from loadstone.servers.statements import Access, Prepared, Refusal, RefusalKind, StatementRefused

_OWN_ERRORS = range(2000, 3000)
"""Those of the client's side, such as a lost connection."""

# ER_PARSE_ERROR, also for statements that EXPLAIN does not accept.
_PARSE_ERROR = 1064
_KINDS: dict[RefusalKind, tuple[int, ...]] = {
    "grammar": (_PARSE_ERROR,),
    # Also an unknown schema.
    "no_such_table": (1146, 1049),
    # An unknown column or function.
    "no_such_name": (1054, 1305),
    # Longer or with more digits than allowed; unknown character sets and collations; in MariaDB,
    # unknown types.
    "no_such_type": (1074, 1425, 1426, 1427, 1439, 1115, 1273, 4161),
}


def explained(
    connection: Connection, sql: str, prepared: Prepared | None = None
) -> tuple[Access, ...]:
    """How the server would access the rows; empty if it cannot explain such statements.

    Raises:
        StatementRefused: the server refuses it.
    """
    own: Any = connection
    with own.cursor(pymysql.cursors.DictCursor) as cursor:
        try:
            cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL {sql}")
        except pymysql.MySQLError as error:
            if error.args[0] == _PARSE_ERROR and refusal_of(connection, sql) is None:
                return ()
            raise StatementRefused(_refusal(error)) from error
        rows: Sequence[dict[str, Any]] = cursor.fetchall()
    return tuple(
        Access(
            table=str(row["table"]),
            how=str(row["type"] or ""),
            key=str(row["key"] or ""),
            rows=None if row["rows"] is None else int(row["rows"]),
        )
        for row in rows
        if row["table"]
    )


def refusal_of(connection: Connection, sql: str) -> Refusal | None:
    """Why the server refuses a statement; it is not executed.

    Raises:
        pymysql.MySQLError: the server does not answer.
    """
    # A proxy may give the session, with what is prepared there, to others after a transaction.
    connection.begin()
    refusal = _refused_there(connection, sql)
    connection.rollback()
    return refusal


def _refused_there(connection: Connection, sql: str) -> Refusal | None:
    with connection.cursor() as cursor:
        try:
            cursor.execute("PREPARE loadstone_trial FROM %s", (sql,))
        except pymysql.MySQLError as error:
            if _is_lost(error):
                raise
            return _refusal(error)
        cursor.execute("DEALLOCATE PREPARE loadstone_trial")
    return None


def _is_lost(error: pymysql.MySQLError) -> bool:
    """Whether it is PyMySQL's own error, and no answer of the server."""
    number = error.args[0] if error.args else 0
    return number == 0 or number in _OWN_ERRORS


def refusal_of_column(connection: Connection, name: str, kind: str) -> Refusal | None:
    """Why the server refuses a column of a table; nothing is created."""
    return refusal_of(connection, f"CREATE TABLE loadstone_trial.t ({quoted(name)} {kind})")


def _refusal(error: pymysql.MySQLError) -> Refusal:
    number, text = (*error.args, "")[:2]
    kinds = (kind for kind, numbers in _KINDS.items() if number in numbers)
    said = say("the server refuses it: {number} {reason}", number=number, reason=str(text))
    return Refusal(next(kinds, "other"), said)
