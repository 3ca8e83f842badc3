"""A server's settings: reads them, and writes their values as SQL; `alter_system` sets them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadstone.model.message import Joined, say
from loadstone.model.target import Target
from loadstone.postgresql.errors import code_of, statement_errors
from loadstone.postgresql.facts import DENIED, SHOWN
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.facts import Value
from loadstone.servers.sanitize import plain

_AT_STARTS = ("internal", "postmaster", "backend", "superuser-backend")
"""Contexts of settings that only a start of the server or of a session changes, or nothing does.

Source: https://www.postgresql.org/docs/current/view-pg-settings.html
"""

_RESTLESS = re.compile(r"in_hot_standby|transaction_(isolation|read_only|deferrable)|seed")


def known_variables(connection: Connection, target: Target) -> dict[str, bool]:
    """All settings by name in lower case, and whether each can be set while the server runs.

    Raises:
        TargetError: the server refused.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT name, context FROM pg_settings")
        return {str(name).lower(): is_dynamic(context) for name, context in cursor.fetchall()}


def is_dynamic(context: str) -> bool:
    """Whether settings of this context change in sessions that have started."""
    return context not in _AT_STARTS


def is_being_set(connection: Connection, target: Target, name: str) -> bool:
    """Whether the server still works on a value that was set: each is in effect at once."""
    return False


def is_restless(name: str) -> bool:
    """Whether a setting changes by itself or with every transaction, so that it is none."""
    return _RESTLESS.fullmatch(name) is not None


def read_variables(
    connection: Connection, target: Target, names: Sequence[str]
) -> dict[str, Value]:
    """The values of several settings at one moment, as texts with their units.

    Raises:
        SettingsError: the server has no such setting.
        TargetError: the connection is gone.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT lower(name), {SHOWN} FROM pg_settings WHERE lower(name) = ANY(%s)",
            ([name.lower() for name in names],),
        )
        found = {str(name): plain(str(value or "")) for name, value in cursor.fetchall()}
    if missing := [name for name in names if name.lower() not in found]:
        said = say(
            "{place} has no setting {names}", place=target.place, names=Joined(missing, "choices")
        )
        raise SettingsError(said, say("SHOW ALL lists them all"))
    return {name: found[name.lower()] for name in names}


def literal_of(connection: Connection, value: Value) -> str:
    """A value as an SQL literal; for a missing text, DEFAULT."""
    if value is None:
        return "DEFAULT"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def persisted_variables(connection: Connection, target: Target) -> dict[str, str]:
    """What ALTER SYSTEM has set for the next start; empty if this account may not see it.

    Raises:
        TargetError: the server refused, or the connection is gone.
    """
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, setting FROM pg_file_settings"
                " WHERE sourcefile LIKE '%postgresql.auto.conf' AND error IS NULL"
            )
            return {str(name).lower(): str(value) for name, value in cursor.fetchall()}
    except TargetError as error:
        if code_of(error) == DENIED:
            return {}
        raise
