"""What sessions did, by the records of PostgreSQL's log.

With `log_min_duration_statement` a record is written when a statement has ended, with its duration;
with `log_statement` when it starts. The server never writes the text of a statement twice. Of
prepared statements the executions count; `parse` and `bind` are steps on the way to them.
https://www.postgresql.org/docs/current/runtime-config-logging.html
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from loadstone.model.figure import Count
from loadstone.model.message import say
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.postgresql.parameters import NoValues, are_cut, values_of, with_values
from loadstone.traffic.postgresql.records import Record

NO_TIME = say("records without a time or a session")
NO_VALUES = say("prepared statements whose parameters the log lacks (log_parameter_max_length)")
MAYBE_CUT = say(
    "statements with a parameter that ends with dots: log_parameter_max_length may have cut it"
)
REST = say("fetches of the rest of a prepared statement's rows: it is sent once, for all rows")
FASTPATH = say("fastpath function calls")
FAILED = say("statements that failed: only log_statement = all has them with their time")
BACKWARDS = say("records whose time is before that of their session's record above")

_MOST_SESSIONS = 100_000
_TIME = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)"
    r"(?: (?P<east>[+-]\d\d)(?P<minutes>\d\d)?| .*)?"
)
_SESSION = re.compile(r"(?P<start>[0-9a-f]{1,16})\.(?P<process>[0-9a-f]{1,8})")
_DURATION = re.compile(r"duration: (?P<ms>\d{1,15}(?:\.\d+)?) ms(?:  (?P<what>.*))?", re.DOTALL)
_DONE = re.compile(
    r"(?P<how>statement|parse|bind|execute fetch from|execute|fastpath function call)"
    r"(?: (?P<name>.*?))?: (?P<sql>.*)",
    re.DOTALL,
)
_AUTHORIZED = "connection authorized: "
_DISCONNECTED = "disconnection: "


@dataclass
class _Session:
    number: int
    latest_s: float
    """The time of its last record."""


def entries_of(records: Iterable[Record], stats: ReadStats, kind: str) -> Iterator[Entry]:
    """The entries, in the order of the file; times are starts.

    Raises:
        LogRefused: there is no record, so this is no such log, or no statement in it.
    """
    reader = _Reader(stats)
    statements = 0
    for record in records:
        for entry in reader.take(record):
            statements += entry.command == "statement"
            yield entry
    if not stats.entries:
        said = say("no record of a {kind}", kind=kind)
        hint = say("give a file that log_destination = {kind} has written", kind=kind)
        raise LogRefused(stats.file, 1, said, hint)
    if not statements:
        said = say("{number} records, and none has a statement", number=Count(stats.entries))
        hint = say("log with log_min_duration_statement = 0 and lc_messages = C")
        raise LogRefused(stats.file, 1, said, hint)


class _Reader:
    def __init__(self, stats: ReadStats) -> None:
        self._heard = stats
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._has_starts = False
        """Whether statements are logged when they start, which those that fail are, too."""

    def take(self, record: Record) -> Iterator[Entry]:
        at_s = _seconds(record.time)
        number = _number(record.session)
        if at_s is None or number is None:
            self._heard.leave_out(record.line, NO_TIME)
            return
        if record.message.startswith(_DISCONNECTED):
            self._sessions.pop(record.session, None)
            yield Entry(at_s, number, "quit", "", record.line)
        elif record.message.startswith(_AUTHORIZED):
            yield from self._connected(record, number, at_s, at_s)
        elif record.severity == "LOG":
            yield from self._logged(record, number, at_s)
        elif record.query and not self._has_starts:
            self._failed(record)

    def _connected(
        self, record: Record, number: int, at_s: float, began_s: float
    ) -> Iterator[Entry]:
        """The session's first entry, unless it is known; its statement began then."""
        found = self._sessions.get(record.session)
        if found is None:
            self._sessions[record.session] = _Session(number, at_s)
            if len(self._sessions) > _MOST_SESSIONS:
                # The log may not show the end of a session; memory must not grow with the log.
                self._sessions.popitem(last=False)
            yield Entry(began_s, number, "connect", record.database, record.line)
            return
        self._sessions.move_to_end(record.session)
        if at_s < found.latest_s:
            self._heard.noted[BACKWARDS] += 1
        found.latest_s = at_s

    def _logged(self, record: Record, number: int, at_s: float) -> Iterator[Entry]:
        """The statement of a record of severity LOG, if it has one."""
        what, took_s = record.message, 0.0
        if timed := _DURATION.fullmatch(what):
            what, took_s = timed["what"] or "", float(timed["ms"]) / 1e3
        done = _DONE.fullmatch(what)
        if done is None or done["how"] in ("parse", "bind"):
            return
        self._has_starts |= timed is None
        if done["how"] == "execute fetch from":
            self._heard.noted[REST] += 1
        elif done["how"] == "fastpath function call":
            self._heard.leave_out(record.line, FASTPATH)
        elif (text := self._text(done, record)) is not None:
            yield from self._connected(record, number, at_s, at_s - took_s)
            yield Entry(at_s - took_s, number, "statement", text, record.line)

    def _text(self, done: re.Match[str], record: Record) -> str | None:
        """The statement with its parameters; `None`, and counted, where the log lacks them."""
        if done["how"] == "statement":
            return done["sql"]
        values = values_of(record.detail)
        try:
            text = with_values(done["sql"], values)
        except NoValues:
            self._heard.leave_out(record.line, NO_VALUES)
            return None
        if are_cut(values):
            self._heard.noted[MAYBE_CUT] += 1
        return text

    def _failed(self, record: Record) -> None:
        if record.severity in ("ERROR", "FATAL"):
            self._heard.leave_out(record.line, FAILED)


def _seconds(text: str) -> float | None:
    """Seconds since 1970; a zone given by its letters is taken as UTC: only differences count."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    try:
        at_s = datetime.fromisoformat(found["time"]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    if not found["east"]:
        return at_s
    minutes = int(found["east"]) * 60 + int(found["east"][0] + (found["minutes"] or "0"))
    return at_s - minutes * 60


def _number(session: str) -> int | None:
    found = _SESSION.fullmatch(session)
    return int(found["start"], 16) << 32 | int(found["process"], 16) if found else None
