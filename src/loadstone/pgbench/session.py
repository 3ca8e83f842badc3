"""A connection of our own before a run, and for `-i`: failures are said as pgbench says them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loadstone.dropin import libpq
from loadstone.families import connect
from loadstone.model.target import Endpoint
from loadstone.pgbench.errors import Failed
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import statement_errors
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_PATIENT = Timeouts(connect_s=10, statement_s=1_000_000)
"""The rows of a large scale take hours."""


class Session:
    """A login, and the statements that it executes."""

    def __init__(self, connection: Connection, endpoint: Endpoint) -> None:
        self.connection = connection
        self.target = endpoint.target
        self._administration = of(connection).current

    def execute(self, statement: str) -> None:
        """Execute a statement.

        Raises:
            Failed: the server refused it.
        """
        with self._said_of(statement):
            self._administration.run(statement)

    def copy(self, statement: str, pieces: Iterable[bytes]) -> None:
        """Execute a `COPY … FROM STDIN` with these pieces of its input.

        Raises:
            Failed: the server refused it.
        """
        with self._said_of(statement):
            self._administration.copy(statement, pieces)

    def rows(self, statement: str) -> Sequence[Sequence[Any]]:
        """The rows of an answer.

        Raises:
            TargetError: the server refused the statement.
        """
        with statement_errors(self.target), self._administration.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def notices(self) -> list[str]:
        """What the server has remarked since the last call."""
        return self._administration.taken_notices()

    @contextlib.contextmanager
    def _said_of(self, statement: str) -> Iterator[None]:
        try:
            with statement_errors(self.target):
                yield
        except TargetError as error:
            raise Failed(
                f"query failed: {refusal(error, statement)}", detail=f"Query was: {statement}"
            ) from error


def refusal(error: TargetError, statement: str) -> str:
    """What the server has said of a statement, in the words of its client library."""
    return libpq.of_statement(error, statement) or error.message


@contextlib.contextmanager
def session(endpoint: Endpoint, purpose: str) -> Iterator[Session]:
    """Log in.

    Raises:
        Failed: the server cannot be reached, or refuses the login.
    """
    try:
        connection = connect(endpoint, _PATIENT)
    except TargetError as error:
        raise Failed(
            libpq.of_login(error, endpoint),
            f"could not create connection for {purpose}",
            hint=libpq.advice_on(error.kind),
        ) from error
    with connection:
        yield Session(connection, endpoint)
