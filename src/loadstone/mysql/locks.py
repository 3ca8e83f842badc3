"""Named locks on a server: a client that cannot take one learns who holds it.

A lock ends with its connection, so a killed program leaves none behind.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import Any

import pymysql

from loadstone.model.message import say
from loadstone.model.target import Target
from loadstone.mysql.connect import answering_within, statement_errors
from loadstone.mysql.errors import NO_LOCKS, number_in
from loadstone.mysql.processlist import SEE_OTHERS, is_passed_on, processes
from loadstone.mysql.proxies import shares_sessions
from loadstone.servers import locks as common
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.locks import Holder, NoLocks
from loadstone.servers.processes import Process
from loadstone.servers.sanitize import plain

IDLE_S = 2_147_483
"""How long a connection with a lock may be idle, in seconds: 24 days, the servers' maximum."""

_GIVE_BACK_S = 2.0
"""The end of a run should not wait for a server that hangs."""

_TRIES = 3
"""A lock may be released between the query for it and the query for its holder."""


def refuse_shared(connection: Connection, target: Target) -> None:
    """Refuse a connection whose locks a proxy gives to other clients, too.

    Raises:
        GuardError: it does.
        TargetError: the server refused, or the connection was lost.
    """
    if _is_shared(connection, target):
        raise GuardError(
            "serves_others",
            say(
                "{place} is a proxy that gives a session with locks to other clients, too: nothing"
                " would keep others out of the schema while tables change",
                place=target.place,
            ),
            say("name the server's own address in --target"),
        )


def _is_shared(connection: Connection, target: Target) -> bool:
    try:
        if not is_passed_on(connection, target):
            return False
    except TargetError:  # it shows no list of its connections
        return False
    own: Any = connection
    with statement_errors(target):
        return shares_sessions(own)


def _refuse_lock(connection: Connection, target: Target) -> None:
    if _is_shared(connection, target):
        said = say("{place} is a proxy that keeps no locks for a client", place=target.place)
        raise NoLocks("not_supported", said)


def take(
    connection: Connection, target: Target, name: str, wait_s: float | None = None
) -> Holder | None:
    """Take a lock for as long as the connection lives; `None` if it is ours, otherwise its holder.

    `wait_s`: how long to wait for another holder; `None`: the grace period for killed clients.

    Raises:
        NoLocks: the server has none, or a proxy would give it to others.
        TargetError: the server refused, the connection was lost, or nobody gets the lock.
    """
    _refuse_lock(connection, target)
    # We wait ourselves, as servers may limit the time of statements.
    until = time.monotonic() + (common.GRACE_S if wait_s is None else wait_s)
    for tries in itertools.count(1):
        (got,) = _asked(connection, target, "SELECT GET_LOCK(%s, 0)", (name,))
        if got == 1:
            # The connection stays idle for as long as the work takes.
            _asked(connection, target, f"SET SESSION wait_timeout = {IDLE_S}")
            return None
        held = holders(connection, target, [name])
        is_over = time.monotonic() >= until
        if held and is_over:
            return held[0]
        if is_over and tries >= _TRIES:
            break
        time.sleep(common.TRY_EVERY_S)
    said = say("{place} does not give the lock '{name}'", place=target.place, name=name)
    raise TargetError("statement_failed", said)


def announce(connection: Connection, target: Target, name: str) -> None:
    """Take a lock if it is free, without checking whether it was.

    Raises:
        TargetError: the connection was lost, or the server has no such locks.
    """
    _refuse_lock(connection, target)
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("DO GET_LOCK(%s, 0)", (name,))
        cursor.execute(f"SET SESSION wait_timeout = {IDLE_S}")


def holders(connection: Connection, target: Target, names: Sequence[str]) -> tuple[Holder, ...]:
    """The holders of these locks, other than this connection.

    Raises:
        NoLocks: the server has none.
        TargetError: the connection was lost.
    """
    return _seen(connection, target, numbers_of_holders(connection, target, names))


def numbers_of_holders(
    connection: Connection, target: Target, names: Sequence[str]
) -> tuple[int, ...]:
    """The connections that hold these locks, other than this one.

    Raises:
        NoLocks, TargetError: as `holders`.
    """
    each = ", ".join(["IS_USED_LOCK(%s)"] * len(names))
    *held, own = _asked(connection, target, f"SELECT {each}, CONNECTION_ID()", names)
    return tuple(one for one in held if one is not None and one != own)


def number_of_holder(connection: Connection, target: Target, name: str) -> int | None:
    """The server's number for the connection that holds a lock; `None` if nobody does.

    Raises:
        NoLocks, TargetError: as `holders`.
    """
    (number,) = _asked(connection, target, "SELECT IS_USED_LOCK(%s)", (name,))
    return number


def is_ours(connection: Connection, target: Target, *names: str) -> bool:
    """Whether the connection is alive and holds one of these locks."""
    each = " OR ".join(["IS_USED_LOCK(%s) = CONNECTION_ID()"] * len(names))
    try:
        return _asked(connection, target, f"SELECT COALESCE({each}, 0)", names) == (1,)
    except TargetError:
        return False


def give_back(connection: Connection, name: str) -> None:
    """Release the lock; a lost connection has already released it."""
    # The end of the connection releases it as well, but only once the server notices. That is soon
    # enough if the server does not answer.
    with (
        contextlib.suppress(pymysql.MySQLError),
        answering_within(connection, _GIVE_BACK_S),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT RELEASE_LOCK(%s)", (name,))


def _seen(connection: Connection, target: Target, numbers: Sequence[int]) -> tuple[Holder, ...]:
    if not numbers:
        return ()
    shown = {one.number: one for one in processes(connection, target)}
    return tuple(_holder(number, shown.get(number)) for number in numbers)


def _holder(number: int, seen: Process | None) -> Holder:
    if seen is None:
        return Holder(connection=number, right=SEE_OTHERS)
    return Holder(
        connection=number,
        user=plain(seen.user),
        host=plain(seen.address) or None,
        since_s=time.time() - seen.silent_s if seen.silent_s is not None else None,
    )


def _asked(
    connection: Connection, target: Target, statement: str, values: Sequence[object] = ()
) -> tuple[int | None, ...]:
    """The only row, of whole numbers; a server that returns anything else has no such functions."""
    try:
        with statement_errors(target), connection.cursor() as cursor:
            cursor.execute(statement, values)
            row = cursor.fetchone() or ()
    except TargetError as error:
        if number_in(error) not in NO_LOCKS:
            raise
        raise NoLocks(error.kind, error.message, error.hint, error.code) from error
    if not all(one is None or isinstance(one, int) for one in row):
        said = say("{place} has no locks by name", place=target.place)
        raise NoLocks("statement_failed", said)
    return row
