"""A server's global variables, one at a time: read, written as SQL, set."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence

from loadstone.lab.variables.journal import SettingsError, Value
from loadstone.model.target import Target
from loadstone.mysql.connect import Connection, statement_errors
from loadstone.mysql.errors import TargetError

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def read(connection: Connection, target: Target, name: str) -> Value:
    """A global variable's value.

    Raises:
        SettingsError: the server has no such variable.
        TargetError: the connection is gone.
    """
    return read_all(connection, target, (name,))[name]


def read_all(connection: Connection, target: Target, names: Sequence[str]) -> dict[str, Value]:
    """The values of several at one moment.

    Raises:
        SettingsError, TargetError: as `read`.
    """
    if not names:
        return {}
    for name in names:
        if not _NAME.fullmatch(name):
            raise SettingsError(f"{name!r} is not the name of a variable", "write sync_binlog")
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in names)}")
            row = cursor.fetchone() or (None,) * len(names)
    except TargetError as error:
        if error.errno in (1193, 1238):  # unknown; a session's alone
            hint = "SHOW GLOBAL VARIABLES has all that there are"
            said = f"{target.place} has no global {' or no '.join(names)}"
            raise SettingsError(said, hint) from error
        raise
    return {name: _value(each) for name, each in zip(names, row, strict=True)}


def _value(value: object) -> Value:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, int | float) or value is None else str(value)


def set_variable(connection: Connection, target: Target, name: str, value: str) -> None:
    """Set it for all new sessions; `value` is SQL.

    Raises:
        SettingsError: the server refused.
        TargetError: the connection is gone.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = {value}")
    except TargetError as error:
        if error.errno is None or error.kind != "statement_failed":
            raise
        hint = (
            "only variables that change while the server runs can be set: see docs/experiments.md"
        )
        if error.errno in (1044, 1227):
            hint = "GRANT SYSTEM_VARIABLES_ADMIN (MySQL), SUPER or BINLOG ADMIN and the like"
        raise SettingsError(f"cannot set {name} to {value}: {error.message}", hint) from error


def literal(connection: Connection, value: str, like: Value) -> str:
    """A value of a file as SQL, in the type of the one that is there: `1G` where that is a number.

    `ON` and the like stay words, which the server takes for its switches.
    """
    if not isinstance(like, int | float):
        return literal_of(connection, value)
    plain = number(value)
    return literal_of(connection, value if plain is None else plain)


def number(text: str) -> int | float | None:
    """`1G`, `20`, `0.5`; `None` for a word."""
    sized = re.fullmatch(r"(-?\d+)([kmgt]?)", text.strip().lower())
    if sized:
        return int(sized[1]) * _SIZES[sized[2]]
    return float(text) if re.fullmatch(r"-?\d*\.\d+", text.strip()) else None


def literal_of(connection: Connection, value: Value) -> str:
    """The SQL of a value that the server gave; text that is not there is the default's."""
    if value is None:
        return "DEFAULT"
    if isinstance(value, str):
        quoted: str = connection.escape(value)
        return quoted
    return repr(value)


def in_type(text: str, like: Value) -> Value:
    """A value that is known as a text only, in the type of the one that is there now."""
    if isinstance(like, int) and re.fullmatch(r"-?\d+", text):
        return int(text)
    if isinstance(like, float) and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text)
    return text
