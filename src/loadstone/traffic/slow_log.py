"""The slow query log, as MariaDB and MySQL write it.

An entry is some lines that begin with `#`, perhaps `use schema;`, `SET timestamp=…;`, and the
statement. With `long_query_time=0` all statements are in it.

https://dev.mysql.com/doc/refman/8.4/en/slow-query-log.html, https://mariadb.com/kb/en/slow-query-log/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from loadstone.model.figure import Count
from loadstone.model.message import say
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.general_log import CUT_OFF, LINES_BEFORE, TOO_LONG
from loadstone.traffic.logfile import LONGEST_LINE, Line

_TIME = re.compile(
    rb"# Time: (?:\d{6}\s{1,2}\d{1,2}:\d\d:\d\d"
    rb"|(?P<new>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)))\s*"
)
_USER = re.compile(rb"# User@Host: .*?\](?:\s+Id:\s*(?P<session>\d+))?\s*")
# MariaDB has both here; Percona Server has the schema here, and the session next to the user.
_THREAD = re.compile(rb"# (?:Thread_id: (?P<session>\d+)\s+)?Schema: (?P<schema>\S*).*")
_QUERY_TIME = re.compile(rb"# Query_time: (?P<seconds>[\d.]+)\s.*")
_USE = re.compile(rb"use (?P<schema>.*);", re.IGNORECASE)
_STAMP = re.compile(rb"SET timestamp=(?P<seconds>\d+(?:\.\d+)?);", re.IGNORECASE)
_ADMIN = re.compile(rb"# administrator command: (?P<command>.*?);?\s*")
_BANNER = re.compile(
    rb"(?:.*, Version: .* started with:|Tcp port: .*|Time\s+Id Command\s+Argument)\s*"
)
_TRIED_LINES = 1000
NO_SESSION = say("entries that name no session")


@dataclass
class _Open:
    """An entry that is being read."""

    line: int
    session: int | None = None
    schema: str | None = None
    query_s: float = 0.0
    stamp_s: float | None = None
    quits: bool = False
    is_command: bool = False
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    @property
    def in_statement(self) -> bool:
        return bool(self.parts) or self.size > 0

    def add(self, content: bytes) -> None:
        self.size += len(content) + 1
        if self.size <= LONGEST_LINE:
            self.parts.append(content)


class _Clock:
    """The time of entries: from `# Time:` where there is one, else from `SET timestamp`.

    Both are those of the entry, which is written when its statement has ended.
    """

    def __init__(self) -> None:
        self.ended_s: float | None = None
        """The last `# Time:` with microseconds: when the entry after it was written."""

        self.fresh = False

    def time_of(self, entry: _Open, stats: ReadStats) -> tuple[float, float]:
        """When its statement began; or the second in which it ended, and how long it took."""
        if self.ended_s is not None and self.fresh:
            self.fresh = False
            return self.ended_s - entry.query_s, 0.0
        if entry.stamp_s is None or entry.stamp_s.is_integer():
            stats.whole_seconds = True
            return entry.stamp_s or 0.0, entry.query_s
        return entry.stamp_s, 0.0


class _Sessions:
    """The schema that each session is in, as far as it was logged."""

    _MOST = 100_000

    def __init__(self) -> None:
        self._schemas: dict[int, str] = {}

    def changed(self, session: int, schema: str | None) -> bool:
        """Whether the session's schema differs from the last known one."""
        if schema is None or not schema or self._schemas.get(session) == schema:
            return False
        if len(self._schemas) >= self._MOST:
            self._schemas.pop(next(iter(self._schemas)))
        self._schemas[session] = schema
        return True

    def gone(self, session: int) -> None:
        self._schemas.pop(session, None)


def entries_of(lines: Iterable[Line], stats: ReadStats, encoding: str = "utf-8") -> Iterator[Entry]:
    """The entries, in the order of the file.

    Raises:
        LogRefused: there is no entry, so this is not a slow log.
    """
    reader = _Reader(stats, encoding)
    number = 0
    whole = True
    for line in lines:
        number, whole = line.number, line.is_whole
        yield from reader.take(line)
    if not stats.entries:
        raise _refused(stats.file, number)
    yield from reader.end(whole=whole)


def _refused(file: str, lines: int) -> LogRefused:
    said = (
        say("no entry of a slow log in {lines} lines", lines=Count(lines))
        if lines
        else say("the file is empty")
    )
    hint = say("give a file that slow_query_log_file names; a general log is for from-generallog")
    return LogRefused(file, 1, said, hint)


class _Reader:
    def __init__(self, stats: ReadStats, encoding: str) -> None:
        self._heard = stats
        self._encoding = encoding
        self._open: _Open | None = None
        self._clock = _Clock()
        self._sessions = _Sessions()

    def take(self, line: Line) -> Iterator[Entry]:
        number, content, _ = line
        if content.startswith(b"# Time: ") and (found := _TIME.fullmatch(content)):
            yield from self.end()
            self._time(found)
        elif content.startswith(b"# User@Host: ") and (found := _USER.fullmatch(content)):
            yield from self.end()
            self._heard.entries += 1
            session = found["session"]
            self._open = _Open(number, int(session) if session else None)
        elif _BANNER.fullmatch(content):
            yield from self.end()
        elif self._open is None:
            self._before(number, content)
        else:
            self._within(self._open, content)

    def _time(self, found: re.Match[bytes]) -> None:
        if found["new"]:
            self._clock.ended_s = datetime.fromisoformat(found["new"].decode()).timestamp()
            self._clock.fresh = True
        else:
            self._clock.ended_s = None

    def _before(self, number: int, content: bytes) -> None:
        if content:
            self._heard.leave_out(number, LINES_BEFORE)
        if not self._heard.entries and number >= _TRIED_LINES:
            raise _refused(self._heard.file, number)

    def _within(self, entry: _Open, content: bytes) -> None:
        if entry.in_statement:
            entry.add(content)
        elif found := _THREAD.fullmatch(content):
            if found["session"]:
                entry.session = int(found["session"])
            entry.schema = self._decoded(found["schema"])
        elif found := _QUERY_TIME.fullmatch(content):
            entry.query_s = float(found["seconds"])
        elif found := _ADMIN.fullmatch(content):
            entry.is_command = True
            entry.quits = found["command"] == b"Quit"
        elif content.startswith(b"#"):
            # Rows_affected, Full_scan and any other fields, in any order.
            return
        elif found := _USE.fullmatch(content):
            entry.schema = self._decoded(found["schema"]).strip("`")
        elif found := _STAMP.fullmatch(content):
            entry.stamp_s = float(found["seconds"])
        else:
            entry.add(content)

    def _decoded(self, content: bytes) -> str:
        return content.decode(self._encoding, "surrogateescape")

    def end(self, *, whole: bool = True) -> Iterator[Entry]:
        """The entry that was being read, if there is one."""
        entry, self._open = self._open, None
        if entry is None:
            return
        at_s, took_s = self._clock.time_of(entry, self._heard)
        if entry.session is None:
            self._heard.leave_out(entry.line, NO_SESSION)
            return
        if self._sessions.changed(entry.session, entry.schema):
            yield Entry(at_s, entry.session, "schema", entry.schema or "", entry.line, took_s)
        if entry.quits:
            self._sessions.gone(entry.session)
            yield Entry(at_s, entry.session, "quit", "", entry.line)
        if entry.is_command:
            return
        text = self._decoded(b"\n".join(entry.parts)).rstrip()
        if entry.size > LONGEST_LINE + 1:
            self._heard.leave_out(entry.line, TOO_LONG)
        elif not text or not text.endswith(";") or not whole:
            self._heard.leave_out(entry.line, CUT_OFF)
        else:
            said = text.removesuffix(";")
            yield Entry(at_s, entry.session, "statement", said, entry.line, took_s)
