"""The sessions of a PostgreSQL server, each of which is a process, with their wait events.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loadstone.model.target import Endpoint
from loadstone.observe.postgresql.asking import Asking
from loadstone.observe.postgresql.opened import database_of
from loadstone.observe.postgresql.pooler import Pooler
from loadstone.observe.postgresql.questions import Questions, rows_of
from loadstone.observe.postgresql.wait_events import said_by
from loadstone.observe.processes import Processes
from loadstone.observe.sessions import LISTED_S, Session, Sleeps, Whose
from loadstone.observe.threads import Threads
from loadstone.postgresql.activity import HIDDEN
from loadstone.postgresql.administration import APPLICATION
from loadstone.postgresql.variables import literal_of

_UNIT, _RECORD = "\x1f", "\x1e"

# The view joins the names of users and databases, which nobody needs here.
_LIST = f"""
SELECT string_agg(concat_ws(E'\\x1f', pid, coalesce(datid, 0), coalesce(usesysid, 0),
  (application_name = '{APPLICATION}')::int, (query = '{HIDDEN}')::int, coalesce(state, ''),
  coalesce(extract(epoch FROM clock_timestamp() - state_change), 0),
  coalesce(wait_event_type, ''), coalesce(wait_event, '')), E'\\x1e')
FROM pg_stat_get_activity(NULL)
WHERE pid <> pg_backend_pid() AND coalesce(datid, 0) <> 0 AND coalesce(usesysid, 0) <> 0
  AND coalesce(backend_type, 'client backend') = 'client backend'
"""
"""All sessions of clients as one text, which costs us a tenth of as many rows."""

_FIELDS = 9

_OURSELVES = """
SELECT pg_has_role('pg_read_all_stats', 'USAGE'),
  (SELECT oid FROM pg_roles WHERE rolname = session_user),
  coalesce((SELECT oid FROM pg_database WHERE datname = {database}), 0),
  current_setting('commit_delay')::float8
"""

_LOG_FILE = re.compile(r"[0-9A-F]{24}(\.partial)?|xlogtemp\.\d+")
"""Segments of the write-ahead log: a timeline and a place in 24 hexadecimal digits."""


@dataclass
class PostgresSessions:
    """Reads what sessions do; implements `observe.sessions.SessionList`."""

    endpoint: Endpoint
    of_the_load: Callable[[], Collection[int]] = tuple
    """The processes of the load's connections; none, if others drive it."""
    thread: int | None = None
    """The process of the session that asks."""
    why_no_threads: str | None = None
    sees_others: bool = False
    made: Mapping[str, float] = field(default_factory=dict)
    """Nothing: the questions leave no trace in counters of the load's database."""
    rows_kept_s: float = 0.0
    sleeps: Sleeps = Sleeps("latch")
    _asking: Asking = field(init=False)
    _pooler: Pooler = field(init=False)
    _user: int = 0
    _database: int = 0
    _drives: bool = False
    """The load has had connections from here: without one it has no session."""
    _is_direct: bool = False
    """The server itself answers: the load's connections are its processes."""

    def __post_init__(self) -> None:
        self._asking = Asking(self.endpoint, self._begin, LISTED_S)
        self._pooler = Pooler(self.endpoint)

    def look(self) -> tuple[Session, ...]:
        """All sessions but the one that asks, as far as this account may see them.

        Raises:
            SourceError: the server does not answer.
        """
        before = self.of_the_load()
        ((text,),) = self._rows(_LIST)
        rows = [row.split(_UNIT) for row in str(text or "").split(_RECORD) if row]
        # Users may come and go while the server makes its list.
        ours = {*before, *self.of_the_load()} if self._is_direct else set()
        self._drives = self._drives or bool(ours)
        return tuple(self.session(row, ours) for row in rows if len(row) == _FIELDS)

    def connections(self) -> Collection[int]:
        """Numbers of the load's connections now; none, if they are not known."""
        return self.of_the_load() if self._is_direct else ()

    def row_waiters(self) -> Collection[int] | None:
        """`None`: the list itself says who waits for a row."""
        return None

    def workers(self, pid: int) -> Threads:
        """What looks at the processes that the server's process has started."""
        return Processes(pid)

    def round_trip_s(self) -> float:
        """How long an answer takes for which the server has nothing to do; raises as `look`."""
        began_s = time.monotonic()
        self._rows("SELECT 1")
        return time.monotonic() - began_s

    def file_kind(self, name: str) -> Literal["log", "binlog", "data"]:
        """What the server keeps in a file with that name."""
        return "log" if _LOG_FILE.fullmatch(name) else "data"

    def queued_s(self) -> float | None:
        """Seconds that users have waited before a pooler, if there is one and it says so."""
        return None if self._is_direct else self._pooler.waited_s()

    def close(self) -> None:
        """Close the connections."""
        self._asking.close()
        self._pooler.close()

    def session(self, row: Sequence[str], ours: Collection[int]) -> Session:
        """The session of a row with `_FIELDS` texts.

        `ours`: processes of the load's sessions; empty where they are not known.
        """
        number, database, user, is_named, is_hidden, state, since_s, kind, wait = row
        pid = int(number)
        whose = self._whose(pid, ours, (int(user), int(database)), is_named=is_named == "1")
        return Session(
            number=pid,
            thread=None if self.why_no_threads else pid,
            whose=whose,
            # What it does is not shown, so it is not known to be at work.
            says="waits for the client" if is_hidden == "1" else said_by(state, kind, wait),
            # The server reads what a session waits for a moment after the state: one that has just
            # become idle is listed with the age of the statement before.
            since_s=float(since_s) if state.startswith("idle") else 0.0,
        )

    def _whose(
        self, pid: int, ours: Collection[int], at: tuple[int, int], *, is_named: bool
    ) -> Whose:
        """Our users are known by their processes, else by their account and database."""
        if pid in ours:
            return "ours"
        user, database = at
        if user != self._user:
            return "other"
        if is_named:
            return "administration"
        if self._drives:
            return "other"
        return "ours" if database == self._database else "administration"

    def _rows(self, statement: str) -> Sequence[Sequence[object]]:
        with self._asking.questions() as questions:
            return questions.rows(statement)

    def _begin(self, questions: Questions) -> None:
        connection = questions.connection
        self.thread, self._is_direct = questions.pid, questions.is_direct
        own = database_of(self.endpoint, is_direct=questions.is_direct)
        database = literal_of(connection, own)
        (row,) = rows_of(connection, _OURSELVES.format(database=database))
        sees_others, user, own_database, delay = row
        self.sees_others = bool(sees_others)
        self._user, self._database = int(user), int(own_database)
        self.sleeps = Sleeps("commit delay" if float(delay) > 0 else "latch")
