"""Looks at a throwaway server as its main user: whether it is up, and what it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadstone.families import connect
from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.spec import UNKNOWN_TO_SERVER
from loadstone.servers.connection import Timeouts
from loadstone.servers.errors import TargetError

_NOT_YET = ("no_socket", "unreachable", "timed_out", "protocol")


def answers(place: Place, command: Sequence[str], login: Endpoint) -> bool:
    """Whether the user can log in.

    Raises:
        SandboxError: the server is up, and will never accept the login.
    """
    try:
        connect(login, Timeouts(connect_s=5)).close()
    except TargetError as error:
        if error.kind in _NOT_YET:
            return False
        said = say("the server is up, but {reason}", reason=error.message)
        raise SandboxError(said, error.hint) from error
    return True


def look_inside(
    place: Place, command: Sequence[str], login: Endpoint, asked: Mapping[str, str]
) -> tuple[set[str], dict[str, str]]:
    """All users that the server has, and its values of the variables that were set."""
    with connect(login) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT user FROM mysql.user")
        users = {str(row[0]) for row in cursor.fetchall()}
        cursor.execute("SHOW GLOBAL VARIABLES")
        values = {str(row[0]): str(row[1]) for row in cursor.fetchall()}
    return users, {name: _value_of(name, values, asked[name]) for name in asked}


def _value_of(name: str, values: Mapping[str, str], asked: str) -> str:
    plain = name.removeprefix("loose_")
    if plain in values:
        return values[plain]
    return UNKNOWN_TO_SERVER if name != plain else asked
