"""Warns on stderr of other users of a server, and announces the test to them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

from loadstone.dropin.aside import aside
from loadstone.families import FAMILIES, connect, family_of
from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.observe import presence
from loadstone.observe.clients import Clients
from loadstone.observe.samplers import samplers_of
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_SHORT = Timeouts(connect_s=3, statement_s=5)
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
                if share >= family_of(target).free_connections(connection, target):
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


def warn_of_others(connection: Connection, endpoint: Endpoint) -> None:
    """Print a line for each active run on the same tables, and one about all other clients."""
    target = endpoint.target
    with contextlib.suppress(*_NOT_TOLD):
        for one in presence.at_work(connection, target, target.database or ""):
            aside(
                say(
                    "warning: also running in schema {schema}: {client}",
                    schema=target.database,
                    client=one.message,
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
