"""`prepare`, `cleanup` and `prewarm`: the tables of the OLTP tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from loadstone import engine
from loadstone.dropin import company
from loadstone.dropin.aside import aside
from loadstone.families import connect, family_of
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.engine_plan import LoadPlan, load_document
from loadstone.model.error_codes import MYSQL
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.model.records import AnyLoadRecord, LoadEnd, LoadProgress, LoadStalled
from loadstone.report.stalls import stalled_line
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import GuardError, TargetError
from loadstone.sysbench import messages, planning, running
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.log import Log
from loadstone.sysbench.oltp.tests import Bundled
from loadstone.sysbench.settings import Settings
from loadstone.sysbench.targets import (
    NotPlaced,
    Place,
    check_driver,
    family_of_driver,
    places_of,
)
from loadstone.workloads.scripts.given import Values

# Large tables may take this long to read or drop.
_PATIENT = Timeouts(connect_s=10, statement_s=86_400)
_PARALLEL_COMMAND = "sysbench.cmdline.call_command"


@dataclass(frozen=True)
class _Tables:
    """The tables of a test, and their server."""

    test: Bundled
    settings: Settings
    given: Values
    log: Log

    @cached_property
    def load(self) -> LoadPlan:
        return planning.load_of(self.test, self.settings, self.given)

    @cached_property
    def place(self) -> Place:
        return places_of(self.given, self.settings.compat)[0]

    @property
    def names(self) -> list[str]:
        count = planning.tables_of(self.test, self.settings, self.given)
        return [f"sbtest{number}" for number in range(1, count + 1)]

    @property
    def rows(self) -> int:
        """The number of rows of each table."""
        return max(self.given.integer("table_size"), 0) if self.test.layout == "sbtest" else 0

    @property
    def is_dry(self) -> bool:
        return self.given.switch("mysql_dry_run")


def prepare(test: Bundled, settings: Settings, given: Values, log: Log) -> int:
    """Make and fill the tables; an existing one is an error, as in sysbench.

    Raises:
        Fatal: the server refused.
    """
    tables = _Tables(test, settings, given, log)
    command = _PARALLEL_COMMAND if test.layout == "sbtest" else "prepare"
    if settings.threads > 1 and test.layout == "sbtest":
        running.announce_threads(log)
    check_driver(given, command)
    if tables.is_dry:
        _Lines(tables).up_to(len(tables.names))
        return ExitCode.OK
    with _connected(tables, command) as connection:
        if not tables.names:
            return ExitCode.OK
        _refuse_tables_that_exist(tables, connection, command)
        if test.layout == "sbtest" and tables.given.switch("secondary"):
            _make_tables_without_primary_key(tables, connection, command)
    code = _load(tables, command)
    if code == ExitCode.OK and not tables.rows and test.layout == "sbtest":
        # The loader makes no empty tables, but sysbench does.
        with _connected(tables, command) as connection:
            for name in tables.names:
                _execute(tables, connection, f"TRUNCATE TABLE {name}", command)
    return code


def _say(line: str) -> None:
    """Print a line that sysbench's scripts print themselves, whatever the verbosity."""
    print(line, flush=True)


class _Lines:
    """The lines of `prepare` about each table, in the order of the tables."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables
        self._rows = tables.rows
        self._said = 0

    def creating(self, name: str) -> None:
        """Print the line before a table is made."""
        _say(f"Creating table '{name}'...")

    def up_to(self, number: int) -> None:
        """Print all lines about the tables up to this one that were not printed yet."""
        for name in self._tables.names[self._said : number]:
            self.creating(name)
            if self._rows:
                _say(f"Inserting {self._rows} records into '{name}'")
            if self._tables.load.layout.secondary_index:
                _say(f"Creating a secondary index on '{name}'...")
        self._said = max(self._said, number)

    def on_progress(self, progress: LoadProgress) -> None:
        """Print the lines of tables that may be full by now: they are loaded in parallel."""
        if progress.rows_total:
            share = progress.rows / progress.rows_total
            self.up_to(int(share * len(self._tables.names)) + 1)


def _refuse_tables_that_exist(tables: _Tables, connection: Connection, command: str) -> None:
    target = tables.place.endpoint.target
    state = family_of(target).read_schema(connection, target, target.database or "")
    there = {table.name for table in state.tables}
    lines = _Lines(tables)
    for name in tables.names:
        if name in there:
            lines.creating(name)
            raise messages.of_existing_table(tables.place, name, command)


def _make_tables_without_primary_key(tables: _Tables, connection: Connection, command: str) -> None:
    """Make tables for `--secondary`: a non-unique index instead of the primary key."""
    layout = tables.load.layout
    numbering = " AUTO_INCREMENT" if layout.auto_increment else ""
    for name in tables.names:
        _execute(
            tables,
            connection,
            f"CREATE TABLE {name} (id INTEGER NOT NULL{numbering}, k INTEGER DEFAULT '0' NOT NULL,"
            " c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL,"
            f" KEY xid (id)) ENGINE = {layout.storage_engine}",
            command,
        )


def _load(tables: _Tables, command: str) -> int:
    ends: list[LoadEnd] = []
    lines = _Lines(tables)

    def take(record: AnyLoadRecord) -> bool:
        if isinstance(record, LoadEnd):
            ends.append(record)
            return True
        if isinstance(record, LoadStalled):
            aside(stalled_line(record))
            return False
        lines.on_progress(record)
        return False

    lines.up_to(1)
    with Interrupts() as interrupts:
        follow(engine.load(load_document(tables.load, tables.place.endpoint)), take, interrupts)
    if not ends or ends[0].reason == "stopped":
        aside(say("interrupted"))
        return ExitCode.INTERRUPTED
    if ends[0].error:
        raise messages.of_load(ends[0].error, command, tables.place)
    lines.up_to(len(tables.names))
    return ExitCode.OK


def cleanup(test: Bundled, settings: Settings, given: Values, log: Log) -> int:
    """Drop the tables by name, even if something else made them, as sysbench does.

    Raises:
        Fatal: the server refused.
    """
    tables = _Tables(test, settings, given, log)
    check_driver(given, "cleanup")
    with contextlib.ExitStack() as stack:
        connection = None
        if not tables.is_dry:
            connection = stack.enter_context(_connected(tables, "cleanup"))
        for name in tables.names:
            _say(f"Dropping table '{name}'...")
            if connection:
                _execute(tables, connection, f"DROP TABLE IF EXISTS {name}", "cleanup")
    return ExitCode.OK


def prewarm(test: Bundled, settings: Settings, given: Values, log: Log) -> int:
    """Read the tables and their indexes once, so that they are in the server's memory.

    Raises:
        Fatal: the server refused.
    """
    tables = _Tables(test, settings, given, log)
    check_driver(given, _PARALLEL_COMMAND)
    if family_of_driver(given) != MYSQL:
        why = f"`{_PARALLEL_COMMAND}' function failed: prewarm is currently MySQL only"
        raise Fatal(why)
    if settings.threads > 1:
        running.announce_threads(log)
    with contextlib.ExitStack() as stack:
        connection = None
        if not tables.is_dry:
            connection = stack.enter_context(_connected(tables, _PARALLEL_COMMAND))
        for number, name in enumerate(tables.names, start=1):
            _say(f"Prewarming table {name}")
            if connection:
                _read(tables, connection, name, number)
    return ExitCode.OK


def _read(tables: _Tables, connection: Connection, name: str, number: int) -> None:
    """Read the rows with their texts, then the index on `k` if there is one."""
    _execute(tables, connection, f"SELECT COUNT(pad) FROM {name}", _PARALLEL_COMMAND)
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW INDEX FROM {name} WHERE Key_name = 'k_{number}'")
        has_index = cursor.fetchone() is not None
    if has_index:
        sql = f"SELECT SUM(k) FROM {name} FORCE INDEX (k_{number})"
        _execute(tables, connection, sql, _PARALLEL_COMMAND)


@contextlib.contextmanager
def _connected(tables: _Tables, command: str) -> Iterator[Connection]:
    try:
        endpoint = tables.place.endpoint
    except NotPlaced as error:
        raise messages.of_unplaced(error, command) from error
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(connect(endpoint, _PATIENT))
            family_of(endpoint.target).locks.refuse_shared(connection, endpoint.target)
        except GuardError as error:
            raise Fatal(error.message, *([error.hint] if error.hint else [])) from error
        except TargetError as error:
            raise messages.of_command(error, command, tables.place) from error
        company.warn_of_others(connection, endpoint)
        yield connection


def _execute(tables: _Tables, connection: Connection, sql: str, command: str) -> None:
    target = tables.place.endpoint.target
    try:
        with family_of(target).statement_errors(target), connection.cursor() as cursor:
            cursor.execute(sql)
    except TargetError as error:
        raise messages.of_refusal(error, tables.place, command, sql) from error
