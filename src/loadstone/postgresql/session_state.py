"""What a session has set: its settings, also those that only extensions and users know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from loadstone.model.target import Target
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.session import words_of_session
from loadstone.postgresql.tokens import NotSql, tokens_of
from loadstone.postgresql.variables import is_restless
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError

_SETTINGS = "SELECT lower(name), setting FROM pg_settings"

_LIMIT = "statement_timeout"

_UNLISTED = ("role", "session_authorization")
"""Settings that no view lists, nor those with a dot in their name that no extension has made."""

_OTHER = frozenset("LOCAL TRANSACTION CONSTRAINTS".split())
"""What a SET sets that is of a transaction alone."""

_BY_WORD = {
    "ISOLATION": "default_transaction_isolation",
    "ONLY": "default_transaction_read_only",
    "WRITE": "default_transaction_read_only",
    "ZONE": "timezone",
    "NAMES": "client_encoding",
    "SCHEMA": "search_path",
    "AUTHORIZATION": "session_authorization",
}
"""What statements set without its name."""

_OPTION = re.compile(r"(?:-c\s*|--)((?:[^\s\\=]|\\.)+)=((?:[^\s\\]|\\.)*)")
"""A setting in a login's `options`, where a backslash escapes what follows it.

Source: https://www.postgresql.org/docs/current/protocol-message-formats.html, StartupMessage
"""


def number(connection: Connection, target: Target) -> int:
    """The number of the server's process that executes this statement.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def shown(
    connection: Connection, target: Target, statements: Sequence[str]
) -> dict[str, str | None]:
    """All settings of the session, in the units of pg_settings; to be read in a transaction.

    A limit of statements that the session has set is not one for this reading.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    unlisted = [*_UNLISTED, *(name for each in statements for name in _with_dots(each))]
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SHOW {_LIMIT}")
        limit = cursor.fetchone()[0]
        cursor.execute("SAVEPOINT before_reading")
        cursor.execute(f"SET LOCAL {_LIMIT} = 0")
        cursor.execute(_SETTINGS)
        found = {str(name): value for name, value in cursor.fetchall()}
        for name in unlisted:
            cursor.execute("SELECT current_setting(%s, true)", (name,))
            # Once it was set, a setting of the user's own remains as an empty text.
            found[name] = cursor.fetchone()[0] or None
        cursor.execute("ROLLBACK TO SAVEPOINT before_reading")
        found[_LIMIT] = limit
    return {name: value for name, value in found.items() if not is_restless(name)}


def only_sets(statement: str) -> bool:
    """Whether a statement does nothing but set what `shown` has."""
    texts = [text for _, text in _tokens(statement)]
    return sets_session(statement) and ";" not in texts[:-1]


def sets_session(statement: str) -> bool:
    """Whether a statement is a SET that leaves something in the session, shown or not."""
    words = [text.upper() for kind, text in _tokens(statement) if kind == "word"]
    return words[:1] == ["SET"] and words[1:2] != [] and words[1] not in _OTHER


def named(statement: str) -> set[str]:
    """What a SET names, as `shown` would have it; a server may not know all of it."""
    tokens = [text for kind, text in _tokens(statement) if kind in ("word", "name")]
    words = [text.upper() for text in tokens]
    if words[:1] != ["SET"]:
        return set()
    own = [_BY_WORD[word] for word in words if word in _BY_WORD]
    begin = 2 if words[1:2] == ["SESSION"] else 1
    first = [text.replace('"', "").lower() for text in tokens[begin : begin + 1]]
    return {*own, *(_with_dots(statement) or first)}


def attempt(connection: Connection, target: Target, statement: str) -> TargetError | None:
    """Execute a statement in a transaction, which goes on if it is refused.

    Returns:
        The refusal; `None`: it was executed.

    Raises:
        TargetError: the connection was lost.
    """
    with connection.cursor() as cursor:
        with statement_errors(target):
            cursor.execute("SAVEPOINT before_it")
        try:
            with statement_errors(target):
                cursor.execute(statement)
        except TargetError as error:
            if error.kind != "statement_failed":
                raise
            with statement_errors(target):
                cursor.execute("ROLLBACK TO SAVEPOINT before_it")
            return error
    return None


def undo(connection: Connection, target: Target, before: Mapping[str, str | None]) -> list[str]:
    """Roll a transaction back, and with it what it has set; returns that nothing is kept.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target):
        connection.rollback()
    return []


def set_back(connection: Connection, target: Target, before: Mapping[str, str | None]) -> list[str]:
    """Set settings of the session to what it began with, which other clients had.

    Returns:
        Names that the server refused to set back.

    Raises:
        TargetError: the connection was lost.
    """
    return [name for name in before if attempt(connection, target, f"RESET {_quoted(name)}")]


def of_loading() -> tuple[str, ...]:
    """What each connection sets that fills tables: `refuse_shared` has refused poolers for it."""
    return ()


def of_login(target: Target) -> tuple[tuple[str, str, str], ...]:
    """What the login sets: option, its value, a statement for the same.

    A pooler refuses options that it does not know itself, unless it is configured to ignore them.
    """
    return tuple(
        ("options", f"-c {name}={value}", words_of_session(_setting(name), _plain(value)))
        for name, value in _OPTION.findall(target.startup_options or "")
    )


def _setting(name: str) -> str:
    """The name of a setting that an option gives, where servers read a hyphen as an underscore."""
    return _plain(name).replace("-", "_")


def _with_dots(statement: str) -> list[str]:
    """Names of two words in a SET, which are settings that no view may list."""
    tokens = _tokens(statement)
    return [
        f"{first}.{second}".replace('"', "").lower()
        for (kind, first), (_, dot), (after, second) in zip(
            tokens, tokens[1:], tokens[2:], strict=False
        )
        if dot == "." and {kind, after} <= {"word", "name"}
    ]


def _tokens(statement: str) -> list[tuple[str, str]]:
    try:
        return [(token.kind, token.text) for token in tokens_of(statement)]
    except NotSql:
        # The server says what is wrong with it.
        return []


def _quoted(name: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
