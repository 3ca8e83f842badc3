"""Sets a target's variables for a while, and puts them back however the while ends.

Each old value is on disk before its variable is touched (`settings_journal`). Whoever is killed in
between leaves the journal, and `loadstone restore` puts back what it says.

What somebody else has set in the meantime is left as it is, and told.
"""

from __future__ import annotations

import contextlib
import decimal
import re
import time
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from loadstone.lab.settings_journal import (
    Change,
    Journal,
    SettingsError,
    Staged,
    Value,
    alike,
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


# How long a variable may take that is not changed at once.
_SLOW_S = 30.0
_POLL_S = 0.05
# Some variables bound each other (a capacity and its maximum): the first round may clip one.
_ROUNDS = 2


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
    target = endpoint.target
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        # All are read before any is set: an unknown one is found while nothing has happened.
        old = {name: read(connection, target, name) for name in wanted}
        journal = Journal.begin(folder, target, describe_server(connection, target).variables)
        try:
            for name, value in wanted.items():
                _set_noting(connection, target, journal, (name, value, old[name]))
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
    """Set one variable; others that the server changes with it are noted before it is done."""
    name, value, old = change
    before = describe_server(connection, target).variables
    journal.changing(name, old)
    _set(connection, target, name, literal(connection, value, old))
    _check_taken(connection, target, change)
    for other in _moved(connection, target, before, {name}):
        journal.changing(other.variable, other.old)
        journal.changed(other.variable, other.new)
    journal.changed(name, read(connection, target, name))


def _check_taken(connection: Connection, target: Target, change: tuple[str, str, Value]) -> None:
    """Servers clip and round numbers, with no more than a warning: the plan would say another."""
    name, value, old = change
    wanted = number(value)
    if not isinstance(old, int | float) or wanted is None or wanted == old:
        return
    now = _waited_for(connection, target, name, lambda now: now != old)
    if now != wanted:
        said = f"{target.place} made {now} of {name} = {value}"
        raise SettingsError(said, "write a value that it takes as it is; see SHOW WARNINGS there")


def _waited_for(
    connection: Connection, target: Target, name: str, is_good: Callable[[Value], bool]
) -> Value:
    """A variable's value, as soon as it is good; some (the buffer pool's size) take their time."""
    until = time.monotonic() + _SLOW_S
    while not is_good(now := read(connection, target, name)) and time.monotonic() < until:
        time.sleep(_POLL_S)
    return now


def _moved(
    connection: Connection, target: Target, before: Mapping[str, str], known: Set[str]
) -> list[Change]:
    """Variables that are not what they were, but for those that are known to be changed."""
    after = describe_server(connection, target).variables
    names = (
        name
        for name, was in before.items()
        if name not in known and after.get(name, was) != was and not _RESTLESS.fullmatch(name)
    )
    values = ((name, read(connection, target, name)) for name in names)
    return [Change(name, _in_type(before[name], now), now) for name, now in values]


def put_back(journal: Journal, endpoint: Endpoint) -> PutBack:
    """Put back what a journal says, newest first, and remove it.

    Raises:
        SettingsError: a variable is not as it was; the journal stays.
        TargetError: the target cannot be reached; the journal stays.
    """
    done = False
    try:
        staging = read_journal(journal.path)
        found = PutBack((), ())
        if staging and staging.changes:
            found = _put_back(staging, journal, endpoint)
        done = True
        return found
    finally:
        journal.close(done=done)


def _put_back(staging: Staged, journal: Journal, endpoint: Endpoint) -> PutBack:
    target = endpoint.target
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        ours, left = _judged(connection, target, staging)
        with contextlib.suppress(SettingsError):
            # On a full disk: to put back now is worth more than to be able to put back twice.
            journal.restoring(ours)
        for _ in range(_ROUNDS):
            for change in reversed(ours):
                if not change.is_undone(read(connection, target, change.variable)):
                    value = literal_of(connection, change.old)
                    _set(connection, target, change.variable, value)
        _check_as_it_was(connection, target, ours)
    return PutBack(tuple(change.variable for change in ours), left)


def _judged(
    connection: Connection, target: Target, staging: Staged
) -> tuple[list[Change], tuple[str, ...]]:
    """What is to be put back, and what somebody else has set since.

    Judged before anything is put back, which may move others again, and only once: who was killed
    while putting back leaves values that are nobody's.
    """
    changes = list(staging.changes)
    if staging.restoring is not None:
        return [change for change in changes if change.variable in staging.restoring], ()
    if staging.cut_short:
        # What the last change brought about was not noted: whatever else differs, it was that.
        known = {change.variable for change in changes}
        changes += _moved(connection, target, staging.before, known)
    left = {
        change.variable
        for change in changes
        if _is_others(change, read(connection, target, change.variable))
    }
    return [change for change in changes if change.variable not in left], tuple(sorted(left))


def _is_others(change: Change, now: Value) -> bool:
    """Whether somebody else has set it since: it is neither what it was nor what we made of it."""
    noted = not change.is_undone(change.new)
    return noted and not change.is_undone(now) and not alike(now, change.new)


def _check_as_it_was(connection: Connection, target: Target, changes: list[Change]) -> None:
    now = {
        change.variable: _waited_for(connection, target, change.variable, change.is_undone)
        for change in changes
    }
    wrong = [
        f"{change.variable} is {now[change.variable]!r}, not {change.old!r}"
        for change in changes
        if not change.is_undone(now[change.variable])
    ]
    if wrong:
        hint = "set them by hand, or try again: loadstone restore"
        raise SettingsError(f"{target.place}: not as it was: {'; '.join(wrong)}", hint)


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
    plain = number(value)
    return literal_of(connection, value if plain is None else plain)


def number(text: str) -> int | float | None:
    """`1G`, `20`, `0.5`; `None` for a word."""
    sized = re.fullmatch(r"(-?\d+)([kmgt]?)", text.strip().lower())
    if sized:
        return int(sized[1]) * _SIZES[sized[2]]
    return float(text) if re.fullmatch(r"-?\d*\.\d+", text.strip()) else None


def literal_of(connection: Connection, value: Value) -> str:
    """The SQL of a value that the server gave; text that is not there is the default's."""
    if value is None:
        return "DEFAULT"
    if isinstance(value, str):
        quoted: str = connection.escape(value)
        return quoted
    return repr(value)


def _in_type(text: str, like: Value) -> Value:
    """A value that is known as a text only, in the type of the one that is there now."""
    if isinstance(like, int) and re.fullmatch(r"-?\d+", text):
        return int(text)
    if isinstance(like, float) and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text)
    return text
