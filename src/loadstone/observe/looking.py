"""Looks at a server's sessions at random moments, and adds up where they are.

Looks in step with the load's own seconds would see one place too often. Looks at moments of a
Poisson process do not, but come in bursts: a burst sees too much of a lock that comes and goes, and
a long gap misses it. Looks with gaps that are uniform around their mean see each place as often as
the sessions are there, too, and err less (F. Baccelli, S. Machiraju, D. Veitch, J. Bolot, "The Role
of PASTA in Network Measurement", SIGCOMM 2006: the probe pattern separation rule).
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Mapping

from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.answers import Answers
from loadstone.observe.looker import MOMENTS, QUEUE_COUNTED, QUEUED, Looker
from loadstone.observe.sessions import OWN, SEATS, SessionList
from loadstone.observe.source import SourceError
from loadstone.observe.threads import hurry

_CHANCE = random.Random()
_RETRY_S = 1.0
OWN_CONNECTIONS = "own_connections"
"""The gauge with the number of connections over which the sessions are looked at."""

_CLOSING_S = 2.0
"""How long the end waits for a look; the run itself waits for 3 s (observe/sampler.py)."""


class LookingSource:
    """A source whose counters grow with each look; the looks have a thread of their own.

    `looks`: their number. `at.SEAT`: users' sessions at a seat; `sq.SEAT`: the sum of its squares,
    and `xr.SEAT` of its products with the number that run, for the intervals. `others`: other
    clients' sessions at work. `core_s`, `delay_s`: seconds that all users' sessions ran, and waited
    for a core, within `counted_s`; `read_bytes`, `written_bytes`: what they moved from and to
    disks, within `bytes_counted_s`. `memory_bytes`: at each of `memory_looks` moments, bytes that
    the processes of `memory_sessions` sessions have for themselves; `page_table_bytes`: those of
    page tables. `trip_s`, `least_trip_s`: round trips of users' connections, usual and least, at
    each of `trip_looks`. `queued_s`: seconds that users waited before a pooler, within
    `queue_counted_s`. `others_` before these names: the same of other clients' sessions.
    `looking_s`: seconds of a core that the looks took. `own_COUNTER`: what their questions made the
    server do.
    """

    def __init__(
        self,
        name: SourceName,
        sessions: SessionList,
        answers: Answers,
        pid: int | None,
        find: Callable[[], int | None] | None = None,
    ) -> None:
        """Store what to look at; nothing is opened yet.

        Args:
            name: the source's name.
            sessions: the list of sessions.
            answers: of the server, to our users.
            pid: the server's process, if it runs on this machine.
            find: looks for the process again, since a server may be restarted.
        """
        self.name = name
        self._sessions = sessions
        self._answers = answers
        self._pid = pid
        self._find = find
        self._lock = threading.Lock()
        # A counter that were new later would have no growth in its first second.
        self._totals = {f"{kind}.{seat}": 0.0 for kind in MOMENTS for seat in SEATS}
        self._totals |= {QUEUED: 0.0, QUEUE_COUNTED: 0.0}
        self._lost = False
        self._is_connected = False
        self._facts: dict[str, str] = {}
        self._failed: SourceError | None = None
        self._has_read = False
        self._first = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def read(self) -> Reading:
        """The sums so far; the first call starts the looks.

        Raises:
            SourceError: the latest look failed.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="loadstone looks", daemon=True)
            self._thread.start()
            self._first.wait(_RETRY_S)
        with self._lock:
            if self._failed:
                raise self._failed
            counters = dict(self._totals)
            if not self._has_read:
                # Connecting took questions, too: the server's counters were read before them.
                counters |= {name: 0.0 for name in counters if name.startswith(OWN)}
                self._has_read = True
            gauges = {OWN_CONNECTIONS: float(self._is_connected)}
            return Reading(time.monotonic(), counters, gauges, dict(self._facts))

    def close(self) -> None:
        """End the looks, and wait for their thread, which closes what it has opened.

        A thread that waits for a server that does not answer is left behind.
        """
        self._over.set()
        if self._thread:
            self._thread.join(_CLOSING_S)

    def _run(self) -> None:
        with contextlib.closing(self._sessions):
            self._look_until_over()

    def _look_until_over(self) -> None:
        looker: Looker | None = None
        wait_s = 0.0
        hurry(on=True)
        while not self._over.wait(wait_s):
            try:
                looker = looker or self._primed()
                seen = looker.look()
                wait_s = looker.least_wait_s + gap_s(looker.mean_wait_s)
            except Exception as error:  # a strange server's answer may raise anything
                self._keep(_source_error(error))
                _close(looker)
                looker, self._lost = None, True
                wait_s = _RETRY_S
            else:
                self._keep(seen, looker)
            hurry(on=True)
        _close(looker)

    def _primed(self) -> Looker:
        """A looker that has connected and learnt what there is: that costs more than looks do."""
        hurry(on=False)
        if self._lost and self._find:
            self._sessions.look()  # it answers again, so its process is there
            self._pid = self._find()
        made = dict(self._sessions.made)
        workers = self._sessions.workers(self._pid) if self._pid else None
        looker = Looker(self._sessions, workers, self._answers)
        try:
            for _ in range(2):
                looker.look()
        except BaseException:
            looker.close()
            raise
        self._lost = False
        looker.forget_costs()
        looker.made = made
        return looker

    def _keep(self, seen: Mapping[str, float] | SourceError, looker: Looker | None = None) -> None:
        with self._lock:
            self._is_connected = looker is not None
            if isinstance(seen, SourceError):
                self._failed = seen
            else:
                self._failed = None
                for name, value in seen.items():
                    self._totals[name] = self._totals.get(name, 0.0) + value
                if looker:
                    self._facts = looker.facts
        self._first.set()


def gap_s(mean_s: float, chance: random.Random = _CHANCE) -> float:
    """How long until the next look: uniform around its mean."""
    return chance.uniform(0.5 * mean_s, 1.5 * mean_s)


def _source_error(error: Exception) -> SourceError:
    if isinstance(error, SourceError):
        return error
    return SourceError(say("an answer that cannot be read ({why})", why=f"{error!r:.200}"))


def _close(looker: Looker | None) -> None:
    if looker:
        looker.close()
