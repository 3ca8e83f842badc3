"""Lists of sessions that are made in the background, where there are thousands of them.

Among thousands of threads that want a core, the one that makes the list gets its fair share of one:
some milliseconds of work take it seconds (sched-eevdf.rst). Looks at the threads go on meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from loadstone.observe.sessions import Session, SessionList
from loadstone.observe.threads import hurry

_SOON_S = 0.5
"""How long a look waits for a list: what a later one says has been over for longer."""


class Listing:
    """The latest list of a server's sessions, and the one that is being made."""

    def __init__(self, sessions: SessionList) -> None:
        """Store whom to ask; nothing is asked yet."""
        self._sessions = sessions
        self._pending: _Pending | None = None
        self._ask_row_waiters: Callable[[], Collection[int] | None] = sessions.row_waiters
        self._cost_s = 0.0
        self.latest: tuple[Session, ...] = ()

    @property
    def is_pending(self) -> bool:
        """Whether the server has been asked and has not answered: it can be asked nothing else."""
        return self._pending is not None

    def make(self) -> None:
        """Make a new list, and wait for it.

        Raises:
            SourceError: the server does not answer.
        """
        self.latest = self._sessions.look()
        self._ask_row_waiters = self._sessions.row_waiters

    def make_soon(self, *, with_waiters: bool) -> bool:
        """Take the pending list, or ask for a new one; returns whether it says what is so now.

        `with_waiters`: somebody may wait for a row's lock. Raises as `make`.
        """
        if self._pending:
            self._take(self._pending, 0.0)
            return False
        self._pending = _Pending(self._sessions, with_waiters=with_waiters)
        return self._take(self._pending, _SOON_S)

    def row_waiters(self) -> Collection[int] | None:
        """Numbers of the sessions that waited for a row's lock when the latest list was made.

        `None`: not known. Raises as `make`.
        """
        if self._pending and self._ask_row_waiters == self._sessions.row_waiters:
            return None
        return self._ask_row_waiters()

    def cost_s(self) -> float:
        """Seconds of a core that this process took for pending lists since the last call."""
        cost_s, self._cost_s = self._cost_s, 0.0
        return cost_s

    def close(self) -> None:
        """Wait for the pending list, as nobody else may use its connection before."""
        if self._pending:
            self._pending.end()

    def _take(self, pending: _Pending, wait_s: float) -> bool:
        """Take the pending list if it is there by then."""
        if not pending.is_there(wait_s):
            return False
        self._pending = None
        self._cost_s += pending.cost_s
        self.latest, self._ask_row_waiters = pending.sessions, lambda: pending.waiters
        return True


class _Pending:
    """A list that is being made."""

    def __init__(self, sessions: SessionList, *, with_waiters: bool) -> None:
        self.sessions: tuple[Session, ...] = ()
        self.waiters: Collection[int] | None = None
        self.cost_s = 0.0
        self._with_waiters = with_waiters
        self._failed: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, args=(sessions,), name="loadstone list", daemon=True
        )
        self._thread.start()

    def _run(self, sessions: SessionList) -> None:
        hurry(on=False)
        try:
            self.sessions = sessions.look()
            self.waiters = sessions.row_waiters() if self._with_waiters else None
        except Exception as error:  # raised in the thread that asks for the list
            self._failed = error
        self.cost_s = time.thread_time()

    def is_there(self, wait_s: float) -> bool:
        """Whether the list is there by then; raises what asking for it did."""
        self._thread.join(wait_s)
        if self._thread.is_alive():
            return False
        if self._failed:
            raise self._failed
        return True

    def end(self) -> None:
        """Wait until it is there, or has failed, and ask nothing more."""
        self._with_waiters = False
        self._thread.join()
