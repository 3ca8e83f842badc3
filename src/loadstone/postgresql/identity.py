"""Recognises servers, by the identifier of their data and by their start time.

A standby, and a copy of the data, has the identifier of the server that it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.target import Target
from loadstone.postgresql.errors import code_of, statement_errors
from loadstone.postgresql.facts import DENIED, SYSTEM_IDENTIFIER
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.identity import Identity


def identity_of(variables: Mapping[str, str], times: tuple[int, int] | None = None) -> Identity:
    """The identity of a server from its settings, its start time and the time of asking."""
    started_s, seen_s = times or (None, None)
    return Identity(
        server_id=variables.get(SYSTEM_IDENTIFIER),
        datadir=variables.get("data_directory"),
        started_s=started_s,
        seen_s=seen_s,
    )


def server_of(connection: Connection, target: Target) -> str:
    """What distinguishes it from other servers at this moment: its data, and when it was started.

    Raises:
        TargetError: the connection was lost.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()::text")
        (started,) = cursor.fetchone()
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute("SELECT system_identifier FROM pg_control_system()")
            return f"{cursor.fetchone()[0]} {started}"
    except TargetError as error:
        if code_of(error) != DENIED:
            raise
        return f"{target.place} {started}"


def times_of(connection: Connection, target: Target) -> tuple[int, int] | None:
    """When a server was started and what its clock says, in seconds since 1970.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM pg_postmaster_start_time())::bigint,"
            " extract(epoch FROM clock_timestamp())::bigint"
        )
        started_s, now_s = cursor.fetchone()
    return int(started_s), int(now_s)
