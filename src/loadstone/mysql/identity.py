"""Which server answers, by its variables and by when it was started."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.servers.connection import Connection
from loadstone.servers.identity import Identity

_LOOKS = 10


def identity_of(variables: Mapping[str, str], times: tuple[int, int] | None = None) -> Identity:
    """A server by its variables, and by when it was started and asked."""
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
    """What distinguishes a server from others at this moment, by its own words.

    Raises:
        TargetError: the connection was lost.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT @@hostname, @@datadir, @@server_id")
        return str(cursor.fetchone())


def times_of(connection: Connection, target: Target) -> tuple[int, int] | None:
    """When a server was started and what its clock says, in seconds since 1970.

    Its uptime is computed by the clock of the statement that asks for it. Where that began within
    the same second as those around it, their difference is the second of the start, to which the
    server keeps also where its clock is set. `None`: it is too far away for that.

    Raises:
        TargetError: it refused to say.
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
