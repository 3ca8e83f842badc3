"""Loads and experiments on servers where others may be at work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from loadstone.model.target import Endpoint
from loadstone.mysql import presence
from loadstone.mysql.connect import connect


@contextlib.contextmanager
def alone_on(endpoint: Endpoint) -> Iterator[None]:
    """Keep other programs out of a schema while its tables are dropped, made and measured.

    Raises:
        GuardError: another is at work there.
        TargetError: the target could not be reached, or refused.
    """
    target = endpoint.target
    with (
        connect(endpoint, database=None) as connection,
        presence.alone(connection, target, target.database or ""),
    ):
        yield


@contextlib.contextmanager
def beside_others(endpoints: Iterable[Endpoint]) -> Iterator[list[str]]:
    """Let others know of a run on these targets; gives a note for each run beside it.

    Raises:
        GuardError: tables are being made or dropped there.
        TargetError: a target could not be reached, or refused.
    """
    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        schemas = {(one.target.place, one.target.database): one for one in endpoints}
        for endpoint in schemas.values():
            target, schema = endpoint.target, endpoint.target.database or ""
            connection = stack.enter_context(connect(endpoint, database=None))
            others = stack.enter_context(presence.beside(connection, target, schema))
            notes += [f"beside it in schema {schema} of {target.place}: {one}" for one in others]
        yield notes
