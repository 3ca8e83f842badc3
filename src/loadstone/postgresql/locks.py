"""Named locks on a server: advisory locks, whose numbers are made from the names.

A lock ends with its connection, so a killed program leaves none behind. PostgreSQL keeps these
locks apart by database, but shows those of all: a lock that is held in any database counts.

Source: https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Sequence

import pg8000

from loadstone.model.message import say
from loadstone.model.target import Target
from loadstone.postgresql.activity import SEE_OTHERS, processes
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import statement_errors
from loadstone.servers import locks as common
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.locks import Holder, NoLocks
from loadstone.servers.processes import Process
from loadstone.servers.sanitize import plain

_GIVE_BACK_S = 2.0
"""The end of a run should not wait for a server that hangs."""

_HELD = (
    "SELECT pid, (classid::bigint << 32) | objid::bigint FROM pg_locks"
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND (classid::bigint << 32) | objid::bigint = ANY(%s)"
)
_NO_LOCKS = ("0A000", "42883", "42P01")
"""Codes of compatible servers without such functions."""


def key_of(name: str) -> int:
    """The number of a name's lock, which is a signed one of 64 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def take(
    connection: Connection, target: Target, name: str, wait_s: float | None = None
) -> Holder | None:
    """Take a lock for as long as the connection lives; `None` if it is ours, otherwise its holder.

    `wait_s`: how long to wait for another holder; `None`: the grace period for killed clients.

    Raises:
        NoLocks: the server has none, or a pooler would give it to others.
        TargetError: the server refused, or the connection was lost.
    """
    until = time.monotonic() + (common.GRACE_S if wait_s is None else wait_s)
    while True:
        if _try(connection, target, name):
            # Held in another database by somebody else: at least one of both notices it.
            if not (held := holders(connection, target, [name])):
                return None
            give_back(connection, name)
        else:
            held = holders(connection, target, [name])
        if held and time.monotonic() >= until:
            return held[0]
        time.sleep(common.TRY_EVERY_S)


def refuse_shared(connection: Connection, target: Target) -> None:
    """Refuse a connection whose session a pooler gives to other clients, too.

    Raises:
        GuardError: it does.
        TargetError: the server refused, or the connection was lost.
    """
    with statement_errors(target):
        is_shared = of(connection).shares_sessions()
    if is_shared:
        raise GuardError(
            "serves_others",
            say(
                "{place} is a pooler that gives a session to another client after each transaction:"
                " what this command sets and locks would stay there",
                place=target.place,
            ),
            say("name the server's own address in --target, or set pool_mode=session there"),
        )


def _try(connection: Connection, target: Target, name: str) -> bool:
    """Take the lock if it is free; the connection may then be idle for as long as it likes."""
    with statement_errors(target):
        if of(connection).shares_sessions():
            said = say("{place} is a pooler that keeps no locks for a client", place=target.place)
            raise NoLocks("not_supported", said)
    rows = _asked(connection, target, f"SELECT pg_try_advisory_lock({key_of(name)})")
    if rows[0][0] and _knows_idle_timeout(connection):
        _asked(connection, target, "SET idle_session_timeout = 0")
    return bool(rows[0][0])


def _knows_idle_timeout(connection: Connection) -> bool:
    """Whether the server has idle_session_timeout, as all have since 14."""
    version = str(of(connection).home.parameter_statuses.get("server_version", ""))
    major = version.partition(".")[0]
    return major.isdecimal() and int(major) >= 14


def announce(connection: Connection, target: Target, name: str) -> None:
    """Take a lock if it is free, without checking whether it was.

    Raises:
        TargetError: the connection was lost, or the server has no such locks.
    """
    _try(connection, target, name)


def holders(connection: Connection, target: Target, names: Sequence[str]) -> tuple[Holder, ...]:
    """The holders of these locks, other than this connection.

    Raises:
        NoLocks: the server has none.
        TargetError: the connection was lost.
    """
    numbers = numbers_of_holders(connection, target, names)
    if not numbers:
        return ()
    shown = {one.number: one for one in processes(connection, target, numbers)}
    return tuple(_holder(number, shown.get(number)) for number in numbers)


def numbers_of_holders(
    connection: Connection, target: Target, names: Sequence[str]
) -> tuple[int, ...]:
    """The connections that hold these locks, other than this one.

    Raises:
        NoLocks, TargetError: as `holders`.
    """
    held = _held(connection, target, names)
    own = _own(connection, target)
    found = [pid for name in names for pid, key in held if key == key_of(name)]
    return tuple(dict.fromkeys(pid for pid in found if pid != own))


def number_of_holder(connection: Connection, target: Target, name: str) -> int | None:
    """The connection that holds a lock; `None` if nobody does.

    Raises:
        NoLocks, TargetError: as `holders`.
    """
    held = [pid for pid, _ in _held(connection, target, [name])]
    own = _own(connection, target)
    return own if own in held else next(iter(held), None)


def is_ours(connection: Connection, target: Target, *names: str) -> bool:
    """Whether the connection is alive and holds one of these locks."""
    try:
        own = _own(connection, target)
        return any(pid == own for pid, _ in _held(connection, target, names))
    except TargetError:
        return False


def give_back(connection: Connection, name: str) -> None:
    """Release the lock; a lost connection has already released it."""
    home = of(connection).home
    before_s, home.statement_s = home.statement_s, _GIVE_BACK_S
    try:
        with contextlib.suppress(pg8000.Error):
            home.run(f"SELECT pg_advisory_unlock({key_of(name)})")
    finally:
        home.statement_s = before_s


def _own(connection: Connection, target: Target) -> int:
    return int(_asked(connection, target, "SELECT pg_backend_pid()")[0][0])


def _held(
    connection: Connection, target: Target, names: Sequence[str]
) -> Sequence[tuple[int, int]]:
    """Who holds these locks: the process, and the lock's number."""
    rows = _asked(connection, target, _HELD, ([key_of(name) for name in names],))
    return [(pid, key) for pid, key in rows]


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
) -> Sequence[tuple[int, ...]]:
    """The rows of a statement on the connection that holds the locks."""
    try:
        with statement_errors(target), of(connection).home.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()
    except TargetError as error:
        if error.code is None or error.code.code not in _NO_LOCKS:
            raise
        raise NoLocks(error.kind, error.message, error.hint, error.code) from error
