"""Announces who works on a schema: runs may share one, making or dropping tables excludes others.

Programs on different hosts find each other by the server's locks (`locks`). A program that makes or
drops tables takes the schema's lock; a run takes the first free one of its places. Each takes its
own lock before it looks for the other kind, so at least one of two notices the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from loadstone.families import family_of
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Target
from loadstone.servers import locks
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError
from loadstone.servers.locks import Holder, NoLocks

PLACES = 32
"""Runs in one schema that can be recognised; further ones run unannounced."""

_NAME_LENGTH = 64

_own: set[tuple[str, int]] = set()
"""Connections of this process that hold a schema's lock, as an experiment prepares under its own.
"""


class Present(NamedTuple):
    """A program that works on a schema."""

    does: Literal["run", "make tables"]
    holder: Holder

    @property
    def message(self) -> Message:
        """What it does, and whose it is."""
        if self.does == "run":
            return say("a run of {who}", who=str(self.holder))
        return say("prepare, cleanup or an experiment of {who}", who=str(self.holder))


@contextlib.contextmanager
def alone(connection: Connection, target: Target, schema: str) -> Iterator[None]:
    """Keep every other program out of a schema while the context lasts.

    A server without such locks keeps nobody out.

    Raises:
        GuardError: another program works on it, or the connection is one that others use as well.
        TargetError: the connection was lost.
    """
    family_of(target).locks.refuse_shared(connection, target)
    lock = _lock_of(schema)
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(NoLocks):
            others = _makers(connection, target, schema)
            if not others or _not_own(connection, target, others):
                maker = family_of(target).locks.take(connection, target, lock)
                if maker is None:
                    stack.enter_context(_ours(connection, target, lock))
                    others = _after_grace(lambda: _runs_of_others(connection, target, schema))
                else:
                    others = _not_own(connection, target, [_maker(maker)])
                if others:
                    raise _busy(target, schema, others)
        yield


@contextlib.contextmanager
def beside(connection: Connection, target: Target, schema: str) -> Iterator[tuple[Present, ...]]:
    """Announce a run to others; gives the other runs that work on the schema.

    Raises:
        GuardError: tables are being made or dropped there.
        TargetError: the connection was lost.
    """
    with contextlib.ExitStack() as stack:
        others: tuple[Present, ...] = ()
        with contextlib.suppress(NoLocks):
            others = _not_own(connection, target, _runs(connection, target, schema))
            for place in _places(schema)[len(others) :]:
                if family_of(target).locks.take(connection, target, place, wait_s=0) is None:
                    stack.enter_context(_ours(connection, target, place))
                    break
            makers = _after_grace(lambda: _makers_of_others(connection, target, schema))
            if makers:
                raise _busy(target, schema, makers)
        yield others


def is_held(connection: Connection, target: Target, schema: str) -> bool:
    """Whether the connection is alive and holds the schema's lock or a run's place."""
    return family_of(target).locks.is_ours(connection, target, _lock_of(schema), *_places(schema))


def announce(connection: Connection, target: Target, schema: str) -> None:
    """Announce a run for as long as the connection lives, without any check.

    It takes one of the later places at random; if two programs take the same place, only one is
    announced.

    Raises:
        TargetError: the connection was lost, or the server has no such locks.
    """
    place = secrets.choice(_places(schema)[PLACES // 2 :])
    family_of(target).locks.announce(connection, target, place)


def at_work(connection: Connection, target: Target, schema: str) -> tuple[Present, ...]:
    """All programs that work on a schema now, as far as the server shows them.

    Raises:
        TargetError: the connection was lost.
    """
    try:
        return (*_makers(connection, target, schema), *_runs(connection, target, schema))
    except NoLocks:
        return ()


def places_taken(connection: Connection, target: Target, schema: str) -> tuple[int, ...]:
    """The connections that hold the places of runs, including ours; cheap enough to ask often.

    Raises:
        TargetError: the connection was lost.
    """
    try:
        return family_of(target).locks.numbers_of_holders(connection, target, _places(schema))
    except NoLocks:
        return ()


def runs_of_others(connection: Connection, target: Target, schema: str) -> tuple[Present, ...]:
    """The runs on a schema that do not belong to this process.

    Raises:
        TargetError: the connection was lost.
    """
    try:
        return _runs_of_others(connection, target, schema)
    except NoLocks:
        return ()


@contextlib.contextmanager
def _ours(connection: Connection, target: Target, lock: str) -> Iterator[None]:
    """Register the lock held by this connection as our own while the context lasts."""
    own = _key(
        connection, target, family_of(target).locks.number_of_holder(connection, target, lock)
    )
    _own.add(own)
    try:
        yield
    finally:
        _own.discard(own)
        family_of(target).locks.give_back(connection, lock)


def _not_own(
    connection: Connection, target: Target, there: Iterable[Present]
) -> tuple[Present, ...]:
    return tuple(
        one for one in there if _key(connection, target, one.holder.connection) not in _own
    )


def _key(connection: Connection, target: Target, number: int | None) -> tuple[str, int]:
    """Identify a connection by what the server calls itself, as it may have several addresses."""
    return family_of(target).server_of(connection, target), number or 0


def _after_grace(look: Callable[[], tuple[Present, ...]]) -> tuple[Present, ...]:
    """Who is still there after the server had time to notice connections that are gone."""
    until = time.monotonic() + locks.GRACE_S
    while (there := look()) and time.monotonic() < until:
        time.sleep(locks.TRY_EVERY_S)
    return there


def _runs_of_others(connection: Connection, target: Target, schema: str) -> tuple[Present, ...]:
    there = _runs(connection, target, schema)
    return _not_own(connection, target, there) if there else ()


def _makers_of_others(connection: Connection, target: Target, schema: str) -> tuple[Present, ...]:
    there = _makers(connection, target, schema)
    return _not_own(connection, target, there) if there else ()


def _busy(target: Target, schema: str, others: Iterable[Present]) -> GuardError:
    return GuardError(
        "table_in_the_way",
        say(
            "schema {schema} is in use by {who}",
            schema=schema,
            who=Joined((one.message for one in others), "clauses"),
        ),
        say(
            "wait for it to end, or use another schema; if it hangs, end it there with {end}",
            end=family_of(target).words.end_any,
        ),
    )


def _lock_of(schema: str) -> str:
    lock = f"loadstone.{schema}"
    if len(f"{lock}.{PLACES}") <= _NAME_LENGTH:
        return lock
    return f"loadstone.{hashlib.sha256(schema.encode()).hexdigest()[:32]}"


def _places(schema: str) -> list[str]:
    return [f"{_lock_of(schema)}.{number}" for number in range(1, PLACES + 1)]


def _maker(holder: Holder) -> Present:
    return Present("make tables", holder)


def _makers(connection: Connection, target: Target, schema: str) -> tuple[Present, ...]:
    held = family_of(target).locks.holders(connection, target, [_lock_of(schema)])
    return tuple(_maker(holder) for holder in held)


def _runs(connection: Connection, target: Target, schema: str) -> tuple[Present, ...]:
    held = family_of(target).locks.holders(connection, target, _places(schema))
    return tuple(Present("run", holder) for holder in held)
