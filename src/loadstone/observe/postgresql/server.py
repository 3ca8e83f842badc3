"""A server's statistics, read over one connection.

Two questions a second (its counters, its sessions), every other second one about the columns that
updates set, and every fifth second one about locks.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import pg8000

from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.model.target import Endpoint
from loadstone.observe.postgresql.activity import LOCKS, SESSIONS, activity, hides, locks
from loadstone.observe.postgresql.asking import Asking
from loadstone.observe.postgresql.opened import database_of
from loadstone.observe.postgresql.pooler import Pooler
from loadstone.observe.postgresql.questions import Questions, rows_of
from loadstone.observe.postgresql.statistics import CATALOG, Part, Question, parts_for, question
from loadstone.observe.postgresql.updates import UPDATES, updated_columns
from loadstone.observe.source import UPDATED, VERSION
from loadstone.postgresql.errors import code_of, text_of
from loadstone.postgresql.variables import literal_of
from loadstone.servers.connection import Connection
from loadstone.servers.sanitize import plain as sanitized

_LOCKS_EVERY = 5
_UPDATES_EVERY = 2
_REFUSED = "not_evaluated."
SEE_ALL = say("the user sees only what its own sessions do (GRANT pg_monitor)")
_ABOUT_PARTS = "0A000 22023 42501 42703 42704 42883 42P01 55000 XX000".split()
"""Codes of functions, columns and settings that a server does not have, or this account may not
use."""

_NO_RIGHT = say("the user lacks the right (GRANT pg_monitor)")


@dataclass
class ServerSource:
    """Reads one target's server, under the server's own names."""

    name: SourceName
    endpoint: Endpoint
    _asking: Asking = field(init=False)
    _pooler: Pooler = field(init=False)
    _is_direct: bool = True
    """The server itself answers, and no pooler does."""
    _statistics: Question | None = None
    _facts: dict[str, str] = field(default_factory=dict)
    _locks: dict[str, float] = field(default_factory=dict)
    """The latest answer about locks, which holds until the next one."""
    _readings: int = 0
    _sessions: str = ""
    """The question for sessions."""
    _locks_asked: str = ""
    """The question for locks."""
    _updates: str = ""
    """The question for statements that update."""
    _updated: dict[str, set[str]] = field(default_factory=dict)
    """By table, the columns that updates have set so far."""

    def __post_init__(self) -> None:
        self._asking = Asking(self.endpoint, self._begin)
        self._pooler = Pooler(self.endpoint)

    def read(self) -> Reading:
        """Read all that this server has and this account may see.

        Raises:
            SourceError: the server cannot be reached, has closed the connection, or is none.
        """
        with self._asking.questions() as questions:
            return self._ask(questions)

    def close(self) -> None:
        """Say goodbye."""
        self._asking.close()
        self._pooler.close()

    def _begin(self, questions: Questions) -> None:
        connection = questions.connection
        ((version,),) = rows_of(connection, "SHOW server_version")
        self._facts = {VERSION: sanitized(str(version))}
        own = database_of(self.endpoint, is_direct=questions.is_direct)
        database = literal_of(connection, own)
        self._statistics, refused = statistics_of(connection, database)
        self._facts |= {f"{_REFUSED}{name}": why for name, why in refused.items()}
        self._sessions = SESSIONS.format(database=database)
        self._locks_asked = LOCKS.format(database=database)
        self._updates = UPDATES.format(database=database)
        self._readings = 0
        self._is_direct = questions.is_direct

    def _ask(self, questions: Questions) -> Reading:
        assert self._statistics is not None, "it is made when the connection is"
        begun = time.monotonic()
        (row,) = questions.rows(self._statistics.sql)
        at_s = (begun + time.monotonic()) / 2
        sessions = questions.rows(self._sessions)
        if self._readings % _LOCKS_EVERY == 0:
            self._locks = locks(questions.rows(self._locks_asked))
        if self._readings % _UPDATES_EVERY == 0:
            self._look_at_updates(questions)
        self._readings += 1
        pools = {} if self._is_direct else self._pooler.pools()
        if hides(sessions):
            self._facts[f"{_REFUSED}connection_states"] = SEE_ALL
        return Reading(
            at_s=at_s,
            counters=self._statistics.counters(row),
            gauges=self._statistics.gauges(row) | activity(sessions) | self._locks | pools,
            facts=dict(self._facts),
        )

    def _look_at_updates(self, questions: Questions) -> None:
        seen = updated_columns(str(row[0]) for row in questions.rows(self._updates))
        for table, columns in seen.items():
            self._updated.setdefault(table, set()).update(columns)
        if seen:
            listed = [
                {"table": table, "columns": sorted(columns)}
                for table, columns in sorted(self._updated.items())
            ]
            self._facts[UPDATED] = json.dumps(listed)


def statistics_of(connection: Connection, database: str) -> tuple[Question, dict[str, str]]:
    """The question for this server, and why views, and other parts of it, are left out.

    `database`: an SQL expression, the name of the load's database.

    Raises:
        pg8000.Error: the server does not answer.
    """
    columns: dict[str, list[str]] = {}
    refused: dict[str, str] = {}
    for view, column, may, is_number in rows_of(connection, CATALOG):
        if not may:
            refused[str(view)] = _NO_RIGHT
        elif is_number:
            columns.setdefault(str(view), []).append(str(column))
    answered = []
    for part in parts_for(columns, database):
        if why := _refusal(connection, part):
            refused[part.name] = why
        else:
            answered.append(part)
    return question(answered), refused


def _refusal(connection: Connection, part: Part) -> str | None:
    """Why the server does not answer it, in its words; `None`: it does.

    Compatible servers have functions that only raise an error, as Amazon Aurora for its log.
    """
    try:
        rows_of(connection, part.sql)
    except pg8000.Error as error:
        if code_of(error) not in _ABOUT_PARTS:
            raise
        return sanitized(text_of(error))
    return None
