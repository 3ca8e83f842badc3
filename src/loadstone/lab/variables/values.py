"""Values of a server's global variables: as people write them, and as the server has them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable

from loadstone.families import connect, family_of
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.facts import Value
from loadstone.servers.written_number import number


def known_variables(endpoint: Endpoint) -> dict[str, bool]:
    """All variables of a server by lower-case name, and whether each can be set at run time.

    Raises:
        TargetError: the server cannot be reached, or refuses to say.
    """
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        return family_of(endpoint.target).known_variables(connection, endpoint.target)


def refused_in_session(
    endpoint: Endpoint, settings: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Why a session may not set variables to values, by both; those that it may are left out.

    Each is set on a connection that is closed afterwards, so that nothing stays.

    Raises:
        TargetError: the server cannot be reached.
    """
    target = endpoint.target
    family = family_of(target)
    refused: dict[tuple[str, str], str] = {}
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        for name, value in settings:
            try:
                family.set_in_session(connection, target, name, value)
            except (SettingsError, TargetError) as error:
                refused[name, value] = error.message
    return refused


def read(connection: Connection, target: Target, name: str) -> Value:
    """Read a global variable's value.

    Raises:
        SettingsError: the server has no such variable.
        TargetError: the connection is gone.
    """
    return family_of(target).read_variables(connection, target, (name,))[name]


def literal(connection: Connection, target: Target, value: str, like: Value) -> str:
    """A value of a file as SQL, in the type of the current value: `1G` becomes a number.

    `ON` and the like stay words, which the server takes for its switches.
    """
    plain = number(value) if isinstance(like, int | float) else None
    return family_of(target).literal_of(connection, value if plain is None else plain)


def in_type(text: str, like: Value) -> Value:
    """A value that is known only as a text, in the type of the current value."""
    if isinstance(like, int) and re.fullmatch(r"-?\d+", text):
        return int(text)
    if isinstance(like, float) and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text)
    return text
