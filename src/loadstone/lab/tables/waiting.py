"""Reports waits of administrative connections to a person before they become an error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import TracebackType
from typing import Self

from loadstone.families import connect, family_of
from loadstone.lab.step.listener import LoadObserver
from loadstone.model.message import say
from loadstone.model.records import LoadStalled
from loadstone.model.target import Endpoint
from loadstone.servers.connection import Connection

SAY_AFTER_S = 5.0
SAY_AGAIN_S = 10.0

_LOOK_S = 0.25


class Waits:
    """Reports statements that have not been answered for some seconds, while it is open."""

    def __init__(self, observer: LoadObserver, say_after_s: float = SAY_AFTER_S) -> None:
        self._observer = observer
        self._say_after_s = say_after_s
        self._connection: Connection | None = None
        self._number: int | None = None
        """The server's number for the connection."""
        self._shows = ""
        """The statement that lists the server's sessions."""
        self._opening: tuple[float, str] | None = None
        self._said: tuple[tuple[float, str], float] | None = None
        self._began = time.monotonic()
        self._over = Event()
        self._thread = Thread(target=self._run, name="waits", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join(1.0)

    @contextmanager
    def connected(self, endpoint: Endpoint) -> Iterator[Connection]:
        """A connection that is watched, and does not wait for a lock forever.

        Raises:
            GuardError: others could get its session, with the limit of its waits.
            TargetError: the server refused.
        """
        before = self._connection, self._number
        family = family_of(endpoint.target)
        self._shows = family.words.sessions
        self._opening = (time.monotonic(), "logging in")
        try:
            opened = connect(endpoint, database=None)
        finally:
            self._opening = None
        with opened as connection:
            self._connection, self._number = connection, family.number_of(connection)
            try:
                family.locks.refuse_shared(connection, endpoint.target)
                with family.statement_errors(endpoint.target):
                    family.bound_lock_waits(connection)
                yield connection
            finally:
                self._connection, self._number = before

    def _run(self) -> None:
        while not self._over.wait(_LOOK_S):
            now = time.monotonic()
            asked = self._opening or getattr(self._connection, "asked", None)
            if asked is None or now - asked[0] < self._say_after_s:
                continue
            if self._said and self._said[0] == asked and now - self._said[1] < SAY_AGAIN_S:
                continue
            self._said = (asked, now)
            self._observer.on_stalled(self._stalled(asked, now))

    def _stalled(self, asked: tuple[float, str], now: float) -> LoadStalled:
        return LoadStalled(
            seconds=now - self._began,
            connection=None if self._opening else self._number,
            statement=" ".join(asked[1].split()),
            silent_s=now - asked[0],
            waits_for=say(
                "the server, which has not answered; {sessions} there shows why",
                sessions=self._shows,
            ),
        )
