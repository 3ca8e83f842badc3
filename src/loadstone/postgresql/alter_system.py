"""Sets a server's settings for all sessions, and undoes that: ALTER SYSTEM, and a reload.

ALTER SYSTEM writes to the file postgresql.auto.conf, which each start reads as well, so undoing it
means to leave that file as it was: with the text that was there, or without the setting. What
ALTER SYSTEM cannot change for the load's sessions (command line, roles, databases) is refused.

Source: https://www.postgresql.org/docs/current/sql-altersystem.html
"""

from __future__ import annotations

import re
import time
from typing import Any

from loadstone.model.hints import write
from loadstone.model.message import Message, say
from loadstone.model.target import Target
from loadstone.postgresql.administration import Administration
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import code_of, statement_errors
from loadstone.postgresql.facts import DENIED, quoted
from loadstone.postgresql.variables import is_dynamic, literal_of
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.facts import Value
from loadstone.servers.sanitize import plain

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")

_LISTS = frozenset(
    {
        "local_preload_libraries", "search_path", "session_preload_libraries",
        "shared_preload_libraries", "temp_tablespaces", "unix_socket_directories",
    }
)  # fmt: skip
"""Lists whose elements are quoted one by one: a text with commas would become one element."""

_OF_THE_LOAD = frozenset({"application_name", "client_encoding", "standard_conforming_strings"})
"""What the engine sets at each login of its own: `login_options` in its PostgreSQL family."""

_WINS: dict[str, Message] = {
    "command line": say("it is on the server's command line, which wins over ALTER SYSTEM"),
    "environment variable": say("it is in the server's environment, which wins over ALTER SYSTEM"),
    "database": say("ALTER DATABASE sets it for the load's sessions, which wins over ALTER SYSTEM"),
    "user": say("ALTER ROLE sets it for the load's sessions, which wins over ALTER SYSTEM"),
}

_SET_FOR_SOME = (
    "SELECT CASE WHEN s.setrole = 0 THEN 'database' ELSE 'user' END FROM pg_db_role_setting AS s"
    " LEFT JOIN pg_database AS d ON d.oid = s.setdatabase"
    " LEFT JOIN pg_roles AS r ON r.oid = s.setrole"
    " WHERE (s.setdatabase = 0 OR d.datname = %s) AND (s.setrole = 0 OR r.rolname = current_user)"
    " AND EXISTS (SELECT FROM unnest(s.setconfig) AS one"
    " WHERE lower(split_part(one, '=', 1)) = %s) LIMIT 1"
)

_KEPT = (
    "SELECT setting FROM pg_file_settings WHERE sourcefile LIKE '%%/postgresql.auto.conf'"
    " AND lower(name) = %s ORDER BY seqno DESC LIMIT 1"
)

# After an error in the names or the syntax of its files a server applies none of their lines.
_UNREAD = (
    "SELECT sourcefile, sourceline, coalesce(error, '') FROM pg_file_settings"
    " WHERE error IS NOT NULL AND NOT (SELECT bool_or(applied) FROM pg_file_settings)"
    " ORDER BY seqno LIMIT 1"
)

_RIGHTS = say(
    "ALTER SYSTEM takes a superuser; so do pg_reload_conf() and the view pg_file_settings"
)
_RELOADED_S = 30.0
_POLL_S = 0.01


def kept_for_start(connection: Connection, target: Target, name: str) -> str | None:
    """The text that postgresql.auto.conf has for a setting; `None`: it has none.

    Raises:
        SettingsError: this account may not see it, or the server reads none of its files at
            present, so that it could not be put back.
        TargetError: the connection is gone.
    """
    row = _row(connection, target, name, _KEPT, name.lower())
    with statement_errors(target):
        unread = _why_unread(of(connection).current)
    if unread is not None:
        raise _refused(name, unread, say("correct that line; SELECT * FROM pg_file_settings"))
    return None if row is None else str(row[0])


def set_variable(connection: Connection, target: Target, name: str, value: str) -> None:
    """Set a setting for all sessions; `value` is SQL. In effect when this returns.

    Raises:
        SettingsError: the server refused, or something else decides the value.
        TargetError: the connection is gone.
    """
    _check_can_be_set(connection, target, name)
    _alter(connection, target, name, f"SET {_quoted(name)} = {value}")
    _check_in_effect(connection, target, name)


def put_variable_back(
    connection: Connection, target: Target, name: str, value: Value, kept: str | None
) -> None:
    """Give a setting its place in postgresql.auto.conf back, or remove it there if it had none.

    `value`, which it had in effect, then comes from where it came from before.

    Raises:
        SettingsError: the server refused.
        TargetError: the connection is gone.
    """
    what = f"RESET {_quoted(name)}"
    if kept is not None:
        what = f"SET {_quoted(name)} = {literal_of(connection, kept)}"
    _alter(connection, target, name, what)


def _check_can_be_set(connection: Connection, target: Target, name: str) -> None:
    """Refuse what ALTER SYSTEM does not change for the load's sessions.

    Raises:
        SettingsError: says what decides the value.
    """
    row = _row(
        connection, target, name,
        "SELECT context, source FROM pg_settings WHERE lower(name) = %s", name.lower(),
    )  # fmt: skip
    if row is None:
        raise _refused(name, say("there is no such setting"), say("SHOW ALL lists them all"))
    context, source = map(str, row)
    if not is_dynamic(context):
        why = say("it is read only when the server or a session starts")
        raise _refused(name, why, say("write it under startup"))
    if name.lower() in _LISTS:
        why = say("it is a list of names, which ALTER SYSTEM writes in another way")
        raise _refused(name, why, say("set it on the server before the run"))
    if name.lower() in _OF_THE_LOAD:
        why = say("each session of the load sets it by itself, which wins over ALTER SYSTEM")
        raise _refused(name, why, say("leave it out"))
    others = _row(connection, target, name, _SET_FOR_SOME, target.database or "", name.lower())
    wins = _WINS.get(str(others[0]) if others else source)
    if wins is not None:
        raise _refused(name, wins, say("leave it out, or remove that setting first"))


def _why_unread(at: Administration) -> Message | None:
    """Which line keeps the server from reading its configuration files again, if one does."""
    row = next(iter(at.run(_UNREAD).rows or ()), None)
    if row is None:
        return None
    file, line, error = (plain(str(each)) for each in row)
    return say(
        "the server reads none of its configuration files as long as {place} is wrong: {error}",
        place=f"{file}:{line}",
        error=error,
    )


def _check_in_effect(connection: Connection, target: Target, name: str) -> None:
    """Check that the server has taken the file over, in which another line may be wrong.

    Raises:
        SettingsError: it has not.
    """
    row = _row(
        connection, target, name,
        "SELECT source FROM pg_settings WHERE lower(name) = %s", name.lower(),
    )  # fmt: skip
    # This session may have a value of its own, as of statement_timeout; the load's have not.
    if row and row[0] not in ("configuration file", "session"):
        why = say("the server did not take its configuration files over")
        raise _refused(name, why, say("see its log, and SELECT * FROM pg_file_settings"))


def _alter(connection: Connection, target: Target, name: str, what: str) -> None:
    """Change postgresql.auto.conf, and wait until this session has read it again.

    Raises:
        SettingsError: the server refused.
        TargetError: the connection is gone, or the server did not read it in time.
    """
    at = of(connection).current
    try:
        with statement_errors(target):
            at.run(f"ALTER SYSTEM {what}")
            _reload(at, target)
    except TargetError as error:
        if error.kind != "statement_failed" or code_of(error) is None:
            raise
        hint = _RIGHTS if code_of(error) == DENIED else write("64MB")
        raise _refused(name, error.message, hint) from error


def _reload(at: Administration, target: Target) -> None:
    """Have the server read its files again; each session does so before its next statement."""
    unread = _why_unread(at)
    if unread is not None:
        raise TargetError("statement_failed", unread)
    loaded, until = _loaded(at), time.monotonic() + _RELOADED_S
    at.run("SELECT pg_reload_conf()")
    while _loaded(at) == loaded:
        if time.monotonic() > until:
            raise TargetError(
                "timed_out",
                say("{place} did not read its settings again in time", place=target.place),
            )
        time.sleep(_POLL_S)


def _loaded(at: Administration) -> Any:
    return at.run("SELECT pg_conf_load_time()::text").rows[0][0]


def _row(
    connection: Connection, target: Target, name: str, sql: str, *values: str
) -> tuple[Any, ...] | None:
    """The first row of an answer.

    Raises:
        SettingsError: the name is none, or this account may not ask.
        TargetError: the connection is gone.
    """
    _quoted(name)
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(sql, values)
            row = cursor.fetchone()
    except TargetError as error:
        if code_of(error) != DENIED:
            raise
        raise _refused(name, error.message, _RIGHTS) from error
    return None if row is None else tuple(row)


def _quoted(name: str) -> str:
    """A setting's name in SQL; one of an extension has a point in it.

    Raises:
        SettingsError: it is none.
    """
    if not _NAME.fullmatch(name):
        said = say("{value} is not the name of a variable", value=repr(name))
        raise SettingsError(said, write("work_mem"))
    return ".".join(quoted(part.lower()) for part in name.split("."))


def _refused(name: str, why: str, hint: Message) -> SettingsError:
    return SettingsError(say("cannot set {name}: {reason}", name=name, reason=why), hint)
