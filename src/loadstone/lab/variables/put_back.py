"""Restores what a journal records: newest first, on the server where it was set.

What somebody else has set in the meantime is left alone, and reported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.families import connect, family_of
from loadstone.lab.variables.journal import (
    Change,
    Journal,
    LeftChanged,
    Staged,
    alike,
    read_journal,
)
from loadstone.lab.variables.lock import SettingsLock
from loadstone.lab.variables.readings import (
    moved,
    read_identity,
    refuse_what_passes_on,
    waited_for,
)
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import Connection
from loadstone.servers.errors import SettingsError
from loadstone.servers.facts import Value
from loadstone.servers.identity import compared, differences

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
    refuse_what_passes_on(connection, target)
    server = read_identity(connection, target)
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
        changes += moved(connection, target, staging.before, after, staging.names)
    now = _values(connection, target, changes)
    left = {each.variable for each in changes if _is_others(each, now[each.variable])}
    ours = tuple(change for change in changes if change.variable not in left)
    if answer == "restarted" and not family_of(target).sets_for_starts:
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
    if family_of(target).sets_for_starts:
        return ()  # the run has set it for that, too, and undoes both
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
    put_back: set[str] = field(default_factory=set)
    """Variables that were set by this restore."""
    refused: dict[str, SettingsError] = field(default_factory=dict)
    """Why the server did not take the old value back, by variable."""

    def undo(self, change: Change) -> None:
        """Restore one; if the server refuses it, the others are restored all the same."""
        self._leave_what_is_others()
        family = family_of(self.target)
        # Its value alone does not show what it is set to at a start.
        is_done = not family.sets_for_starts or change.variable in self.put_back
        if change not in self.changes or (is_done and change.is_undone(self.seen[change.variable])):
            return
        with contextlib.suppress(SettingsError):
            self.journal.changing(change.variable, change.old, change.kept)
        was_set = True
        try:
            family.put_variable_back(
                self.connection, self.target, change.variable, change.old, change.kept
            )
            self.put_back.add(change.variable)
            self.refused.pop(change.variable, None)
        except SettingsError as error:
            self.refused[change.variable], was_set = error, False
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
        now = _settled(connection, target, work, change)
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
        refused = next(iter(work.refused.values()), None)
        raise _left_changed(target, Joined(wrong, "clauses"), refused) from refused


def _settled(connection: Connection, target: Target, work: _Undoing, change: Change) -> Value:
    """A variable's value once it has its old one, or will not have it any more."""

    def waited() -> Value:
        if change.variable in work.refused:
            return work.seen[change.variable]  # nothing is under way
        return waited_for(connection, target, change.variable, change.is_undone)

    now = waited()
    if not change.is_undone(now):
        # A server may give up what it had begun: MySQL a resize of its pool, which others use.
        work.undo(change)
        now = waited()
    return now


def _left_changed(target: Target, wrong: Joined, refused: SettingsError | None) -> LeftChanged:
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
