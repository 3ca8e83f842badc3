"""What stands between a server and its clients: what a proxy says of itself, and what it keeps.

HAProxy and others of TCP say nothing: the address that the server sees tells (`processlist`).
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from contextlib import closing

import pymysql

from loadstone.model.target import Target
from loadstone.mysql.administration import Administration
from loadstone.mysql.errors import NO_LOCKS
from loadstone.servers.facts import Between

_COMMENT = "select @@version_comment limit 1"
"""ProxySQL answers this with `(ProxySQL)` if it is sent to the letter, and passes others on.

Source: MySQL_Session.cpp, handler_special_queries.
"""

_NO_COMMENT = (1064, 1105, 1193, 1235)
"""Errors of servers without such a variable, or without that syntax."""

_SAID = (("proxysql", "ProxySQL"), ("maxscale", "MaxScale"))
"""Words in a greeting or in the comment of a version.

MaxScale's greeting ends with `-maxscale` unless it is configured to say something else, or knows
what its servers say. Source: mariadb_client.cc, get_version_string.
"""

_OF_RDS = re.compile(r"\.proxy-[0-9a-z]+\.[0-9a-z-]+\.rds\.amazonaws\.com(\.cn)?\.?", re.I)
"""Ends the names of RDS Proxy's endpoints, which says nothing of itself.

Source: https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-proxy-connecting.html
"""

_ROUNDS = 3
"""Other clients of a busy proxy may get the session in between; the fastest answer is taken."""


def between(connection: Administration, target: Target) -> Between:
    """What a connection shows of the proxy that answers it.

    Raises:
        pymysql.MySQLError: the connection was lost, or another login was refused.
    """
    return Between(
        name=name_of(connection, target),
        shares_sessions=shares_sessions(connection),
        greeting_s=connection.greeting_s,
        ping_s=_fastest(lambda: connection.ping(reconnect=False)),
        statement_s=_fastest(lambda: _one(connection, "SELECT 1")),
    )


def name_of(connection: Administration, target: Target) -> str | None:
    """The proxy's name, by what it says of itself; `None`: it does not say."""
    greeting = connection.get_server_info()  # type: ignore[no-untyped-call]
    said = f"{greeting} {_comment(connection)}".lower()
    for word, name in _SAID:
        if word in said:
            return name
    return "RDS Proxy" if _OF_RDS.search(target.host) else None


def shares_sessions(connection: Administration) -> bool:
    """Whether a lock of this connection, which a proxy answers, is not its own.

    Proxies that give a session to other clients after each transaction keep one with a lock for its
    client: ProxySQL never shares it again (https://proxysql.com/documentation/multiplexing/). Where
    that is not so, another client gets the same lock, or this one does not get it again. `False`
    where there are no such locks.

    Raises:
        pymysql.MySQLError: the connection was lost, or another login was refused.
    """
    if connection.shares_sessions is None:
        connection.shares_sessions = _shares_locks(connection)
    return connection.shares_sessions


def _shares_locks(connection: Administration) -> bool:
    assert connection.reach is not None
    name = f"loadstone.{secrets.token_hex(8)}"
    take, give_back = f"SELECT GET_LOCK('{name}', 0)", f"SELECT RELEASE_LOCK('{name}')"
    try:
        if _one(connection, take) != 1:
            return False
    except pymysql.MySQLError as error:
        if error.args[0] not in NO_LOCKS:
            raise
        return False
    with closing(connection.reach()) as other:
        # Some give a session only to clients with the same settings.
        for statement in connection.session_settings:
            _one(other, statement)
        # Twice in a row: a proxy whose sessions take turns gives every second one to one of two.
        is_shared = any(
            _one(other, take) == 1 or _one(connection, take) != 1 or _one(connection, take) != 1
            for _ in range(_ROUNDS)
        )
        # A session has it once for each time that it took it, wherever each was.
        for _ in range(3 * _ROUNDS + 1):
            _one(connection, give_back)
            if is_shared:
                _one(other, give_back)
    return is_shared


def _comment(connection: Administration) -> str:
    try:
        rows = connection.asked_exactly(_COMMENT)
    except pymysql.MySQLError as error:
        if error.args[0] not in _NO_COMMENT:
            raise
        return ""
    return str(rows[0][0]) if rows else ""


def _one(connection: Administration, statement: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return row[0] if row else None


def _fastest(ask: Callable[[], object]) -> float:
    """The least of some round trips, in seconds: what is above it waited for a core, mostly."""
    least = float("inf")
    for _ in range(_ROUNDS):
        began = time.monotonic()
        ask()
        least = min(least, time.monotonic() - began)
    return least
