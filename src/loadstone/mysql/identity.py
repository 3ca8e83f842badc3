"""Recognises servers, by their variables and by their start time."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.errors import number_in
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.identity import Identity

_LOOKS = 10

# What a compatible server answers that has not all of these variables: a syntax error, an unknown
# error, an unknown variable, one that is not supported.
_NOT_SAID = (1064, 1105, 1193, 1235)


def identity_of(variables: Mapping[str, str], times: tuple[int, int] | None = None) -> Identity:
    """The identity of a server from its variables, its start time and the time of asking."""
    started_s, seen_s = times or (None, None)
    return Identity(
        server_uuid=variables.get("server_uuid"),
        datadir=variables.get("datadir"),
        hostname=variables.get("hostname"),
        server_id=variables.get("server_id"),
        started_s=started_s,
        seen_s=seen_s,
    )


def server_of(connection: Connection, target: Target) -> str:
    """An identifier that distinguishes a server from others at this moment, by its own account.

    It is the server's address if a compatible server does not say.

    Raises:
        TargetError: the connection was lost.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute("SELECT @@hostname, @@datadir, @@server_id")
            return str(cursor.fetchone())
    except TargetError as error:
        if number_in(error) not in _NOT_SAID:
            raise
        return target.place


def times_of(connection: Connection, target: Target) -> tuple[int, int] | None:
    """When a server was started and what its clock says, in seconds since 1970.

    The server computes its uptime at the start of the statement that asks for it. If the clock
    shows the same second before and after that statement, the difference is the second of the
    start, which stays the same even if the server's clock is set. `None`: the server is too far
    away for that.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:

        def asked(statement: str) -> int:
            cursor.execute(statement)
            row = cursor.fetchone()
            said = str(row[-1]) if row else ""
            return int(said) if said.isdecimal() else -1

        for _ in range(_LOOKS):
            before_s = asked("SELECT UNIX_TIMESTAMP()")
            up_s = asked("SHOW GLOBAL STATUS LIKE 'Uptime'")
            now_s = asked("SELECT UNIX_TIMESTAMP()")
            if before_s == now_s >= up_s >= 0:
                return now_s - up_s, now_s
    return None
