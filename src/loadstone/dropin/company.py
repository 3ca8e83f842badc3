"""Warns on stderr of other users of a server, and announces the test to them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

from loadstone.dropin.aside import aside
from loadstone.families import FAMILIES, connect, family_of
from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.message import say
from loadstone.model.target import Endpoint, Target
from loadstone.observe import presence
from loadstone.observe.clients import Clients
from loadstone.observe.samplers import samplers_of
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_SHORT = Timeouts(connect_s=3, statement_s=5)
_LIMITS = ("max_connections", "max_user_connections")
_NOT_TOLD: tuple[type[Exception], ...] = (
    TargetError,
    *(family.Error for family in FAMILIES.values()),
    LookupError,
    ValueError,
)
"""The next query fails with the same error, and that is reported in the program's own words."""


@contextlib.contextmanager
def beside_others(endpoints: Sequence[Endpoint], users: int) -> Iterator[None]:
    """Warn of other users of these servers, and announce the test to them while it runs.

    This takes a connection of its own, which adds nothing to the server's counts of the test's
    statements; it is closed if the test's users need all connections.
    """
    share = math.ceil(users / len(endpoints))
    with contextlib.ExitStack() as stack:
        for endpoint in endpoints:
            target = endpoint.target
            with contextlib.suppress(*_NOT_TOLD), contextlib.ExitStack() as own:
                connection = own.enter_context(connect(endpoint, _SHORT, database=None))
                _warn_of_clients(connection, endpoint)
                if share >= _free(connection, target):
                    aside(
                        say(
                            "{place} has no connection left to announce this test to others",
                            place=target.place,
                        )
                    )
                    continue
                presence.announce(connection, target, target.database or "")
                stack.push(own.pop_all())
        yield


def _free(connection: Connection, target: Target) -> int:
    """How many connections this user may have there, including the one that asks."""
    if target.family == POSTGRESQL:
        return _free_of_postgresql(connection, target)
    # SHOW, because a SELECT would be counted among those of the test.
    with family_of(target).statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SHOW VARIABLES WHERE Variable_name IN {_LIMITS}")
        limits = {str(name).lower(): int(str(value)) for name, value in cursor.fetchall()}
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        ((_, connected),) = cursor.fetchall()
    free = limits["max_connections"] - int(connected) + 1
    of_user = limits["max_user_connections"]
    return min(free, of_user) if of_user else free


def _free_of_postgresql(connection: Connection, target: Target) -> int:
    with family_of(target).statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int - count(*) + 1"
            " FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL"
            # Sessions that this user may not see have no type.
            " AND coalesce(backend_type, 'client backend') = 'client backend'"
        )
        ((free,),) = cursor.fetchall()
    return int(free)


def warn_of_others(connection: Connection, endpoint: Endpoint) -> None:
    """Print a line for each active run on the same tables, and one about all other clients."""
    target = endpoint.target
    with contextlib.suppress(*_NOT_TOLD):
        for one in presence.at_work(connection, target, target.database or ""):
            aside(
                say(
                    "warning: also running in schema {schema}: {client}",
                    schema=target.database,
                    client=str(one),
                )
            )
        _warn_of_clients(connection, endpoint)


def _clients(connection: Connection, endpoint: Endpoint) -> Clients:
    """The other clients, from a single query: a test that is about to start must not wait."""
    target = endpoint.target
    return samplers_of(target).other_clients(connection, target, between_s=0.0)


def _warn_of_clients(connection: Connection, endpoint: Endpoint) -> None:
    if not is_throwaway(endpoint) and (clients := _clients(connection, endpoint)):
        aside(
            say(
                "warning: {place} {clients}: a load may slow them down",
                place=endpoint.target.place,
                clients=str(clients),
            )
        )
