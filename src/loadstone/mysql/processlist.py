"""The connections of a server, as it lists them for any client."""

from __future__ import annotations

import secrets
from typing import Any

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.servers.connection import Connection
from loadstone.servers.processes import Process, port_of

_NAMES = ("id", "user", "host", "command", "time", "info")

GREETED = 0xFFFF_FFFF
"""The bits of a connection's number for which a greeting has room."""

SEE_OTHERS = "PROCESS"
"""The privilege to see connections of other accounts."""


def processes(connection: Connection, target: Target) -> tuple[Process, ...]:
    """All connections that this account may see; empty if the server has no such list.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    # The number in the greeting is the proxy's, if there is one in between.
    token = secrets.token_hex(8)
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SHOW /* {token} */ PROCESSLIST")
        columns = [column[0].lower() for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return tuple(_process(row, token) for row in rows if set(_NAMES) <= set(row))


def _process(row: dict[str, object], token: str) -> Process:
    number, user, address, command, silent_s, info = (row[name] for name in _NAMES)
    return Process(
        number=int(str(number)),
        user=str(user),
        address=str(address or ""),
        command=str(command),
        silent_s=silent_s if isinstance(silent_s, int) else None,
        asks=token in str(info),
    )


def is_passed_on(connection: Connection, target: Target) -> bool:
    """Whether there is a proxy in between: then statements may reach different servers.

    It stays so for a connection: the list, which may have thousands of rows, is read once.

    Raises:
        TargetError: as `processes`.
    """
    own: Any = connection
    if own.is_passed_on is None:
        listed = [one.number & GREETED for one in processes(connection, target) if one.asks]
        own.is_passed_on = bool(listed) and listed != [number_of(connection)]
    passed_on: bool = own.is_passed_on
    return passed_on


def is_readdressed(connection: Connection, target: Target) -> bool:
    """Whether the server sees this connection at another port than the one that it comes from.

    A proxy opens a connection of its own to the server. An address translation (NAT) usually keeps
    the port, and costs next to nothing.

    Raises:
        TargetError: as `processes`.
    """
    listed = [port_of(one.address) for one in processes(connection, target) if one.asks]
    seen = [port for port in listed if port is not None]
    own: Any = connection
    # A unix socket has no port, on neither side.
    return bool(seen) and own._sock.getsockname()[1] not in seen


def number_of(connection: Connection) -> int:
    """The number of a connection, as the greeting said it."""
    own: Any = connection
    number: int = own.thread_id()
    return number
