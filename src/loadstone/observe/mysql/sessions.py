"""The sessions of a MySQL or MariaDB server, from its process list."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pymysql

from loadstone.families import connect
from loadstone.model.message import plain, say
from loadstone.model.target import Endpoint
from loadstone.mysql.own_sessions import own_numbers
from loadstone.mysql.processlist import GREETED, number_of
from loadstone.observe.mysql.own_tables import OwnTables
from loadstone.observe.mysql.server import NO_RIGHT, NOT_THERE, lists_pool_queues, reason, release
from loadstone.observe.sessions import LISTED_S, Says, Session, Sleeps, Whose
from loadstone.observe.source import SourceError
from loadstone.observe.threads import Threads
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_TIMEOUTS = Timeouts(connect_s=3, statement_s=LISTED_S)

_UNIT, _RECORD = "\x1f", "\x1e"


def _list_of(table: str, prefix: str, thread: str, state: str = "", also: str = "") -> str:
    """A statement that lists all sessions as one text, which costs us a tenth of as many rows."""
    state = state or f"IFNULL({prefix}STATE, '')"
    columns = f"""{prefix}ID, {thread}, IFNULL({prefix}USER, ''), IFNULL({prefix}DB, ''),
        {prefix}COMMAND, {state}, LEFT(IFNULL({prefix}INFO, ''), 8)"""
    return (
        f"SELECT GROUP_CONCAT(CONCAT_WS('{_UNIT}', {columns}) SEPARATOR '{_RECORD}'){also}"
        f" FROM {table}"
        f" WHERE {prefix}ID <> CONNECTION_ID()"
    )


_MARIADB = _list_of("information_schema.PROCESSLIST", "", "TID")
_WORKED_US = ", TIMESTAMPDIFF(MICROSECOND, NOW(6), IFNULL(MAX(SYSDATE(6)), SYSDATE(6)))"
"""A column with the time from when a thread of the pool takes up the question to the last row, or
to the end where there is no row; zero of a server with --sysdate-is-now."""

_POOLED = _list_of(
    "information_schema.PROCESSLIST",
    "",
    "0",
    "IF(COMMAND IN ('Sleep', 'Connect')"
    " AND ID IN (SELECT CONNECTION_ID FROM information_schema.THREAD_POOL_QUEUES),"
    " 'Thread pool queue', IFNULL(STATE, ''))",
    also=_WORKED_US,
)
"""With a state that MariaDB's list does not have: nobody has read the session's statement yet, so
that it seems to wait for its client. The queues are read after the list: a statement that it shows
at work may have ended, and the session's next one may wait there."""

_MYSQL = _list_of("performance_schema.threads", "PROCESSLIST_", "IFNULL(THREAD_OS_ID, 0)")
_WITHOUT_SCHEMA = _list_of("information_schema.PROCESSLIST", "", "0")
_SHOW = "SHOW PROCESSLIST"
_SHOWN_MOST = 64
"""Of more sessions, a list as one text costs less than rows."""

_LONG_LISTS = "SET SESSION group_concat_max_len = 16777216"
_OF_ROW_WAITERS = " FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
_WAIT_FOR_ROWS = "SELECT trx_mysql_thread_id" + _OF_ROW_WAITERS
_POOLED_WAIT_FOR_ROWS = "SELECT GROUP_CONCAT(trx_mysql_thread_id)" + _WORKED_US + _OF_ROW_WAITERS
_DELAYS = ("binlog_group_commit_sync_delay", "binlog_commit_wait_count")
"""Variables at 0 of which no commit waits on purpose: MySQL's, and MariaDB's."""

_VARIABLES = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'performance_schema',"
    f" 'thread_handling', 'log_bin_basename', {', '.join(repr(name) for name in _DELAYS)})"
)

_OF_THE_SERVER = (
    "Daemon",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Slave_IO",
    "Slave_SQL",
    "Slave_worker",
)
_SERVER_USERS = ("system user", "event_scheduler")

_COMMIT = re.compile(r"commit|prior transaction|binlog|group.commit")
_OF_COMMIT = ("starting", "query end", "end", "init")
"""States in which MySQL 5.7 shows a COMMIT."""

_AUTOCOMMIT = "query end"
"""The state in which it shows the commit of a statement that is a transaction of its own."""

_CHANGES = ("update", "insert", "delete", "replace", "load dat", "call")

_LOCK = re.compile(r"^(waiting for .*lock|waiting for table flush|user lock)")
_ADMISSION = re.compile(r"thread pool|innodb queue|resource group|concurrency")
_SENDS = ("sending to client", "writing to net")

_DELAY_KEPT_S = 5.0
"""How long it holds whether commits wait on purpose: somebody may set that in between."""

_ROWS_KEPT_S = 0.12
"""InnoDB keeps its list of transactions for 0.1 s after the last question."""

_FIELDS = 7

_LOG_FILE = re.compile(r"^(ib_logfile\d+|#ib_redo\d+(_tmp)?)$")

_MISSING = say("the user lacks the right (GRANT PROCESS, SELECT ON performance_schema.*)")


class _Refused(SourceError):
    """The server answers, but not this question of this account."""


@dataclass
class MysqlSessions:
    """Reads the process list; implements `observe.sessions.SessionList`."""

    endpoint: Endpoint
    of_the_load: Callable[[], Collection[int]] = tuple
    """The server's numbers of the load's connections; none, if others drive it."""
    thread: int | None = None
    why_no_threads: str | None = None
    sleeps: Sleeps = Sleeps()
    _delay: str | None = None
    """The variable at 0 of which no commit waits on purpose; `None`: the server has none."""
    _delay_s: float = 0.0
    """When it was read, on the monotonic clock."""
    _connection: Connection | None = None
    _statement: str = ""
    _binlog: str | None = None
    _sees_rows: bool = True
    _rows_s: float = -_ROWS_KEPT_S
    """When the waiting transactions were read, on the monotonic clock."""
    _waited_s: float = 0.0
    """For how long questions have waited for a thread of a pool since `round_trip_s`."""
    _user: str = ""
    _administration: Collection[int] = ()
    """Numbers of this process's own sessions."""
    _is_direct: bool = False
    """The server itself answers: the numbers in its greetings are those in its lists."""
    _threads: dict[str, str] = field(default_factory=dict)
    """The threads of the sessions of the latest list, both by their numbers."""
    _own: OwnTables = field(default_factory=OwnTables)

    def look(self) -> tuple[Session, ...]:
        """All sessions but the one that asks, as far as this account may see them.

        Raises:
            SourceError: the server does not answer.
        """
        before = self.of_the_load()
        rows = [row for row in self._shown() or self._listed() if len(row) == _FIELDS]
        self._threads = {row[0]: row[1] for row in rows}
        # Users may come and go while the server makes its list.
        ours = {*before, *self.of_the_load()} if self._is_direct else set()
        self._administration = own_numbers()
        self._look_at_delay()
        return tuple(found for row in rows if (found := self.session(row, ours)))

    def _look_at_delay(self) -> None:
        """Whether commits wait on purpose; else who sleeps in one has a sync that is slow.

        Without threads nobody is seen asleep.
        """
        now_s = time.monotonic()
        if self._delay is None or self.why_no_threads or now_s - self._delay_s < _DELAY_KEPT_S:
            return
        self._delay_s = now_s
        ((most,),) = self._rows(f"SELECT @@GLOBAL.{self._delay}")
        self.sleeps = Sleeps(in_commit="commit delay" if int(most) else "log sync")

    def _listed(self) -> list[list[str]]:
        """A row for each session, with its thread."""
        began_s = time.monotonic()
        try:
            found = self._rows(None)
        except _Refused as error:
            if self._statement == _WITHOUT_SCHEMA:
                raise
            self._statement, self.why_no_threads = _WITHOUT_SCHEMA, error.message
            found = self._rows(None)
        if self._statement == _POOLED:
            self._count_wait(began_s, found[0][1])
        return [row.split(_UNIT) for row in _text(found[0][0]).split(_RECORD) if row]

    def _count_wait(self, began_s: float, worked_us: int) -> None:
        """Count the wait of a question in the pool's queue.

        A server that does not know for how long it worked may have worked all the time.
        """
        if worked_us > 0:
            self._waited_s += time.monotonic() - began_s - worked_us / 1e6

    def _shown(self) -> list[list[str]]:
        """The same rows at a third of the cost, by SHOW; empty if it does not have their threads.

        Servers make a temporary table for each question to their information_schema. SHOW does not,
        but lacks the threads; where there are many sessions its rows cost us more than that.
        """
        has_threads = self._statement != _WITHOUT_SCHEMA
        if self._statement in (_MYSQL, _POOLED) or (
            has_threads and not 0 < len(self._threads) <= _SHOWN_MOST
        ):
            return []
        rows = []
        for number, user, _, schema, command, _, state, info, *_ in self._rows(_SHOW):
            if schema is None and str(info or "").endswith(_SHOW):
                continue  # it asks
            thread = self._threads.get(str(number)) if has_threads else "0"
            if thread is None:
                return []
            begins = str(info or "")[:8]
            own = [str(number), thread, user or "", schema or "", command, state or "", begins]
            rows.append(own)
        return rows

    def connections(self) -> Collection[int]:
        """Numbers of the load's connections now; none, if they are not known."""
        return self.of_the_load() if self._is_direct else ()

    def row_waiters(self) -> Collection[int] | None:
        """Numbers of the sessions that wait for a row's lock.

        `None`: this account may not know, or the server would repeat what it said a moment ago.

        Raises:
            SourceError: the server does not answer.
        """
        # InnoDB reads them again only if nobody has asked for a while (trx0i_s.cc,
        # CACHE_MIN_IDLE_TIME): more often they are those of long ago.
        now_s = time.monotonic()
        if not self._sees_rows or now_s - self._rows_s < _ROWS_KEPT_S:
            return None
        self._rows_s = now_s
        try:
            if self._statement != _POOLED:
                return {int(row[0]) for row in self._rows(_WAIT_FOR_ROWS)}
            ((numbers, worked_us),) = self._rows(_POOLED_WAIT_FOR_ROWS)
        except _Refused:
            self._sees_rows = False
            return None
        self._count_wait(now_s, worked_us)
        return {int(number) for number in _text(numbers).split(",") if number}

    @property
    def rows_kept_s(self) -> float:
        """How long after `row_waiters` it is `None`, because the server would repeat itself."""
        return _ROWS_KEPT_S

    @property
    def sees_others(self) -> bool:
        """Whether other accounts' sessions are in the list: it takes the same right."""
        return self._sees_rows

    @property
    def made(self) -> Mapping[str, float]:
        """Counters of the temporary tables that the questions so far made."""
        return self._own.made

    def workers(self, pid: int) -> Threads:
        """What looks at the threads of the server's process."""
        return Threads(pid)

    def round_trip_s(self) -> float:
        """How long an answer takes for which the server has nothing to do; raises as `look`.

        In a pool, where each answer waits in the queue, how long those since the last call did.
        """
        if self._statement == _POOLED:
            waited_s, self._waited_s = self._waited_s, 0.0
            return waited_s
        began_s = time.monotonic()
        self._rows("DO 0")
        return time.monotonic() - began_s

    def file_kind(self, name: str) -> Literal["log", "binlog", "data"]:
        """What the server keeps in a file with that name."""
        if _LOG_FILE.match(name):
            return "log"
        return "binlog" if self._binlog and name.startswith(f"{self._binlog}.") else "data"

    def queued_s(self) -> float | None:
        """`None`: none of its proxies is asked."""
        return None

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                connection.close()

    def _rows(self, statement: str | None) -> list[tuple[Any, ...]]:
        try:
            connection = self._connection or self._connect()
            return self._ask(connection, statement or self._statement)
        except pymysql.MySQLError as error:
            if error.args and error.args[0] in (*NO_RIGHT, *NOT_THERE):
                raise _Refused(_MISSING) from error
            self.close()
            raise SourceError(plain(reason(error))) from error
        except (TargetError, OSError) as error:
            self.close()
            raise SourceError(plain(reason(error))) from error
        except (TypeError, ValueError, IndexError) as error:
            self.close()
            raise SourceError(say("its answer is not that of a MySQL server")) from error

    def _ask(self, connection: Connection, statement: str) -> list[tuple[Any, ...]]:
        """Ask, and count what that makes."""
        return self._own.asking(connection, statement, lambda: _asked(connection, statement))

    def _connect(self) -> Connection:
        self._threads = {}
        self._connection = connection = connect(self.endpoint, _TIMEOUTS, database=None)
        known = {str(name).lower(): str(value) for name, value in self._ask(connection, _VARIABLES)}
        _asked(connection, _LONG_LISTS)
        ((user, number),) = _asked(connection, "SELECT USER(), CONNECTION_ID()")
        self._user = str(user).rpartition("@")[0]
        self._is_direct = number_of(connection) == int(number) & GREETED
        version = known.get("version", "")
        self._delay = next((name for name in _DELAYS if name in known), None)
        self._delay_s = -_DELAY_KEPT_S
        self._binlog = known.get("log_bin_basename", "").rpartition("/")[2] or None
        pooled = known.get("thread_handling", "") not in ("one-thread-per-connection", "")
        own: str | None = None
        if lists_pool_queues(known):
            self._statement = _POOLED
        elif "mariadb" in version.lower():
            self._statement = _MARIADB
            own = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        elif known.get("performance_schema") == "ON" and release(version) >= (5, 7):
            self._statement = _MYSQL
            own = (
                "SELECT THREAD_OS_ID FROM performance_schema.threads"
                " WHERE PROCESSLIST_ID = CONNECTION_ID()"
            )
        else:
            self._statement = _WITHOUT_SCHEMA
        self.why_no_threads = None
        if pooled:
            self.why_no_threads = say("its connections share the threads of a pool")
        elif own is None:
            self.why_no_threads = say("performance_schema is off, which names the threads")
        self.thread = int(self._ask(connection, own)[0][0]) if own and not pooled else None
        return connection

    def session(self, row: Sequence[str], ours: Collection[int]) -> Session | None:
        """The session of a row with `_FIELDS` texts; `None`: it is a thread of the server's own.

        `ours`: numbers of the load's sessions; empty where they are not known.
        """
        number, thread, user, schema, command, state, begins = row
        if command in _OF_THE_SERVER or user in _SERVER_USERS or not user:
            return None
        return Session(
            number=int(number),
            thread=int(thread) or None if not self.why_no_threads else None,
            whose=self._whose(int(number), ours, user, schema),
            says=said_by(command, state, begins),
        )

    def _whose(self, number: int, ours: Collection[int], user: str, schema: str) -> Whose:
        """Our users and our administration are known by their sessions' numbers.

        Else by their account and schema: our administration logs in without one.
        """
        if number & GREETED in ours:
            return "ours"
        if user != self._user:
            return "other"
        if ours:
            return "administration" if number & GREETED in self._administration else "other"
        if not schema:
            return "administration"
        wanted = self.endpoint.target.database
        # Names of schemas are in lower case where the file system does not tell them apart.
        return "ours" if not wanted or schema.lower() == wanted.lower() else "other"


def said_by(command: str, state: str, begins: str) -> Says:
    """What a row of the process list says of its session.

    Args:
        command: as `Sleep` or `Query`.
        state: as `Waiting for handler commit`; empty if there is none.
        begins: the start of its statement.
    """
    state = state.lower()
    if command in ("Sleep", "Connect") and not _ADMISSION.search(state):
        return "waits for the client"
    if "semi-sync" in state:
        return "replica"
    if _LOCK.match(state):
        return "table lock"
    if _COMMIT.search(state) or _commits_in_5_7(state, begins.lower()):
        return "commit"
    if state == "user sleep":
        return "paused"
    if state in _SENDS:
        return "sends"
    return "admission" if _ADMISSION.search(state) else "works"


def _commits_in_5_7(state: str, begins: str) -> bool:
    """Whether MySQL 5.7, which has no state for it, is at a commit."""
    if begins.startswith("commit"):
        return state in _OF_COMMIT
    return state == _AUTOCOMMIT and begins.startswith(_CHANGES)


def _text(concatenated: str | bytes | None) -> str:
    """The text of a GROUP_CONCAT, which is NULL of no rows."""
    text = concatenated or ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _asked(connection: Connection, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
