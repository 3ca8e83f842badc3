"""How the variables of each kind of server are listed, drawn, set and put back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pymysql

from faults.case import Draw, Server
from faults.drawn import postgresql_settings
from faults.drawn.variables import Variable, draw_value, read_variables
from loadstone.servers.connection import Cursor

_FOLLOWING = ("gtid_",)
"""Starts of names of what follows the load, and is never set."""


@dataclass(frozen=True)
class Handling:
    """What one kind of server takes."""

    listed: Callable[[Cursor], tuple[Variable, ...]]
    """Those that may be drawn, by name."""
    drawn: Callable[[Draw, Variable], str | None]
    """Another value; `None`: there is none on the side that was drawn."""
    values: Callable[[Cursor], dict[str, str]]
    """All variables, for sessions to come."""
    set: Callable[[Cursor, str, str], None]
    """For all sessions that begin from then on."""
    put_back: Callable[[Cursor, Mapping[str, str]], None]
    """Give these their values; what the server refuses stays as it is."""


def _values(cursor: Cursor) -> dict[str, str]:
    cursor.execute("SHOW GLOBAL VARIABLES")
    return {
        str(name): str(value)
        for name, value in cursor.fetchall()
        if not str(name).startswith(_FOLLOWING)
    }


def _set(cursor: Cursor, name: str, value: str) -> None:
    cursor.execute(f"SET GLOBAL {name} = {_literal(value)}")


def _put_back(cursor: Cursor, before: Mapping[str, str]) -> None:
    for name, value in before.items():
        with suppress(pymysql.MySQLError):  # then it stays
            _set(cursor, name, value)


def _literal(value: str) -> str:
    try:
        float(value)
    except ValueError:
        return "'" + value.replace("'", "''") + "'"
    return value


def _of_mysql(*, mariadb: bool) -> Handling:
    listed = partial(read_variables, mariadb=mariadb)
    return Handling(listed, draw_value, _values, _set, _put_back)


HANDLING: Mapping[Server, Handling] = {
    "mariadb": _of_mysql(mariadb=True),
    "mysql": _of_mysql(mariadb=False),
    "postgresql": Handling(
        listed=postgresql_settings.listed,
        drawn=postgresql_settings.draw_setting,
        values=postgresql_settings.values,
        set=postgresql_settings.set_one,
        put_back=postgresql_settings.put_back,
    ),
}
