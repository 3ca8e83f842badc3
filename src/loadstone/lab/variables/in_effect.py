"""Whether what the load's sessions set holds in all of their transactions, through a proxy.

A proxy that lends few sessions to many clients may give each transaction another one. Some keep a
client in the session in which it has set something, some set it again wherever the client goes, and
some lose it: others that get that session then have it. Which of these is found out by trying, on
two connections: one sets what the load's will, the other does not, and both read what they have, in
turn and in a transaction each time.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from loadstone.families import connect, family_of
from loadstone.model.message import Message, say
from loadstone.model.plan import READ_ONLY, Session
from loadstone.model.target import Endpoint, Target
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import GuardError, NotInEffect, TargetError

_ROUNDS = 3
"""Other clients of a busy proxy may get the session in between."""

_STATEMENT_S = 5.0
"""A proxy that keeps sessions apart may have none left for the second connection."""

_KEEP = say(
    "have the proxy keep a session for each client, or name the server's own address in --target"
)

Values = Mapping[str, str | None]


@dataclass(frozen=True)
class Stated:
    """Something that each session of a load sets."""

    option: str
    value: str
    statement: str
    by_login: bool = False
    """Whether the login sets it, and no statement does."""

    @property
    def words(self) -> str:
        """The option as on a command line; the statement if no option is behind it."""
        if not self.option:
            return self.statement
        return f"{self.option} {shlex.quote(self.value)}"


@dataclass(frozen=True)
class _Meant:
    """What is to be in effect: by name the value, and who states it; and what it was before."""

    values: Values
    by: Mapping[str, Stated]
    before: Values
    untold: Mapping[Stated, TargetError | None]
    """What was not tried, as the server refuses it there, or it may do something else than to set
    what can be read."""
    is_left: bool
    """Whether the server refused to set something of it back."""


class _Read(NamedTuple):
    """What one connection read in one transaction."""

    number: int
    """The server's session."""
    values: Values


Round = tuple[_Read, _Read | None]
"""What ours read, and then the other; `None`: there is no session left for it."""


@dataclass(frozen=True)
class _Seen:
    """What the two connections read: one entry for each transaction."""

    ours: tuple[Values, ...]
    others: tuple[Values, ...]
    moves: bool
    """Whether both were in the same session of the server, or the first one in several."""


def stated_by(session: Session, target: Target) -> list[Stated]:
    """What somebody has asked each session of a load to set, in the order in which that is done.

    The usual character set is not among it: logins ask for it, and proxies know it.
    """
    family = family_of(target)
    usual = {statement for _, _, statement in family.session_statements(Session())}
    return [
        *(Stated(*each, by_login=True) for each in family.session_state.of_login(target)),
        *(Stated(*each) for each in family.session_statements(session) if each[2] not in usual),
    ]


def set_on(connection: Connection, target: Target, stated: Sequence[Stated]) -> None:
    """Set on a connection what statements set.

    Raises:
        TargetError: the server refuses one; the error names the option and quotes the server.
    """
    for one in stated:
        if one.by_login:
            continue
        try:
            with family_of(target).statement_errors(target), connection.cursor() as cursor:
                cursor.execute(one.statement)
        except TargetError as error:
            said = say("{option}: {why}", option=one.words, why=error.message)
            raise TargetError(error.kind, said, error.hint, error.code) from error


def check_in_effect(endpoint: Endpoint, session: Session, timeout_s: float) -> list[Message]:
    """Try through a proxy whether what sessions set holds; returns notes about it.

    Raises:
        GuardError: it does not, and nothing else keeps the load from changing data.
        NotInEffect: it does not, or that cannot be tried.
        TargetError: the server refuses what is to be set, or cannot be reached.
    """
    return _tried(endpoint, stated_by(session, endpoint.target), timeout_s)


def refuse_losing(endpoint: Endpoint, statements: Sequence[str]) -> None:
    """Refuse a proxy that gives others what these statements set for sessions of a command.

    Raises:
        GuardError: it does, or that cannot be tried.
        TargetError: the server refuses what is to be set, or cannot be reached.
    """
    stated = [Stated("", "", statement) for statement in statements]
    # The schema may not exist yet.
    target = endpoint.target.model_copy(update={"database": None})
    anywhere = endpoint.model_copy(update={"target": target})
    try:
        _tried(anywhere, stated, Timeouts().connect_s)
    except NotInEffect as error:
        raise GuardError("serves_others", error.message, _KEEP) from error


def _tried(endpoint: Endpoint, stated: Sequence[Stated], timeout_s: float) -> list[Message]:
    target = endpoint.target
    if not stated:
        return []
    timeouts = Timeouts(connect_s=timeout_s)
    with connect(endpoint, timeouts) as connection:
        _check_transactions(connection, target, stated[0])
        meant = _meant(connection, target, stated)
    with connect(endpoint, timeouts) as ours, contextlib.ExitStack() as stack:
        # Ours comes first: there may be one session alone, which is then its own.
        other = _another(endpoint, timeout_s)
        if other is not None:
            stack.enter_context(other)
        trial = _Trial(target, ours, other, stated, meant)
        seen = trial.seen()
        lost = trial.lost(seen)
        if lost:
            is_clean = trial.put_back()
            raise _refusal(target, lost[0], is_left=meant.is_left or not is_clean)
    return _notes(target, stated, meant, seen)


def _another(endpoint: Endpoint, timeout_s: float) -> Connection | None:
    """Another connection; `None`, for whatever reason: a user of the load is alone there."""
    try:
        return connect(endpoint, Timeouts(connect_s=timeout_s, statement_s=_STATEMENT_S))
    except TargetError:
        return None


def _check_transactions(connection: Connection, target: Target, first: Stated) -> None:
    """Check that several statements can be in one; a pooler of statements refuses that.

    Raises:
        GuardError, NotInEffect: they cannot.
        TargetError: it does not answer.
    """
    try:
        with family_of(target).statement_errors(target):
            connection.begin()
            connection.rollback()
    except TargetError as error:
        if error.kind == "timed_out":
            raise
        raise _refusal_untried(target, first, error) from error


def _meant(connection: Connection, target: Target, stated: Sequence[Stated]) -> _Meant:
    """What statements set, as the server itself shows it in one transaction, and undone there.

    In a transaction no proxy changes the session. What a server refuses there was not tried. What
    a statement names counts also where the session already has it: others may not.
    """
    state = family_of(target).session_state
    names = [one.statement for one in stated]
    by: dict[str, Stated] = {}
    untold: dict[Stated, TargetError | None] = {}
    with family_of(target).statement_errors(target):
        connection.begin()
    before = state.shown(connection, target, names)
    now = state.shown(connection, target, names)
    # Some change with every statement.
    steady = {name for name, value in now.items() if before.get(name) == value}
    for one in stated:
        if not state.only_sets(one.statement):
            untold[one] = None
            continue
        refused = state.attempt(connection, target, one.statement)
        if refused:
            untold[one] = refused
            continue
        then, now = now, state.shown(connection, target, names)
        set_there = steady.intersection(state.named(one.statement))
        set_there |= {name for name in steady if now.get(name) != then.get(name)}
        by |= dict.fromkeys(set_there, one)
        if not set_there:
            untold[one] = None
    changed = {name: before.get(name) for name in by if now.get(name) != before.get(name)}
    kept = state.undo(connection, target, changed)
    values = {name: now.get(name) for name in by}
    return _Meant(values, by, before, untold, is_left=bool(kept))


class _Trial:
    """The two connections: `ours` has what is stated, `other` is another client's."""

    def __init__(
        self,
        target: Target,
        ours: Connection,
        other: Connection | None,
        stated: Sequence[Stated],
        meant: _Meant,
    ) -> None:
        self._target = target
        self._state = family_of(target).session_state
        self._ours = ours
        self._other = other
        self._stated = stated
        self._meant = meant
        self._had: Values = {}
        """What the other connection had before ours has set anything."""

    def seen(self) -> _Seen:
        """Set what is stated, and read on both connections in turn.

        Raises:
            GuardError, NotInEffect: what cannot be tried would come to other clients.
            TargetError: the server refuses what is to be set, or cannot be reached.
        """
        earlier = self._rounds()
        self._had = next((other.values for _, other in earlier if other), {})
        sets = self._state.sets_session
        unknown = [one for one in self._meant.untold if sets(one.statement)]
        if unknown and _moves(earlier):
            raise _refusal_untried(self._target, unknown[0], self._meant.untold[unknown[0]])
        try:
            set_on(self._ours, self._target, self._stated)
            read = self._rounds()
        except BaseException:
            self.put_back()
            raise
        return _Seen(
            ours=tuple(ours.values for ours, _ in read),
            others=tuple(other.values for _, other in read if other),
            moves=_moves(read),
        )

    def _rounds(self) -> list[Round]:
        return [(self._read(self._ours), self._read_other()) for _ in range(_ROUNDS)]

    def lost(self, seen: _Seen) -> list[Stated]:
        """What is not in effect each time, or is for others, too."""
        meant = self._meant
        names = [
            name
            for name, value in meant.values.items()
            if any(values.get(name) != value for values in seen.ours)
            or (
                self._had.get(name) != value
                and any(values.get(name) == value for values in seen.others)
            )
        ]
        lost = [meant.by[name] for name in names]
        return [one for one in self._stated if one in lost]

    def put_back(self) -> bool:
        """Look for the sessions that have it now, and set it back there; whether none has it then.

        Proxies give sessions in turn, or the one that was used last: the search ends when as many
        transactions as it has met sessions have met no other. A proxy may set it again.
        """
        back = {
            name: self._before(name)
            for name, value in self._meant.values.items()
            if not self._meant.by[name].by_login
            and self._before(name) != value
            and not (self._had and self._had.get(name) == value)
        }
        asked = [each for each in (self._ours, self._other) if each]
        met: set[int] = set()
        found: set[str] = set()
        in_vain, is_clean = 0, True
        while back and asked and in_vain <= len(met):
            for connection in tuple(asked):
                try:
                    number, here, kept = self._put_back_there(connection, back)
                except TargetError:
                    # The reason for putting back is what is reported, with what is left.
                    is_clean = False
                    asked.remove(connection)
                    continue
                if kept or (here and number in met):
                    is_clean = False
                in_vain = in_vain + 1 if number in met else 0
                met.add(number)
                found |= here
        return is_clean and found == set(back)

    def _before(self, name: str) -> str | None:
        """What a session had: the one of `_meant`, unless another client had set the same there."""
        before = self._meant.before.get(name)
        return before if before != self._meant.values[name] else self._had.get(name, before)

    def _put_back_there(
        self, connection: Connection, back: Values
    ) -> tuple[int, set[str], Sequence[str]]:
        """The session that a transaction got, the names it had, and those that it keeps."""
        with family_of(self._target).statement_errors(self._target):
            connection.begin()
            number = self._state.number(connection, self._target)
            values = self._state.shown(connection, self._target, self._statements)
            here = {name for name in back if values.get(name) == self._meant.values[name]}
            before = {name: back[name] for name in here}
            kept = self._state.set_back(connection, self._target, before)
            connection.commit()
        return number, here, kept

    def _read(self, connection: Connection) -> _Read:
        """The server's session of a transaction, and what it has set."""
        with family_of(self._target).statement_errors(self._target):
            connection.begin()
            number = self._state.number(connection, self._target)
            values = self._state.shown(connection, self._target, self._statements)
            connection.commit()
        return _Read(number, values)

    def _read_other(self) -> _Read | None:
        """The same of the other connection; `None`: there is no session left for it."""
        if self._other is None:
            return None
        try:
            return self._read(self._other)
        except TargetError:
            # Whatever the reason, as in `_another`.
            self._other = None
            return None

    @property
    def _statements(self) -> list[str]:
        return [one.statement for one in self._stated]


def _moves(read: Sequence[Round]) -> bool:
    """Whether both were in the same session of the server, or the first one in several."""
    numbers = {ours.number for ours, _ in read}
    return len(numbers) > 1 or any(other.number in numbers for _, other in read if other)


def _refusal(target: Target, lost: Stated, *, is_left: bool) -> TargetError:
    family = family_of(target)
    if lost.by_login:
        said = say(
            "{option} is not in effect at {place}: what stands between ignores it",
            option=lost.words,
            place=target.place,
        )
        return NotInEffect("not_in_effect", said, _hint(family.words.set_for_all))
    if lost.statement == READ_ONLY[target.family]:
        return _refusal_of_writes(target, lost)
    said = say(
        "{option} would not be in effect at {place}: a proxy there gives a connection's"
        " transactions to several sessions, and what is set in one comes to other clients",
        option=lost.words,
        place=target.place,
    )
    if is_left:
        said = say("{said}; one of them may still have it until the proxy closes it", said=said)
    return NotInEffect("not_in_effect", said, _hint(family.words.set_for_all))


def _refusal_untried(target: Target, stated: Stated, why: TargetError | None) -> TargetError:
    keeps_data = stated.statement == READ_ONLY[target.family]
    if keeps_data and not why:
        return _refusal_of_writes(target, stated)
    if why:
        said = say(
            "{option} may not be in effect at {place}, or come to other clients: it cannot be tried"
            " in a transaction ({why})",
            option=stated.words,
            place=target.place,
            why=why.message,
        )
    else:
        said = say(
            "{option} may come to other clients: the proxy at {place} gives a connection's"
            " transactions to several sessions, and this cannot be tried and undone",
            option=stated.words,
            place=target.place,
        )
    if keeps_data:
        return GuardError("serves_others", said, _KEEP)
    hint = _hint(family_of(target).words.set_for_all)
    return NotInEffect("not_in_effect", said, hint)


def _refusal_of_writes(target: Target, lost: Stated) -> TargetError:
    said = say(
        "{place} is a proxy that gives a connection's transactions to several sessions:"
        " {statement}, which keeps this load from changing data, would come to other clients",
        place=target.place,
        statement=lost.statement,
    )
    return GuardError("serves_others", said, _KEEP)


def _hint(set_for_all: str) -> Message:
    return say(
        "have the proxy keep a session for each client, set it at the server ({how}) and leave it"
        " out here, or name the server's own address in --target",
        how=set_for_all,
    )


def _notes(target: Target, stated: Sequence[Stated], meant: _Meant, seen: _Seen) -> list[Message]:
    """What holds, and of what that is not known."""
    notes = []
    own = READ_ONLY[target.family]
    held = [one.words for one in stated if one not in meant.untold and one.statement != own]
    if held:
        notes.append(
            say(
                "{options}: in effect in each of {number} transactions tried through the proxy at"
                " {place}",
                options=", ".join(held),
                number=len(seen.ours),
                place=target.place,
            )
        )
    if meant.untold and seen.moves:
        notes.append(
            say(
                "{options}: {place} gives a connection's transactions to several sessions, and it"
                " is not known whether all of them have what this statement sets",
                options=", ".join(one.words for one in meant.untold),
                place=target.place,
            )
        )
    return notes
