"""A server's own counters, read over one connection.

Each question costs the server work, so there are few: the rows of SHOW GLOBAL STATUS that
`counters` uses and, where available, InnoDB's metrics, performance_schema's sums of file
operations, the states of the connections and the oldest transaction.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pymysql

from loadstone.families import connect
from loadstone.model.message import plain, say
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.mysql.counters import METRIC_NAMES, STATUS_NAMES
from loadstone.observe.mysql.own_tables import OwnTables
from loadstone.observe.source import VERSION, SourceError
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_TIMEOUTS = Timeouts(connect_s=3, statement_s=5)
_STATES_KEPT = 16
_AT_LENGTH = ("Query", "Execute", "Connect")
"""Commands of clients and of the server's own events that execute statements."""

_RESTS = ("wait", "user sleep", "user lock")
"""Substrings of the states of idle statements: waiting for a lock or an event, or in SLEEP."""

_ON_OFF = {"ON": 1.0, "OFF": 0.0, "YES": 1.0, "NO": 0.0}
NO_RIGHT = (1044, 1142, 1143, 1227, 1290)
"""Error numbers of a question that this account may not ask."""

NOT_THERE = (1054, 1109, 1146, 1049, 1193)
"""Error numbers of a table, column or variable that this server does not have."""

_FILES = {
    "redo": "innodb/innodb_log_file",
    "binlog": "sql/binlog",
    "data": "innodb/innodb_data_file",
}
_PICOSECONDS = 1e12

Raw = dict[str, float]


@dataclass
class Part:
    """One query of a reading; if it cannot be asked it is left out, and the reason is reported."""

    name: str
    ask: Callable[[Connection], Raw]
    every: int = 1
    """Asked in one of so many readings: only values of the moment may be asked less often."""
    refused: str | None = None
    last: Raw = field(default_factory=dict)
    """The last answer, which holds until the next one."""
    with_part: str | None = None
    """The part that is refused if the same privilege is missing; this one would just show less."""
    extra: bool = False
    """Few servers have it, so its absence is not reported."""


@dataclass
class ServerSource:
    """Reads one target's server; returns raw names, which `counters` translates."""

    name: SourceName
    endpoint: Endpoint
    _connection: Connection | None = None
    _parts: list[Part] = field(default_factory=list)
    _synced_at: Collection[float] = ()
    _version: str = ""
    _readings: int = 0
    _own: OwnTables = field(default_factory=OwnTables)

    def read(self) -> Reading:
        """Read all parts that are available.

        Raises:
            SourceError: the server cannot be reached, or has closed the connection.
        """
        try:
            connection = self._connection or self._connect()
            return self._ask(connection)
        except (TargetError, pymysql.MySQLError, OSError) as error:
            self.close()
            raise SourceError(plain(reason(error))) from error

    def close(self) -> None:
        """Say goodbye."""
        connection, self._connection = self._connection, None
        if connection:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                connection.close()

    def _connect(self) -> Connection:
        self._connection = connect(self.endpoint, _TIMEOUTS, database=None)
        known = _variables(self._connection)
        self._parts = parts_for(known)
        self._synced_at = log_writes_are_synced(known)
        self._version = known.get("version", "")
        return self._connection

    def _ask(self, connection: Connection) -> Reading:
        # Of the moment of the status: what comes after it is in the next one.
        own = {f"own.{name}": number for name, number in self._own.made.items()}
        begun = time.monotonic()
        found = _status(connection)
        self._own.asked_status()
        at_s = (begun + time.monotonic()) / 2
        for part in self._parts:
            part.refused = part.refused or self._refused(part.with_part)
            if part.refused is None and self._readings % part.every == 0:
                part.last = _part(part, connection, self._own)
            found |= part.last
        self._readings += 1
        found |= own
        found |= derived(found, synced_at=self._synced_at)
        refused = {
            f"not_evaluated.{part.name}": part.refused for part in self._parts if not part.extra
        }
        return Reading(
            at_s=at_s,
            # The table of names knows which of them only grow.
            gauges=found,
            facts={VERSION: self._version} | {name: why for name, why in refused.items() if why},
        )

    def _refused(self, name: str | None) -> str | None:
        """Why the part with that name was refused; `None` if it was not."""
        return next((part.refused for part in self._parts if part.name == name), None)


def _variables(connection: Connection) -> dict[str, str]:
    rows = _rows(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_ASKED})")
    return {str(name).lower(): str(value) for name, value in rows}


_ASKED = "'version', 'performance_schema', 'thread_handling', 'innodb_flush_method'"


def log_writes_are_synced(known: Mapping[str, str]) -> frozenset[float]:
    """At which innodb_flush_log_at_trx_commit each write of the redo log is a sync not counted.

    Of MariaDB from 10.8 on: strace saw 976 syncs of the log and 972 writes in five seconds of
    oltp_read_write on 10.11. With O_DSYNC a write is over when it is on the disk.
    """
    if known.get("innodb_flush_method", "").upper() == "O_DSYNC":
        return frozenset({1.0, 2.0})
    version = known.get("version", "")
    syncs = "mariadb" in version.lower() and release(version) >= (10, 8)
    return frozenset({1.0, 3.0}) if syncs else frozenset()


def derived(found: Mapping[str, float], *, synced_at: Collection[float]) -> Raw:
    """Syncs derived from other counters, for settings under which they follow from these.

    `synced_at`: as `log_writes_are_synced` says.
    """
    made: Raw = {}
    is_synced = found.get("setting.innodb_flush_log_at_trx_commit") in synced_at
    if is_synced and "status.innodb_log_writes" in found:
        made["derived.log_syncs"] = found["status.innodb_log_writes"]
    synced = found.get("setting.sync_binlog") == 1
    if synced and "status.binlog_group_commits" in found:
        made["derived.binlog_syncs"] = found["status.binlog_group_commits"]
    return made


def parts_for(known: Mapping[str, str]) -> list[Part]:
    """The queries that this kind of server can answer, in addition to the status."""
    mariadb = "mariadb" in known.get("version", "").lower()
    with_schema = known.get("performance_schema", "OFF").upper() in ("ON", "1")
    off = (
        None if with_schema else say("performance_schema is off: it is set when the server starts")
    )
    modern = not mariadb and with_schema and release(known.get("version", "")) >= (8, 0, 22)
    processes = "performance_schema" if modern else "information_schema"
    return [
        Part("settings", _settings),
        Part("innodb_metrics", _metrics(mariadb=mariadb)),
        Part("file_summary", _files, refused=off),
        Part("transactions", _transactions, every=5),
        Part("connection_states", _states(processes), every=2, with_part="transactions"),
        Part("compression", _compression, extra=True),
        *([] if mariadb else [Part("thread_pool", _pool, every=2, refused=off, extra=True)]),
        *([Part("thread_pool", _groups, every=2)] if lists_pool_queues(known) else []),
    ]


def lists_pool_queues(known: Mapping[str, str]) -> bool:
    """Whether a server has a pool whose queues any account may read: MariaDB's, since 10.5."""
    version = known.get("version", "")
    has_tables = "mariadb" in version.lower() and release(version) >= (10, 5)
    return has_tables and known.get("thread_handling") == "pool-of-threads"


def _part(part: Part, connection: Connection, own: OwnTables) -> Raw:
    try:
        return own.asking(connection, part.name, lambda: part.ask(connection))
    except (TypeError, ValueError, IndexError):
        # It speaks the protocol, but its tables are not those of a server.
        part.refused = say("its answer is not that of a MySQL server")
        return {}
    except pymysql.MySQLError as error:
        number = error.args[0] if error.args else 0
        if number not in NO_RIGHT and number not in NOT_THERE:
            raise
        right = say("the user lacks the right (GRANT PROCESS, SELECT ON performance_schema.*)")
        part.refused = right if number in NO_RIGHT else say("this server has no such table")
        return {}


_STATUS_ROWS = ", ".join(f"'{name}'" for name in sorted(STATUS_NAMES))
_STATUS = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({_STATUS_ROWS})"


def _status(connection: Connection) -> Raw:
    return _numbers("status", _rows(connection, _STATUS))


def _metrics(*, mariadb: bool) -> Callable[[Connection], Raw]:
    names = ", ".join(f"'{name}'" for name in sorted(METRIC_NAMES))
    on = "ENABLED = 1" if mariadb else "STATUS = 'enabled'"
    table = "information_schema.INNODB_METRICS"
    statement = f"SELECT NAME, COUNT FROM {table} WHERE NAME IN ({names}) AND {on}"
    return lambda connection: _numbers("metric", _rows(connection, statement))


_SETTINGS = ("log_bin", "sync_binlog", "innodb_flush_log_at_trx_commit")


def _settings(connection: Connection) -> Raw:
    """The settings that determine the cost of a commit; they may change during the run."""
    row = _rows(connection, f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in _SETTINGS)}")[0]
    return {f"setting.{name}": _number(value) for name, value in zip(_SETTINGS, row, strict=True)}


def _files(connection: Connection) -> Raw:
    """Operations on redo log, binary log and data files; `misc` is syncs, opening and closing."""
    events = ", ".join(f"'wait/io/file/{event}'" for event in _FILES.values())
    rows = _rows(
        connection,
        "SELECT EVENT_NAME, COUNT_READ, COUNT_WRITE, COUNT_MISC, SUM_NUMBER_OF_BYTES_WRITE,"
        " SUM_TIMER_WAIT FROM performance_schema.file_summary_by_event_name"
        f" WHERE EVENT_NAME IN ({events})",
    )
    named = {f"wait/io/file/{event}": name for name, event in _FILES.items()}
    found: Raw = {}
    for event, reads, writes, misc, written, waited in rows:
        name = f"file.{named[str(event)]}"
        # A disabled instrument has counted nothing at all.
        if not any((reads, writes, misc)):
            continue
        found |= {
            f"{name}.reads": _number(reads),
            f"{name}.writes": _number(writes),
            f"{name}.syncs": _number(misc),
            f"{name}.written_bytes": _number(written),
            f"{name}.wait_s": _number(waited) / _PICOSECONDS,
        }
    return found


def _states(schema: str) -> Callable[[Connection], Raw]:
    statement = (
        "SELECT COMMAND, STATE, COUNT(*), MAX(TIME)"
        f" FROM {schema}.processlist WHERE COMMAND <> 'Sleep'"
        " AND COMMAND <> 'Daemon' AND ID <> CONNECTION_ID() GROUP BY COMMAND, STATE"
        f" ORDER BY 3 DESC LIMIT {_STATES_KEPT}"
    )

    def ask(connection: Connection) -> Raw:
        found: Raw = {"longest_statement_s": 0.0}
        for command, state, count, longest in _rows(connection, statement):
            what = str(state or command or "unknown").strip().lower() or "unknown"
            name = f"state.{what[:60]}"
            found[name] = found.get(name, 0.0) + _number(count)
            if command in _AT_LENGTH and not any(word in what for word in _RESTS):
                at_work = max(found["longest_statement_s"], _number(longest))
                found["longest_statement_s"] = at_work
        return found

    return ask


def _transactions(connection: Connection) -> Raw:
    rows = _rows(
        connection,
        "SELECT COUNT(*), COALESCE(SUM(trx_state = 'LOCK WAIT'), 0),"
        f" {_age_of('TRUE')}, {_age_of(_WAITS)}, {_age_of(_KEEPS_OTHERS)}, {_age_of(_PREPARED)}"
        " FROM information_schema.INNODB_TRX",
    )
    count, waiting, oldest, oldest_waiting, holding, prepared = rows[0]
    return {
        "transactions_open": _number(count),
        "transactions_waiting": _number(waiting),
        "oldest_transaction_s": _number(oldest),
        "oldest_waiting_transaction_s": _number(oldest_waiting),
        "oldest_holding_transaction_s": _number(holding),
        "oldest_prepared_transaction_s": _number(prepared),
    }


_WAITS = "trx_state = 'LOCK WAIT'"
_KEEPS_OTHERS = "trx_state <> 'LOCK WAIT' AND trx_rows_locked > 0"
"""A transaction that has rows and does not itself wait for one."""

_PREPARED = "trx_mysql_thread_id = 0 AND trx_state NOT IN ('ROLLING BACK', 'COMMITTING')"
"""No session has it, nor does the server itself end it, as after a crash."""


def _age_of(those: str) -> str:
    """Seconds since the oldest of these transactions began; 0 if there is none."""
    oldest = f"MIN(CASE WHEN {those} THEN trx_started END)"
    return f"COALESCE(TIMESTAMPDIFF(SECOND, {oldest}, NOW()), 0)"


def _compression(connection: Connection) -> Raw:
    """Pages of compressed tables that were compressed and uncompressed."""
    ((compressed, uncompressed),) = _rows(
        connection,
        "SELECT SUM(compress_ops), SUM(uncompress_ops) FROM information_schema.INNODB_CMP",
    )
    return {
        "cmp.compress_ops": _number(compressed),
        "cmp.uncompress_ops": _number(uncompressed),
    }


def _pool(connection: Connection) -> Raw:
    """MySQL's thread pool plugin."""
    rows = _rows(
        connection,
        "SELECT COUNT(*), SUM(THREAD_COUNT), SUM(ACTIVE_THREAD_COUNT), SUM(QUEUED_QUERIES)"
        " + SUM(QUEUED_TRANSACTIONS) FROM performance_schema.tp_thread_group_state",
    )
    groups, threads, active, queued = rows[0]
    if not groups:
        return {}
    return {
        "pool_groups": _number(groups),
        "pool_threads": _number(threads),
        "pool_active_threads": _number(active),
        "pool_queued": _number(queued),
    }


def _groups(connection: Connection) -> Raw:
    """MariaDB's thread pool, whose number of threads is in the status."""
    rows = _rows(
        connection,
        "SELECT COUNT(*), SUM(ACTIVE_THREADS), SUM(QUEUE_LENGTH)"
        " FROM information_schema.THREAD_POOL_GROUPS",
    )
    names = ("pool_groups", "pool_active_threads", "pool_queued")
    return dict(zip(names, map(_number, rows[0]), strict=True))


def _rows(connection: Connection, statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _number(value: object) -> float:
    """Convert a whole number, a decimal or SQL's NULL, which is the sum of no rows."""
    number = float(str(value)) if value is not None else 0.0
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no figure")
    return number


def _numbers(prefix: str, rows: Iterable[tuple[object, ...]]) -> Raw:
    found: Raw = {}
    for name, value in rows:
        text = str(value)
        with contextlib.suppress(ValueError):
            number = _ON_OFF.get(text.upper())
            found[f"{prefix}.{str(name).lower()}"] = _number(text) if number is None else number
    return found


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare."""
    parts = version.split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit())


def reason(error: Exception) -> str:
    """Why a server did not answer, for a person."""
    if isinstance(error, TargetError):
        return error.message
    if isinstance(error, pymysql.MySQLError) and len(error.args) > 1:
        return f"{error.args[1]} ({error.args[0]})"
    return str(error)
