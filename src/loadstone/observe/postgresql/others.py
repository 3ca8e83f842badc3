"""Asks a server about other clients' work; `observe.others` defines whose connections are whose."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from loadstone.model.message import say
from loadstone.model.observed import Reading
from loadstone.observe.loads import Loads
from loadstone.observe.others import CONNECTED, RUNNING, Others, OthersAsked
from loadstone.observe.postgresql.activity import LOCKS, SESSIONS, activity, locks
from loadstone.observe.postgresql.asking import Asking
from loadstone.observe.postgresql.opened import database_of
from loadstone.observe.postgresql.questions import Questions, rows_of
from loadstone.observe.postgresql.server import statistics_of
from loadstone.observe.postgresql.statistics import Question
from loadstone.observe.source import SourceError
from loadstone.postgresql.activity import AT_WORK, OF_CLIENTS
from loadstone.postgresql.variables import literal_of
from loadstone.servers.connection import Connection

_OURSELVES = (
    "SELECT current_user, coalesce(host(inet_client_addr()), ''),"
    " pg_has_role('pg_read_all_stats', 'USAGE')"
)
_ACCOUNTS = (
    "SELECT coalesce(usename, ''), coalesce(host(client_addr), ''),"
    f" count(*) FILTER (WHERE state IN {AT_WORK}), count(*)"
    f" FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND {OF_CLIENTS} GROUP BY 1, 2"
)


def look_at_others(connection: Connection) -> Others:
    """What this connection may see of other clients.

    Raises:
        pg8000.Error: the server does not answer.
    """
    ((user, host, sees_all),) = rows_of(connection, _OURSELVES)
    return Others(
        sees_all=bool(sees_all),
        has_statements=False,
        account=(str(user), str(host)),
        shows_work=bool(sees_all),
    )


def status_rows(connection: Connection) -> dict[str, float]:
    """All figures of this moment by name, in lower case.

    Raises:
        pg8000.Error: the server does not answer.
    """
    here = "current_database()"
    asked, _ = statistics_of(connection, here)
    return _figures(Questions(connection), asked, here)


def _figures(questions: Questions, asked: Question, database: str) -> dict[str, float]:
    """Without the states of sessions, which come and go.

    `database`: an SQL expression, the name of the load's.
    """
    (row,) = questions.rows(asked.sql)
    sessions, locked = (text.format(database=database) for text in (SESSIONS, LOCKS))
    found = asked.counters(row) | asked.gauges(row)
    found |= activity(questions.rows(sessions)) | locks(questions.rows(locked))
    return {name.lower(): value for name, value in found.items() if not name.startswith("state.")}


@dataclass
class OthersSource:
    """Reads the other clients' figures of one server, and the wanted ones of its own."""

    asked: OthersAsked
    _loads: Loads = field(init=False)
    _asking: Asking = field(init=False)
    _statistics: Question | None = None
    _database: str = ""
    """The name of the load's, as an SQL literal."""

    def __post_init__(self) -> None:
        self.name = self.asked.name
        self._loads = Loads(self.asked)
        self._asking = Asking(self.asked.endpoint, self._begin)

    def read(self) -> Reading:
        """Read all of it.

        Raises:
            SourceError: the server cannot be reached, has closed the connection, or is none.
        """
        try:
            with self._asking.questions() as questions:
                rows = self._wanted(questions)
                accounts = self._loads.accounts(
                    (str(user), str(host), float(running), float(connected))
                    for user, host, running, connected in questions.rows(_ACCOUNTS)
                )
                found = rows | self._loads.look(questions.connection) | accounts
        except SourceError as error:
            said = say("{source}: {why}", source=str(self.name), why=error.message)
            raise SourceError(said) from error
        # The caller that computes growth knows which rows are counters.
        return Reading(at_s=time.monotonic(), counters=rows, gauges=found)

    def close(self) -> None:
        """Say goodbye."""
        self._asking.close()

    def _begin(self, questions: Questions) -> None:
        connection = questions.connection
        own = database_of(self.asked.endpoint, is_direct=questions.is_direct)
        self._database = literal_of(connection, own)
        self._statistics, _ = statistics_of(connection, self._database)
        self._loads.forget()

    def _wanted(self, questions: Questions) -> dict[str, float]:
        """The rows that conditions are about; most have none that need the server's statistics."""
        sessions = activity(questions.rows(SESSIONS.format(database=self._database)))
        running, connected = (
            sessions.get(f"pg_stat_activity.{name}") for name in ("active", "clients")
        )
        found = {RUNNING: running, CONNECTED: connected}
        if self.asked.rows and self._statistics:
            figures = _figures(questions, self._statistics, self._database)
            found |= {f"status.{name}": figures.get(name) for name in self.asked.rows}
        return {name: value for name, value in found.items() if value is not None}
