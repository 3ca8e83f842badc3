"""Sets a target's variables temporarily, and restores them however that ends.

Each old value is on disk before its variable is touched (`journal`). A process that is killed in
between leaves the journal, and `loadstone restore` restores what it records.

What somebody else has set in the meantime is left alone, and reported. Variables are restored only
on the server where they were set, and nobody sets any while somebody else has.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.families import connect, family_of
from loadstone.lab.step.interrupts import postponed
from loadstone.lab.variables.journal import (
    Change,
    Journal,
    LeftChanged,
    Staged,
    alike,
    left_behind,
    read_journal,
)
from loadstone.lab.variables.lock import SettingsLock
from loadstone.lab.variables.values import (
    in_type,
    literal,
    number,
    read,
)
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError, TargetError
from loadstone.servers.facts import Value
from loadstone.servers.identity import Identity, compared, differences

# Seconds that a variable may take whose change is not immediate; the longer time where the server
# says that it is still at it.
_SLOW_S = 30.0
_AT_WORK_S = 600.0
_POLL_S = 0.05
# Some variables bound each other (a capacity and its maximum): the first round may clip one.
_ROUNDS = 2


class OtherServer(SettingsError):
    """The address leads to a server other than the one whose variables were set."""

    exit_code = ExitCode.GUARD


@dataclass(frozen=True)
class Left:
    """Differences that are left alone."""

    left: tuple[str, ...] = ()
    """Variables that somebody else has set since."""
    persisted: tuple[str, ...] = ()
    """Variables that a server start sets to the run's value: somebody wants that."""
    restarted: bool = False
    """Whether the server has restarted since, which loses what was set."""

    def told(self) -> list[Message]:
        """Half a sentence for each kind of difference."""
        found = []
        if self.left:
            found.append(
                say("set by another client since, and left: {names}", names=", ".join(self.left))
            )
        if self.persisted:
            found.append(
                say(
                    "persisted as the run had set it, and left: {names}",
                    names=", ".join(self.persisted),
                )
            )
        return found


@dataclass(frozen=True)
class PutBack(Left):
    """The outcome of restoring from a journal."""

    restored: tuple[str, ...] = ()
    """Variables that have their old values."""


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
        _refuse_what_passes_on(connection, target)
        variables = family_of(target).variables_of(connection, target)
        server = _identity_by(variables, connection, target)
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


def _refuse_what_passes_on(connection: Connection, target: Target) -> None:
    """Refuse a proxy, which may send a change to one server and a read to another.

    Raises:
        SettingsError: there is one in between.
    """
    if family_of(target).is_passed_on(connection, target):
        raise SettingsError(
            say(
                "{place} passes statements on to a server, as a proxy does: what is set there "
                "cannot be read back reliably",
                place=target.place,
            ),
            say("name the server itself: --target with its own address"),
        )


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


def identity_at(endpoint: Endpoint) -> Identity:
    """The identity of the server that answers at a target.

    Raises:
        TargetError: the target cannot be reached.
    """
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        return _identity(connection, endpoint.target)


def _identity(connection: Connection, target: Target) -> Identity:
    return _identity_by(family_of(target).variables_of(connection, target), connection, target)


def _identity_by(variables: Mapping[str, str], connection: Connection, target: Target) -> Identity:
    family = family_of(target)
    return family.identity_of(variables, family.times_of(connection, target))


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
    old = _as_shown(before[name], old) if name in before else old
    journal.changing(name, old)
    family.set_variable(connection, target, name, sql)
    after = family.variables_of(connection, target)
    for other in _moved(connection, target, before, after, {name}):
        journal.changing(other.variable, other.old)
        journal.changed(other.variable, other.new)
    taken = in_type(after[name], old) if name in after else read(connection, target, name)
    taken = _settled(connection, target, (name, value, old), taken)
    journal.changed(name, taken)
    _check_taken(target, (name, value, old), taken)


def _as_shown(text: str, value: Value) -> Value:
    """A value from the list of all; `value`, which was read alone, if it is the same."""
    if value is None and not text:
        return value
    shown = in_type(text, value)
    return value if alike(shown, value) else shown


def _settled(
    connection: Connection, target: Target, change: tuple[str, str, Value], taken: Value
) -> Value:
    """The final value of a number that does not change at once, such as a buffer pool's size."""
    name, value, old = change
    if not _is_slow(value, old, taken):
        return taken
    return _waited_for(connection, target, name, lambda now: now != old)


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


def _waited_for(
    connection: Connection, target: Target, name: str, is_good: Callable[[Value], bool]
) -> Value:
    """A variable's value once it is good, since some (the buffer pool's size) take their time."""
    began, is_being_set = time.monotonic(), family_of(target).is_being_set
    while not is_good(now := read(connection, target, name)):
        waited = time.monotonic() - began
        if waited > _AT_WORK_S or (waited > _SLOW_S and not is_being_set(connection, target, name)):
            break
        time.sleep(_POLL_S)
    return now


def _moved(
    connection: Connection,
    target: Target,
    before: Mapping[str, str],
    after: Mapping[str, str],
    known: Set[str],
) -> list[Change]:
    """Variables that have changed, apart from those that are known to be changed."""
    family = family_of(target)
    names = [
        name
        for name, was in before.items()
        if name not in known and after.get(name, was) != was and not family.is_restless(name)
    ]
    values = family.read_variables(connection, target, names)
    return [
        Change(name, in_type(before[name], now), _as_shown(after[name], now))
        for name, now in values.items()
    ]


def put_back(
    journal: Journal,
    endpoint: Endpoint,
    *,
    lock: SettingsLock | None = None,
    anyway: bool = False,
) -> PutBack:
    """Restore what a journal records, newest first, and remove it.

    `lock`: one that is already held. `anyway`: restore even if another server answers.

    Raises:
        OtherServer: another server answers at the target; the journal stays.
        SettingsInUse: somebody else has set variables of the server; the journal stays.
        LeftChanged: a variable is not as it was; the journal stays.
        TargetError: the target cannot be reached; the journal stays.
    """
    done = False
    try:
        staging = read_journal(journal.path)
        found = PutBack()
        if staging and staging.changes:
            with contextlib.ExitStack() as stack:
                if lock is None:
                    stack.enter_context(contextlib.closing(SettingsLock.take(endpoint)))
                else:
                    lock.renew()
                connection = connect(endpoint, database=None)
                stack.enter_context(contextlib.closing(connection))
                due = _due(connection, endpoint.target, staging, anyway=anyway)
                found = _put_back(connection, endpoint.target, journal, due)
        done = True
        return found
    finally:
        journal.close(done=done)


@dataclass(frozen=True)
class Due(Left):
    """What has to be restored from a journal, decided before anything is changed."""

    changes: tuple[Change, ...] = ()
    now: Mapping[str, Value] = field(default_factory=dict)
    """Values by variable, before anything is restored."""


def due_of(staging: Staged, endpoint: Endpoint, *, anyway: bool = False) -> Due:
    """What `put_back` would do; nothing is changed.

    Raises:
        OtherServer, TargetError: as `put_back`.
    """
    with contextlib.closing(connect(endpoint, database=None)) as connection:
        return _due(connection, endpoint.target, staging, anyway=anyway)


def _due(connection: Connection, target: Target, staging: Staged, *, anyway: bool) -> Due:
    """Decide what to restore, and what somebody else has set since."""
    _refuse_what_passes_on(connection, target)
    server = _identity(connection, target)
    answer = compared(staging.server, server, staging.names)
    if answer == "other" and not anyway:
        why = ", ".join(differences(staging.server, server, staging.names))
        raise OtherServer(
            say(
                "{place} is not the server whose variables were set: {why}",
                place=target.place,
                why=why,
            ),
            say("loadstone restore --target URL says where that is; --yes puts them back here"),
        )
    changes = list(staging.changes)
    if answer == "same" and staging.restoring is not None:
        changes = [change for change in changes if change.variable in staging.restoring]
        now = _values(connection, target, changes)
        if staging.cut_short:
            # For all that is known, it was clipped by the variable that was being restored.
            return Due(changes=tuple(changes), now=now)
        left = {each.variable for each in changes if _is_others_by_now(each, now[each.variable])}
        ours = tuple(change for change in changes if change.variable not in left)
        return Due(changes=ours, now=now, left=tuple(sorted(left)))
    if answer == "same" and staging.cut_short:
        # The effects of the last change were not recorded, so any other difference is one of them.
        after = family_of(target).variables_of(connection, target)
        changes += _moved(connection, target, staging.before, after, staging.names)
    now = _values(connection, target, changes)
    left = {each.variable for each in changes if _is_others(each, now[each.variable])}
    ours = tuple(change for change in changes if change.variable not in left)
    if answer == "restarted":
        # A start loses what was SET GLOBAL. A value that survived is in the server's files by now:
        # somebody wants it.
        kept = (each.variable for each in ours if not each.is_undone(now[each.variable]))
        return Due(now=now, persisted=tuple(sorted(kept)), restarted=True)
    persisted = _persisted(connection, target, ours)
    return Due(changes=ours, now=now, left=tuple(sorted(left)), persisted=persisted)


def _persisted(
    connection: Connection, target: Target, changes: Sequence[Change]
) -> tuple[str, ...]:
    """Variables that the server's next start sets to the run's value."""
    kept = family_of(target).persisted_variables(connection, target)
    return tuple(
        each.variable
        for each in changes
        if each.variable in kept
        and not each.is_undone(each.new)
        and alike(kept[each.variable], each.new)
    )


def _values(connection: Connection, target: Target, changes: Sequence[Change]) -> dict[str, Value]:
    names = [change.variable for change in changes]
    return family_of(target).read_variables(connection, target, names)


def _put_back(connection: Connection, target: Target, journal: Journal, due: Due) -> PutBack:
    with contextlib.suppress(SettingsError):
        # On a full disk: restoring now is worth more than being able to restore twice.
        journal.restoring(due.changes, due.now)
    work = _Undoing(connection, target, journal, dict(due.now), list(due.changes))
    for _ in range(_ROUNDS):
        for change in reversed(due.changes):
            work.undo(change)
    _check_as_it_was(connection, target, work)
    return PutBack(
        left=tuple(sorted({*due.left, *work.left})),
        persisted=due.persisted,
        restarted=due.restarted,
        restored=tuple(
            change.variable for change in due.changes if change.variable not in work.left
        ),
    )


@dataclass
class _Undoing:
    """Restores variables, one after the other.

    Each is read right before it is set. If it differs from its last known value although nothing
    was set in between, somebody else has set it.
    """

    connection: Connection
    target: Target
    journal: Journal
    seen: dict[str, Value]
    """The value of each variable right after the latest change."""
    changes: list[Change]
    left: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)
    """Variables that were set, but do not have their old value yet: clipped by another, or slow."""
    refused: SettingsError | None = None

    def undo(self, change: Change) -> None:
        """Restore one; if the server refuses it, the others are restored all the same."""
        self._leave_what_is_others()
        if change not in self.changes or change.is_undone(self.seen[change.variable]):
            return
        with contextlib.suppress(SettingsError):
            self.journal.changing(change.variable, change.old)
        was_set = True
        try:
            family = family_of(self.target)
            value = family.literal_of(self.connection, change.old)
            family.set_variable(self.connection, self.target, change.variable, value)
        except SettingsError as error:
            self.refused, was_set = error, False
        self._look(change, was_set=was_set)

    def _leave_what_is_others(self) -> None:
        now = _values(self.connection, self.target, self.changes)
        for change in tuple(self.changes):
            name = change.variable
            is_as_seen = alike(now[name], self.seen[name])
            if not is_as_seen and name not in self.unsettled and not change.is_undone(now[name]):
                self.changes.remove(change)
                if not change.is_undone(self.seen[name]):
                    self.left.add(name)
        self.seen |= now

    def _look(self, last: Change, *, was_set: bool) -> None:
        """Record the values of all variables, since setting one may clip another."""
        now = _values(self.connection, self.target, self.changes)
        self.unsettled.discard(last.variable)
        if was_set and not last.is_undone(now[last.variable]):
            self.unsettled.add(last.variable)
        with contextlib.suppress(SettingsError):
            for name, value in now.items():
                if name != last.variable and not alike(value, self.seen[name]):
                    self.journal.changed(name, value)
            if last.variable not in self.unsettled:
                self.journal.changed(last.variable, now[last.variable])
        self.seen |= now


def _is_others(change: Change, now: Value) -> bool:
    """Whether somebody else has set it since: it is neither the old value nor ours."""
    noted = not change.is_undone(change.new)
    return noted and not change.is_undone(now) and not alike(now, change.new)


def _is_others_by_now(change: Change, now: Value) -> bool:
    """Whether somebody else has set it since, when the values after each change are known."""
    return not change.is_undone(now) and not alike(now, change.new)


def _check_as_it_was(connection: Connection, target: Target, work: _Undoing) -> None:
    wrong = []
    for change in tuple(work.changes):
        name = change.variable
        if change.is_undone(work.seen[name]):
            continue  # it was restored, whatever its value is by now
        now = _waited_for(connection, target, name, change.is_undone)
        if not change.is_undone(now):
            # A server may give up what it had begun: MySQL a resize of its pool, which others use.
            work.undo(change)
            now = _waited_for(connection, target, name, change.is_undone)
        if not change.is_undone(now):
            wrong.append(
                say(
                    "{name} is {now}, not {before}",
                    name=name,
                    now=repr(now),
                    before=repr(change.old),
                )
            )
    if wrong:
        raise _left_changed(target, Joined(wrong, "clauses"), work.refused) from work.refused


def _left_changed(
    target: Target, wrong: Joined, refused: SettingsError | TargetError | None
) -> LeftChanged:
    hint = say(
        "{hint}; to try again: loadstone restore",
        hint=(refused and refused.hint) or say("set them by hand"),
    )
    if refused is None:
        said = say("{place}: not as it was: {wrong}", place=target.place, wrong=wrong)
    else:
        said = say(
            "{place}: not as it was: {wrong} ({why})",
            place=target.place,
            wrong=wrong,
            why=refused.message,
        )
    return LeftChanged(said, hint)


def take_over(staging: Staged) -> Journal | None:
    """Take the journal of a run that has ended; `None` while the run is still at work."""
    return Journal.take(staging.path)
