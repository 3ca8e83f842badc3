"""Who else uses a server: told on stderr, as command lines of sysbench go on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import pymysql

from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.mysql import presence
from loadstone.mysql.connect import Connection, Timeouts, connect
from loadstone.mysql.errors import TargetError
from loadstone.observe.clients import Clients, other_clients
from loadstone.sysbench.log import aside
from loadstone.sysbench.targets import Place

_SHORT = Timeouts(connect_s=3, statement_s=5)
_NOT_TOLD = (TargetError, pymysql.MySQLError, LookupError, ValueError)
"""What is asked next says why, in sysbench's words."""


@contextlib.contextmanager
def beside_others(places: Iterable[Place]) -> Iterator[None]:
    """Warn of those who use these servers, and let others know of a test meanwhile.

    By a connection beside the test's, which adds nothing to what servers count of its statements.
    """
    with contextlib.ExitStack() as stack:
        for place in places:
            target = place.endpoint.target
            with contextlib.suppress(*_NOT_TOLD):
                opened = connect(place.endpoint, _SHORT, database=None)
                connection = stack.enter_context(opened)
                _warn_of_clients(connection, place)
                presence.announce(connection, target, target.database or "")
        yield


def warn_of_others(connection: Connection, place: Place) -> None:
    """A line for each that is at work on the same tables, and one of all others."""
    target = place.endpoint.target
    with contextlib.suppress(*_NOT_TOLD):
        for one in presence.at_work(connection, target, target.database or ""):
            aside(f"warning: at work in schema {target.database} as well: {one}")
        _warn_of_clients(connection, place)


def _clients(connection: Connection, place: Place) -> Clients:
    """In one look: a test that is to begin does not wait."""
    return other_clients(connection, place.endpoint.target, between_s=0.0)


def _warn_of_clients(connection: Connection, place: Place) -> None:
    if not is_throwaway(place.endpoint) and (clients := _clients(connection, place)):
        aside(f"warning: {place.endpoint.target.place} {clients}: a load may slow them down")
