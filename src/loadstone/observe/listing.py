"""Lists of sessions that are made in the background, where there are thousands of them.

Among thousands of threads that want a core, the one that makes the list gets its fair share of one:
some milliseconds of work take it seconds (sched-eevdf.rst). Looks at the threads need not wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from loadstone.observe.sessions import Session, SessionList

_SOON_S = 0.5
"""How long a look waits for a list: what a later one says has been over for longer."""


class Listing:
    """The latest list of a server's sessions, and the one that is being made."""

    def __init__(self, sessions: SessionList) -> None:
        """Store whom to ask; nothing is asked yet."""
        self._sessions = sessions
        self._made: _Made | None = None
        self._asks: Callable[[], Collection[int] | None] = sessions.row_waiters
        self.latest: tuple[Session, ...] = ()

    @property
    def is_being_made(self) -> bool:
        """Whether the server has been asked and has not answered: it can be asked nothing else."""
        return self._made is not None

    def make(self) -> None:
        """Make a new list, and wait for it.

        Raises:
            SourceError: the server does not answer.
        """
        self.latest, self._asks = self._sessions.look(), self._sessions.row_waiters

    def make_soon(self, *, with_waiters: bool) -> bool:
        """Make a new list; returns whether it is there, and of this moment. Raises as `make`.

        `with_waiters`: somebody may wait for a row's lock.
        """
        if self._made:
            self._take(0.0)
            return False
        self._made = _Made(self._sessions, with_waiters=with_waiters)
        return self._take(_SOON_S)

    def row_waiters(self) -> Collection[int] | None:
        """Numbers of the sessions that waited for a row's lock when the latest list was made.

        `None`: not known. Raises as `make`.
        """
        return None if self._made and self._asks == self._sessions.row_waiters else self._asks()

    def _take(self, wait_s: float) -> bool:
        """Take the list that is being made if it is there by then."""
        made = self._made
        if not made or not made.is_there(wait_s):
            return False
        self._made = None
        self.latest, self._asks = made.sessions, lambda: made.waiters
        return True


class _Made:
    """A list that is being made."""

    def __init__(self, sessions: SessionList, *, with_waiters: bool) -> None:
        self.sessions: tuple[Session, ...] = ()
        self.waiters: Collection[int] | None = None
        self._failed: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, args=(sessions, with_waiters), name="loadstone list", daemon=True
        )
        self._thread.start()

    def _run(self, sessions: SessionList, with_waiters: bool) -> None:
        try:
            self.sessions = sessions.look()
            self.waiters = sessions.row_waiters() if with_waiters else None
        except Exception as error:  # raised in the thread that asks for the list
            self._failed = error

    def is_there(self, wait_s: float) -> bool:
        """Whether the list is there by then; raises what asking for it did."""
        self._thread.join(wait_s)
        if self._failed:
            raise self._failed
        return not self._thread.is_alive()
