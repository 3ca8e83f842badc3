"""Sets a target's variables temporarily, and restores them however that ends.

Each old value is on disk before its variable is touched (`journal`). A process that is killed in
between leaves the journal, and `loadstone restore` restores what it records.

What somebody else has set in the meantime is left alone, and reported. Variables are restored only
on the server where they were set, and nobody sets any while somebody else has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.families import connect, family_of
from loadstone.lab.step.interrupts import postponed
from loadstone.lab.variables.journal import Journal, LeftChanged, alike, left_behind
from loadstone.lab.variables.lock import SettingsLock
from loadstone.lab.variables.put_back import Left, PutBack, put_back
from loadstone.lab.variables.readings import (
    as_shown,
    identity_by,
    moved,
    refuse_what_passes_on,
    waited_for,
)
from loadstone.lab.variables.values import in_type, literal, read
from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.facts import Value
from loadstone.servers.identity import Identity, compared
from loadstone.servers.written_number import number


@dataclass
class SettingsReport:
    """Notes about the periods in which variables were set."""

    notes: list[Message] = field(default_factory=list)
    left: list[Message] = field(default_factory=list)
    """The notes about what is not as it was."""

    def note(self, text: Message) -> None:
        """Keep a sentence; the same one is kept once."""
        if text not in self.notes:
            self.notes.append(text)

    def put_back(self, place: str, done: Left) -> None:
        """Note what somebody else has set in the meantime, or a restart has undone."""
        if done.restarted:
            self.note(
                say(
                    "{place} was restarted while its variables were set, which reset them",
                    place=place,
                )
            )
        for what in done.told():
            said = say("{place}: {what}", place=place, what=what)
            self.note(said)
            self.left.append(said)


@contextlib.contextmanager
def staged(
    endpoint: Endpoint, wanted: Mapping[str, str], folder: Path, told: SettingsReport | None = None
) -> Iterator[None]:
    """Set these global variables, and restore them at the end; nobody else sets any until then.

    Signals are delayed while variables are set and restored. The report collects the notes.

    Raises:
        SettingsInUse: somebody else has set variables of the server.
        SettingsError: the server has no such variable or takes no such value, or an earlier run
            left its settings on this target.
        LeftChanged: they cannot be restored.
        TargetError: the target cannot be reached.
    """
    if not wanted:
        yield
        return
    told = told or SettingsReport()
    with contextlib.closing(SettingsLock.take(endpoint)) as lock:
        if not lock.is_kept:
            told.note(
                say(
                    "{place}: it has no named locks, so others may set variables too",
                    place=endpoint.target.place,
                )
            )
        journal: Journal | None = None
        try:
            with postponed():
                journal = apply(endpoint, wanted, folder, lock, told)
            yield
        finally:
            if journal is not None:
                with postponed():
                    _end(journal, endpoint, lock, told)


def _end(journal: Journal, endpoint: Endpoint, lock: SettingsLock, told: SettingsReport) -> None:
    place = endpoint.target.place
    told.put_back(place, _put_back_or_say(journal, endpoint, lock))
    if lock.was_lost:
        told.note(
            say("{place}: for a while others could have set its variables as well", place=place)
        )


def _put_back_or_say(journal: Journal, endpoint: Endpoint, lock: SettingsLock) -> PutBack:
    """Restore what a journal records.

    Raises:
        LeftChanged: it failed for any reason, also because the server is gone.
    """
    try:
        return put_back(journal, endpoint, lock=lock)
    except LeftChanged:
        raise
    except (SettingsError, TargetError) as error:
        said = say(
            "variables of {place} are not put back: {why}",
            place=endpoint.target.place,
            why=error.message,
        )
        hint = say("as soon as that is over: loadstone restore")
        raise LeftChanged(said, hint) from error


def apply(
    endpoint: Endpoint,
    wanted: Mapping[str, str],
    folder: Path,
    lock: SettingsLock,
    told: SettingsReport | None = None,
) -> Journal:
    """Set the variables; if one cannot be set, those before it are restored.

    Raises:
        SettingsError, TargetError: as `staged`.
    """
    target = endpoint.target
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        refuse_what_passes_on(connection, target)
        variables = family_of(target).variables_of(connection, target)
        server = identity_by(variables, connection, target)
        _refuse_leftovers(target, server, folder)
        # All are read before any is set, so that an unknown one is found before anything has
        # changed.
        old = {name: read(connection, target, name) for name in wanted}
        journal = Journal.begin(folder, target, variables, server)
        try:
            for name, value in wanted.items():
                _set_noting(connection, target, journal, (name, value, old[name]))
        except BaseException:
            done = _put_back_or_say(journal, endpoint, lock)
            if told is not None:
                told.put_back(target.place, done)
            raise
    return journal


def _refuse_leftovers(target: Target, server: Identity, folder: Path) -> None:
    behind = left_behind(folder)
    for error in behind.unreadable:
        if error.is_of(target):
            raise error
    for other in behind.staged:
        if compared(other.server, server, other.names) != "other":
            raise SettingsError(
                say("an earlier run's settings are still on {place}", place=target.place),
                say("put them back first: loadstone restore (or wait until that run has ended)"),
            )


def _set_noting(
    connection: Connection, target: Target, journal: Journal, change: tuple[str, str, Value]
) -> None:
    """Set one variable, and record the others that the server changes with it.

    All variables are read right before and right after, so that what somebody else sets at any
    other moment is neither lost nor taken for ours.
    """
    name, value, old = change
    family = family_of(target)
    sql = literal(connection, target, value, old)
    before = family.variables_of(connection, target)
    old = as_shown(before[name], old) if name in before else old
    journal.changing(name, old, family.kept_for_start(connection, target, name))
    family.set_variable(connection, target, name, sql)
    after = family.variables_of(connection, target)
    for other in moved(connection, target, before, after, {name}):
        journal.changing(other.variable, other.old)
        journal.changed(other.variable, other.new)
    taken = in_type(after[name], old) if name in after else read(connection, target, name)
    taken = _settled(connection, target, (name, value, old), taken)
    journal.changed(name, taken)
    _check_taken(target, (name, value, old), taken)


def _settled(
    connection: Connection, target: Target, change: tuple[str, str, Value], taken: Value
) -> Value:
    """The final value of a number that does not change at once, such as a buffer pool's size."""
    name, value, old = change
    if not _is_slow(value, old, taken):
        return taken
    return waited_for(connection, target, name, lambda now: now != old)


def _is_slow(value: str, old: Value, taken: Value) -> bool:
    wanted = number(value)
    is_number = isinstance(old, int | float) and wanted is not None
    return is_number and not alike(wanted, old) and alike(taken, old)


def _check_taken(target: Target, change: tuple[str, str, Value], taken: Value) -> None:
    """Refuse a number that the server clipped or rounded: the plan would state another value."""
    name, value, old = change
    wanted = number(value)
    if not isinstance(old, int | float) or wanted is None or alike(wanted, taken):
        return
    see = family_of(target).words.warnings
    said = say(
        "{place} has {name} = {taken} right after it was set to {value}",
        place=target.place,
        name=name,
        taken=str(taken),
        value=value,
    )
    write = say(
        "write a value that it accepts unchanged (see {see}), or find who else sets it", see=see
    )
    raise SettingsError(said, write)
