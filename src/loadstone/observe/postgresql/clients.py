"""Other clients of a server at this moment, while we put no load on it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from loadstone.model.target import Target
from loadstone.observe.clients import Account, Clients
from loadstone.postgresql.activity import AT_WORK, HIDDEN, OF_CLIENTS, SEE_OTHERS
from loadstone.postgresql.errors import statement_errors
from loadstone.servers.connection import Connection

_SESSIONS = (
    "SELECT coalesce(usename, ''), coalesce(host(client_addr), ''), coalesce(state, ''),"
    f" coalesce(backend_type, '') = 'walsender', query = '{HIDDEN}',"
    " usename = current_user AND client_addr IS NOT DISTINCT FROM inet_client_addr()"
    f" FROM pg_stat_activity WHERE ({OF_CLIENTS}) OR backend_type = 'walsender'"
)


class _Session(NamedTuple):
    user: str
    host: str
    state: str
    feeds: bool
    """Whether it sends the write-ahead log, as to a standby."""
    hidden: bool
    own: bool

    @property
    def account(self) -> tuple[str, str]:
        return self.user, self.host


def other_clients(
    connection: Connection,
    target: Target,
    known: Collection[tuple[str, str]] = (),
    between_s: float = 0.5,
) -> Clients:
    """Connections of other users or hosts; accounts (user, host) in `known` are not counted.

    It looks twice, `between_s` seconds apart, to see connections that come and go.

    Raises:
        TargetError: the server refused, or the connection was lost.
    """
    first = _sessions(connection, target)
    time.sleep(between_s)
    second = _sessions(connection, target)
    looks = [[one for one in look if _counts(one, known)] for look in (first, second)]
    connections = _counted(looks[0]) | _counted(looks[1])
    working = _at_work(looks[0]) | _at_work(looks[1])
    return Clients(
        tuple(Account(*each, count, working[each]) for each, count in connections.items()),
        replicas=sum(one.feeds for one in first),
        # One that is gone at the second look has just left.
        hidden=min(sum(one.hidden and not one.feeds for one in look) for look in (first, second)),
        right=SEE_OTHERS,
    )


def _sessions(connection: Connection, target: Target) -> list[_Session]:
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(_SESSIONS)
        return [_Session(*row) for row in cursor.fetchall()]


def _counts(one: _Session, known: Collection[tuple[str, str]]) -> bool:
    return not (one.own or one.hidden or one.feeds or one.account in known)


def _counted(sessions: Collection[_Session]) -> Counter[tuple[str, str]]:
    return Counter(one.account for one in sessions)


def _at_work(sessions: Collection[_Session]) -> Counter[tuple[str, str]]:
    return Counter(one.account for one in sessions if one.state in AT_WORK)
