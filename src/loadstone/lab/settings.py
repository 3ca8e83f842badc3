"""Sets a target's variables for a while, and puts them back however the while ends.

Each old value is on disk before its variable is touched (`settings_journal`). Whoever is killed in
between leaves the journal, and `loadstone restore` puts back what it says.

What somebody else has set in the meantime is left as it is, and told.
"""

from __future__ import annotations

import contextlib
import decimal
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadstone.lab.settings_journal import (
    Change,
    Journal,
    SettingsError,
    Staged,
    Value,
    left_behind,
    read_journal,
)
from loadstone.model.target import Endpoint, Target
from loadstone.target.connect import Connection, connect, statement_errors
from loadstone.target.errors import TargetError
from loadstone.target.introspect import describe_server

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
# What changes by itself or with every statement, and is nobody's setting.
_RESTLESS = re.compile(
    r"gtid_.*|timestamp|.*last_insert_id|insert_id|rand_seed\d|error_count|warning_count|"
    r"last_gtid|pseudo_.*|identity|in_transaction|innodb_buffer_pool_(load|dump)_(now|abort)"
)


@dataclass(frozen=True)
class PutBack:
    """What became of a journal."""

    restored: tuple[str, ...]
    """Variables that are as they were."""
    left: tuple[str, ...]
    """Variables that somebody else has set since, which were not touched."""


@contextlib.contextmanager
def staged(endpoint: Endpoint, wanted: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Set these global variables, and put them back at the end.

    Raises:
        SettingsError: the server has no such variable or takes no such value, an earlier run left
            its settings on this target, or they cannot be put back.
        TargetError: the target cannot be reached.
    """
    if not wanted:
        yield
        return
    journal = apply(endpoint, wanted, folder)
    try:
        yield
    finally:
        put_back(journal, endpoint)


def apply(endpoint: Endpoint, wanted: Mapping[str, str], folder: Path) -> Journal:
    """Set the variables; where one cannot be set, those before it are put back.

    Raises:
        SettingsError, TargetError: as `staged`.
    """
    _refuse_leftovers(endpoint.target, folder)
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        # All are read before any is set: an unknown one is found while nothing has happened.
        old = {name: read(connection, endpoint.target, name) for name in wanted}
        journal = Journal.begin(folder, endpoint.target)
        try:
            for name, value in wanted.items():
                _set_noting(connection, endpoint.target, journal, (name, value, old[name]))
        except BaseException:
            put_back(journal, endpoint)
            raise
    return journal


def _refuse_leftovers(target: Target, folder: Path) -> None:
    for other in left_behind(folder):
        if other.place == target.place:
            raise SettingsError(
                f"an earlier run's settings are still on {target.place}",
                "put them back first: loadstone restore (or wait until that run has ended)",
            )


def _set_noting(
    connection: Connection, target: Target, journal: Journal, change: tuple[str, str, Value]
) -> None:
    """Set one variable; others that the server changes with it are noted as well."""
    name, value, old = change
    before = describe_server(connection, target).variables
    journal.changing(name, old)
    _set(connection, target, name, literal(connection, value, old))
    journal.changed(name, read(connection, target, name))
    after = describe_server(connection, target).variables
    for other, was in before.items():
        if other != name and after.get(other) != was and not _RESTLESS.fullmatch(other):
            # The server has the text of its old value only: as a number where it is one.
            journal.changing(other, _as_value(was))
            journal.changed(other, read(connection, target, other))


def put_back(journal: Journal, endpoint: Endpoint) -> PutBack:
    """Put back what a journal says, newest first, and remove it.

    Raises:
        SettingsError: a variable is not as it was; the journal stays.
        TargetError: the target cannot be reached; the journal stays.
    """
    done = False
    try:
        staging = read_journal(journal.path)
        changes = staging.changes if staging else ()
        found = _put_back(changes, endpoint) if changes else PutBack((), ())
        done = True
        return found
    finally:
        journal.close(done=done)


def _put_back(changes: tuple[Change, ...], endpoint: Endpoint) -> PutBack:
    restored, left, refused = [], [], []
    target = endpoint.target
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        for change in reversed(changes):
            now = read(connection, target, change.variable)
            if not _alike(now, change.old):
                if not _alike(change.new, change.old) and not _alike(now, change.new):
                    left.append(change.variable)
                    continue
                _set(connection, target, change.variable, literal_of(connection, change.old))
            restored.append(change.variable)
        # Setting one may have moved another: all are looked at again at the end.
        for change in changes:
            if change.variable in left:
                continue
            now = read(connection, target, change.variable)
            if not _alike(now, change.old):
                refused.append(f"{change.variable} is {now!r}, not {change.old!r}")
    if refused:
        hint = "set them by hand, or try again: loadstone restore"
        raise SettingsError(f"{target.place}: not as it was: {'; '.join(refused)}", hint)
    return PutBack(tuple(restored), tuple(left))


def take_over(staging: Staged) -> Journal | None:
    """The journal of a run that has ended; `None` while it is still at work."""
    return Journal.take(staging.path)


def read(connection: Connection, target: Target, name: str) -> Value:
    """A global variable's value.

    Raises:
        SettingsError: the server has no such variable.
        TargetError: the connection is gone.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is not the name of a variable", "write sync_binlog")
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(f"SELECT @@GLOBAL.{name}")
            row = cursor.fetchone()
    except TargetError as error:
        if error.errno in (1193, 1238):  # unknown; a session's alone
            hint = "SHOW GLOBAL VARIABLES has all that there are"
            raise SettingsError(f"{target.place} has no global {name}", hint) from error
        raise
    value = row[0] if row else None
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, int | float) or value is None else str(value)


def _set(connection: Connection, target: Target, name: str, value: str) -> None:
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
    sized = re.fullmatch(r"(-?\d+)([kmgt]?)", value.strip().lower())
    if sized:
        return str(int(sized[1]) * _SIZES[sized[2]])
    if re.fullmatch(r"-?\d*\.\d+", value.strip()):
        return value.strip()
    return literal_of(connection, value)


def literal_of(connection: Connection, value: Value) -> str:
    """The SQL of a value that the server gave; text that is not there is the default's."""
    if value is None:
        return "DEFAULT"
    if isinstance(value, str):
        quoted: str = connection.escape(value)
        return quoted
    return repr(value)


def _as_value(text: str) -> Value:
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _alike(one: Value, other: Value) -> bool:
    """The same value: `1` and `ON` are, where one was read as a number and one as a text."""
    return one == other or _plain(one) == _plain(other)


def _plain(value: Value) -> str:
    said = str(value).strip().upper()
    return {"ON": "1", "OFF": "0", "TRUE": "1", "FALSE": "0"}.get(said, said)
