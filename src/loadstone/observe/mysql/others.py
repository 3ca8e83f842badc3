"""Asks a server about other clients' work; `observe.others` defines whose connections are whose."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import pymysql

from loadstone.families import connect
from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.loads import Loads
from loadstone.observe.others import (
    LATENCY,
    SLOWDOWN,
    STATEMENTS_EVERY_S,
    Others,
    OthersAsked,
)
from loadstone.observe.slowdown import Statements, Sums, add, mean_s, slowdown
from loadstone.observe.source import SourceError
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_TIMEOUTS = Timeouts(connect_s=3, statement_s=5)

_NOT_REFUSED = 0
_NO_RIGHT = (1044, 1142, 1143, 1227)
_NO_TABLE = (1049, 1109, 1146)


_HOST = "LEFT(HOST, CHAR_LENGTH(HOST) - LOCATE(':', REVERSE(HOST)))"
"""The host without the port, if there is one; addresses contain colons, too."""

_AT_WORK = (
    "COMMAND NOT IN ('Sleep', 'Daemon', 'Connect', 'Slave_IO', 'Slave_SQL', 'Slave_worker')"
    " AND COMMAND NOT LIKE 'Binlog Dump%'"
)
_OF_CLIENTS = "USER NOT IN ('system user', 'event_scheduler', 'unauthenticated user')"
_PROCESSES = (
    f"SELECT USER, {_HOST}, SUM({_AT_WORK}), COUNT(*) FROM information_schema.PROCESSLIST"
    f" WHERE ID <> CONNECTION_ID() AND {_OF_CLIENTS} AND COMMAND NOT LIKE 'Binlog Dump%'"
    " GROUP BY 1, 2"
)
_MODERN_PROCESSES = _PROCESSES.replace(
    "information_schema.PROCESSLIST", "performance_schema.processlist"
)
"""For MySQL 8.0.22 and later: avoids the lock that stops all other connections.
"""

_SUMS = (
    "SELECT USER, HOST, EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT"
    " FROM performance_schema.events_statements_summary_by_account_by_event_name"
    " WHERE COUNT_STAR > 0 AND USER IS NOT NULL AND HOST IS NOT NULL"
    " AND (EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME = 'statement/com/Execute')"
)
_PICOSECONDS = 1e12


def look_at_others(connection: Connection) -> Others:
    """What this connection may see of other clients.

    Raises:
        pymysql.MySQLError: the server does not answer.
    """
    one = rows_of(
        connection,
        f"SELECT USER, {_HOST} FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    )
    with_schema = rows_of(connection, "SELECT @@GLOBAL.performance_schema")[0][0]
    return Others(
        # Both need the same privilege, and only this one is refused without it; the other shows
        # less.
        sees_all=_may(connection, "SELECT 1 FROM information_schema.INNODB_TRX LIMIT 1"),
        has_statements=str(with_schema) in ("1", "ON") and _may(connection, f"{_SUMS} LIMIT 1"),
        account=(str(one[0][0]), str(one[0][1])) if one else ("", ""),
    )


def _may(connection: Connection, statement: str) -> bool:
    try:
        rows_of(connection, statement)
    except pymysql.MySQLError as error:
        number = error.args[0] if error.args else _NOT_REFUSED
        if number in (*_NO_RIGHT, *_NO_TABLE):
            return False
        raise
    return True


def status_rows(connection: Connection) -> dict[str, float]:
    """The numeric rows of SHOW GLOBAL STATUS, by name in lower case."""
    found = {}
    for name, value in rows_of(connection, "SHOW GLOBAL STATUS"):
        with contextlib.suppress(ValueError):
            found[str(name).lower()] = float(str(value))
    return found


@dataclass
class OthersSource:
    """Reads the other clients' figures of one server, and the wanted rows of its status."""

    asked: OthersAsked
    name: SourceName = field(init=False)
    _loads: Loads = field(init=False)
    _connection: Connection | None = None
    _processes: str = _PROCESSES
    _statements: Mapping[tuple[str, str, str], tuple[float, float]] | None = None
    _asked_s: float = 0.0

    def __post_init__(self) -> None:
        self.name = self.asked.name
        self._loads = Loads(self.asked)

    def read(self) -> Reading:
        """Read all of it.

        Raises:
            SourceError: the server cannot be reached, or has closed the connection.
        """
        try:
            connection = self._connection or self._connect()
            begun = time.monotonic()
            rows = self._status(connection)
            found = rows | self._loads.look(connection) | self._accounts(connection)
            if self.asked.wants_statements:
                found |= self._fare(connection, begun)
        except (TargetError, pymysql.MySQLError, OSError) as error:
            self.close()
            said = error.message if isinstance(error, TargetError) else str(error)
            raise SourceError(say("{source}: {why}", source=str(self.name), why=said)) from error
        # The caller that computes growth knows which rows are counters.
        return Reading(at_s=time.monotonic(), counters=rows, gauges=found)

    def close(self) -> None:
        """Say goodbye."""
        connection, self._connection = self._connection, None
        if connection:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                connection.close()

    def _connect(self) -> Connection:
        self._connection = connection = connect(self.asked.endpoint, _TIMEOUTS, database=None)
        # The earlier sums may belong to the server before a restart.
        self._statements = None
        self._loads.forget()
        if _may_be_asked(connection):
            self._processes = _MODERN_PROCESSES
        return connection

    def _status(self, connection: Connection) -> dict[str, float]:
        wanted = sorted({"threads_running", "threads_connected"} | self.asked.rows)
        names = ", ".join(f"'{name}'" for name in wanted)
        rows = rows_of(connection, f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
        found = {}
        for name, value in rows:
            with contextlib.suppress(ValueError):
                found[f"status.{str(name).lower()}"] = float(str(value))
        return found

    def _accounts(self, connection: Connection) -> dict[str, float]:
        """Connections of ours and of others; nothing about others if only our own are shown."""
        return self._loads.accounts(
            (str(user), str(host), float(str(running or 0)), float(str(connected)))
            for user, host, running, connected in rows_of(connection, self._processes)
        )

    def _fare(self, connection: Connection, now_s: float) -> dict[str, float]:
        """How long others' statements took that ended since the last call."""
        if self._statements is not None and now_s < self._asked_s + STATEMENTS_EVERY_S:
            return {}
        self._asked_s = now_s
        before, sums = self._statements, {}
        for user, host, kind, count, wait in rows_of(connection, _SUMS):
            if self._loads.is_other_client(str(user), str(host)):
                key = (str(user), str(host), str(kind))
                sums[key] = (float(str(count)), float(str(wait)) / _PICOSECONDS)
        self._statements = sums
        if before is None:
            return {}
        grown = _grown(before, sums)
        if not self.asked.before.is_known:
            add(self.asked.before.statements, grown)
            return {LATENCY: mean} if (mean := mean_s(grown)) is not None else {}
        told = {LATENCY: mean_s(grown), SLOWDOWN: slowdown(self.asked.before.statements, grown)}
        return {name: value for name, value in told.items() if value is not None}


def _may_be_asked(connection: Connection) -> bool:
    """Whether the statement is known to work: the server counts errors, and may log them."""
    known = rows_of(connection, "SHOW GLOBAL VARIABLES LIKE 'performance_schema_show_processlist'")
    return bool(known) and _may(connection, "SELECT 1 FROM performance_schema.processlist LIMIT 1")


def _grown(
    before: Mapping[tuple[str, str, str], tuple[float, float]],
    now: Mapping[tuple[str, str, str], tuple[float, float]],
) -> Statements:
    """The statements that ended since; sums that went back were reset, and are left out."""
    found: Statements = {}
    for key, (count, seconds) in now.items():
        count_before, seconds_before = before.get(key, (0.0, 0.0))
        if count > count_before and seconds >= seconds_before:
            name = "\x1f".join(key)
            found[name] = Sums(count - count_before, seconds - seconds_before)
    return found


def rows_of(connection: Connection, statement: str) -> list[tuple[object, ...]]:
    """All rows that a statement returns.

    Raises:
        pymysql.MySQLError: the server refuses it, or does not answer.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
