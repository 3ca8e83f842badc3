"""Other clients of a server at this moment, while we put no load on it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection

from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.processlist import SEE_OTHERS, processes
from loadstone.observe.clients import Account, Clients
from loadstone.servers.connection import Connection
from loadstone.servers.processes import Process

_OF_THE_SERVER = ("system user", "event_scheduler")
_COUNTED = ("Threads_connected", "wsrep_cluster_size")
_NOT_YET = "unauthenticated user"
_IDLE = ("Sleep", "Daemon", "Connect")
_FEEDS = "Binlog Dump"


def other_clients(
    connection: Connection,
    target: Target,
    known: Collection[tuple[str, str]] = (),
    between_s: float = 0.5,
) -> Clients:
    """Connections of other users or hosts; accounts (user, host) in `known` are not counted.

    It uses SHOW only, so that the server's counters of statements remain those of the loads. It
    looks twice, some seconds apart, to see connections that come and go.

    Raises:
        TargetError: the server refused, or the connection was lost.
        LookupError, ValueError: no server of MySQL's family answers like this.
    """
    before = _counters(connection, target)
    first = _shown(connection, target)
    if not first:  # a server that does not even show our own connection, such as the null server
        return Clients()
    time.sleep(between_s)
    second = _shown(connection, target)
    after = _counters(connection, target)
    # A client that connects or leaves between the two looks does not count as hidden.
    # Without such counters (Dolt) all that are shown are all there are.
    least = min(before.get("threads_connected", 0), after.get("threads_connected", 0))
    own = {_account(one) for one in first if one.asks}
    looks = [_others(look, {*own, *known}) for look in (first, second)]
    at_work = [Counter(_account(one) for one in look if one.command not in _IDLE) for look in looks]
    connections = Counter(map(_account, looks[0])) | Counter(map(_account, looks[1]))
    working = at_work[0] | at_work[1]
    return Clients(
        tuple(Account(*each, count, working[each]) for each, count in connections.items()),
        replicas=sum(one.command.startswith(_FEEDS) for one in first),
        hidden=max(0, least - max(len(first), len(second))),
        members=max(0, after.get("wsrep_cluster_size", 0) - 1),
        right=SEE_OTHERS,
    )


def _shown(connection: Connection, target: Target) -> list[Process]:
    """All processes except the server's own threads."""
    return [one for one in processes(connection, target) if one.user not in _OF_THE_SERVER]


def _others(look: Collection[Process], known: Collection[tuple[str, str]]) -> list[Process]:
    """Processes of unknown accounts; connections that have not logged in yet do not count."""
    return [
        one
        for one in look
        if not one.command.startswith(_FEEDS)
        and one.user != _NOT_YET
        and _account(one) not in known
    ]


def _account(process: Process) -> tuple[str, str]:
    return process.user, process.host


def _counters(connection: Connection, target: Target) -> dict[str, int]:
    """The requested counters; a server that is not MySQL may return others as well."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SHOW GLOBAL STATUS WHERE Variable_name IN {_COUNTED}")
        shown = {str(name).lower(): str(value) for name, value in cursor.fetchall()}
    counted = {name.lower() for name in _COUNTED}
    return {name: int(shown[name]) for name in counted & shown.keys() if shown[name].isdecimal()}
