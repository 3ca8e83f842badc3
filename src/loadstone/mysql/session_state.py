"""What a session has set: its variables, and those of the user that statements name.

Variables are read by SHOW: ProxySQL keeps a session for who asks for an `@`, and so would not do
for the reader what it does for the load.

Source: https://proxysql.com/documentation/multiplexing/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import number_in
from loadstone.mysql.session import words_of_session
from loadstone.mysql.tokens import NotSql, Token, name_of, tokens_of, with_code
from loadstone.mysql.variables import is_restless
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError

_NUMBER = "SELECT CONNECTION_ID() + 0"
"""ProxySQL answers a plain CONNECTION_ID() itself, with its own number of the client."""

_FOR_ALL = frozenset("GLOBAL PERSIST PERSIST_ONLY PASSWORD RESOURCE DEFAULT STATEMENT".split())
"""What follows SET, or a comma, where nothing of the session is set."""

_OTHER = (_FOR_ALL - {"DEFAULT"}) | {"ROLE", "FROM", "INTO"}
"""Words of a SET that sets no variables of the session, or does something else besides."""

_PURE = frozenset("SELECT CONCAT CONCAT_WS REPLACE TRIM LOWER UPPER IF IFNULL".split())
"""What may stand before a parenthesis and changes nothing."""

_BY_WORD: Mapping[str, tuple[str, ...]] = {
    "ISOLATION": ("transaction_isolation", "tx_isolation"),
    "ONLY": ("transaction_read_only", "tx_read_only"),
    "WRITE": ("transaction_read_only", "tx_read_only"),
    "NAMES": ("character_set_client", "character_set_results"),
    "CHARACTER": ("character_set_client", "character_set_results"),
    "CHARSET": ("character_set_client", "character_set_results"),
}
"""What statements set without its name, which is not the same on all servers."""

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
    words = [name_of(token).upper() for token in tokens if token.kind in ("word", "name")]
    if words[:1] != ["SET"] or words[1:2] == ["TRANSACTION"]:
        return False
    calls = (before for before, after in pairwise(tokens) if after.text == "(")
    return not (
        any(token.text == ";" for token in tokens[:-1])
        or any(each.kind in ("word", "name") and each.text.upper() not in _PURE for each in calls)
        or any(_scope(word) in _OTHER or is_restless(_variable(word)) for word in words[1:])
    )


def sets_session(statement: str) -> bool:
    """Whether a statement is a SET that leaves something in the session, shown or not."""
    tokens = _tokens(statement)
    if not tokens or tokens[0].text.upper() != "SET":
        return False
    after = [token for before, token in pairwise(tokens) if before.text == ","]
    return not all(_scope(name_of(each).upper()) in _FOR_ALL for each in (*tokens[1:2], *after))


def named(statement: str) -> set[str]:
    """What a SET names, as `shown` would have it; a server may not know all of it."""
    tokens = _tokens(statement)
    if not tokens or tokens[0].text.upper() != "SET":
        return set()
    own = {name for token in tokens for name in _BY_WORD.get(token.text.upper(), ())}
    assigned = (name_of(name) for name, sign in pairwise(tokens) if sign.text in ("=", ":="))
    return own | {name if name[:1] == "@" != name[1:2] else _variable(name) for name in assigned}


def attempt(connection: Connection, target: Target, statement: str) -> TargetError | None:
    """Execute a statement in a transaction, which goes on if it is refused.

    Returns:
        The refusal; `None`: it was executed.

    Raises:
        TargetError: the server did not answer.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(statement)
    except TargetError as error:
        if error.kind != "statement_failed":
            raise
        return error
    return None


def undo(connection: Connection, target: Target, before: Mapping[str, str | None]) -> list[str]:
    """End a transaction, and set back what it has set: no rollback does that.

    Returns:
        Names that the server refused to set back.

    Raises:
        TargetError: the connection was lost.
    """
    kept = set_back(connection, target, before)
    with statement_errors(target):
        connection.rollback()
    return kept


def set_back(connection: Connection, target: Target, before: Mapping[str, str | None]) -> list[str]:
    """Set variables of the session to values that `shown` had, or else to the server's own.

    Returns:
        Names that the server refused to set back.

    Raises:
        TargetError: the server did not answer.
    """
    kept = []
    # Setting autocommit ends a transaction, which holds the session.
    for name in sorted(before, key=lambda name: name == "autocommit"):
        # Some show a text that they do not take.
        refused = _refused(connection, target, name, before[name])
        if refused and _refused(connection, target, name, None):
            # Some follow others, and cannot be set themselves.
            if number_in(refused) != _READ_ONLY:
                kept.append(name)
    return kept


def of_loading() -> tuple[str, ...]:
    """What each connection sets that fills tables, and others must not get."""
    return ("SET SESSION foreign_key_checks = 0",)


def of_login(target: Target) -> tuple[tuple[str, str, str], ...]:
    """What the login sets: option, its value, a statement for the same. Nothing that is stated."""
    return ()


def _refused(
    connection: Connection, target: Target, name: str, value: str | None
) -> TargetError | None:
    try:
        with statement_errors(target):
            _set(connection, name, value)
    except TargetError as error:
        if error.kind != "statement_failed":
            raise
        return error
    return None


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
        return with_code(tokens_of(statement))
    except NotSql:
        # The server says what is wrong with it.
        return []


def _scope(word: str) -> str:
    """The scope in the name of a variable, in capitals; other words as they are."""
    return word.removeprefix("@@").partition(".")[0] if word.startswith("@@") else word


def _variable(word: str) -> str:
    """The name of a variable, without the `@@` and the scope before it."""
    return word.lower().removeprefix("@@").rpartition(".")[2]


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
