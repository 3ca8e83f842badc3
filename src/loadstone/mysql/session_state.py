"""What a session has set: its variables, and those of the user that statements name.

Variables are read by SHOW: ProxySQL keeps a session for who asks for an `@`, and so would not do
for the reader what it does for the load.

Source: https://proxysql.com/documentation/multiplexing/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import number_in
from loadstone.mysql.session import words_of_session
from loadstone.mysql.tokens import NotSql, Token, tokens_of
from loadstone.mysql.variables import is_restless
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError

_NUMBER = "SELECT CONNECTION_ID() + 0"
"""ProxySQL answers a plain CONNECTION_ID() itself, with its own number of the client."""

_OTHER = frozenset("GLOBAL PERSIST PERSIST_ONLY PASSWORD STATEMENT ROLE RESOURCE".split())
"""Words of a SET that sets no variables of the session, or something else besides."""

_OTHER_SCOPES = ("@@GLOBAL.", "@@PERSIST.", "@@PERSIST_ONLY.")

_READ_ONLY = 1238

_LONGEST_SHOWN = 1024
"""SHOW cuts longer values off."""


def number(connection: Connection, target: Target) -> int:
    """The number of the server's session that executes this statement.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_NUMBER)
        return int(cursor.fetchone()[0])


def shown(
    connection: Connection, target: Target, statements: Sequence[str]
) -> dict[str, str | None]:
    """All variables of the session, and those of the user that statements name, with their `@`.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    own = list(dict.fromkeys(name for each in statements for name in _named_by_user(each)))
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SHOW SESSION VARIABLES")
        found: dict[str, str | None] = {
            name: _text(value)
            for name, value in ((str(row[0]).lower(), row[1]) for row in cursor.fetchall())
            if not is_restless(name)
        }
        if own:
            cursor.execute(f"SELECT {', '.join(own)}")
            values = cursor.fetchone()
            found |= {name: _text(each) for name, each in zip(own, values, strict=True)}
    return found


def only_sets(statement: str) -> bool:
    """Whether a statement does nothing but set what `shown` has."""
    tokens = _tokens(statement)
    words = [token.text.upper() for token in tokens if token.kind == "word"]
    if words[:1] != ["SET"] or words[1:2] == ["TRANSACTION"]:
        return False
    return not any(
        word in _OTHER or word.startswith(_OTHER_SCOPES) or is_restless(_variable(word))
        for word in words[1:]
    )


def attempt(connection: Connection, target: Target, statement: str) -> bool:
    """Execute a statement in a transaction, which goes on if it is refused.

    Returns:
        Whether it was executed.

    Raises:
        TargetError: the connection was lost.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(statement)
    except TargetError as error:
        if error.kind != "statement_failed":
            raise
        return False
    return True


def undo(connection: Connection, target: Target, before: Mapping[str, str | None]) -> None:
    """End a transaction, and set back what it has set: no rollback does that.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    set_back(connection, target, before)
    with statement_errors(target):
        connection.rollback()


def set_back(connection: Connection, target: Target, before: Mapping[str, str | None]) -> None:
    """Set variables of the session to values that `shown` had.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    # Setting autocommit ends a transaction, which holds the session.
    for name in sorted(before, key=lambda name: name == "autocommit"):
        try:
            with statement_errors(target):
                _set(connection, name, before[name])
        except TargetError as error:
            # Some follow others, and cannot be set themselves.
            if number_in(error) != _READ_ONLY:
                raise


def of_login(target: Target) -> tuple[tuple[str, str, str], ...]:
    """What the login sets: option, its value, a statement for the same. Nothing that is stated."""
    return ()


def _set(connection: Connection, name: str, value: str | None) -> None:
    with connection.cursor() as cursor:
        if name.startswith("@"):
            cursor.execute(f"SET {name} = %s", (value,))
        elif value is None or len(value) >= _LONGEST_SHOWN:
            cursor.execute(f"SET SESSION {name} = DEFAULT")
        else:
            cursor.execute(words_of_session(name, value))


def _named_by_user(statement: str) -> list[str]:
    return [
        token.text
        for token in _tokens(statement)
        if token.kind == "word" and token.text.startswith("@") and not token.text.startswith("@@")
    ]


def _tokens(statement: str) -> list[Token]:
    try:
        return tokens_of(statement)
    except NotSql:
        # The server says what is wrong with it.
        return []


def _variable(word: str) -> str:
    """The name of a variable, without the `@@` and the scope before it."""
    return word.lower().removeprefix("@@").rpartition(".")[2]


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
