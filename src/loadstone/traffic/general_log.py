"""The general query log, as MariaDB and MySQL write it.

MariaDB (and MySQL up to 5.6) gives a time only where the second has changed; MySQL from 5.7 on
gives each entry one with microseconds. A line that does not look like the start of an entry
continues the statement before it.

https://dev.mysql.com/doc/refman/8.4/en/query-log.html, https://mariadb.com/kb/en/general-query-log/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from loadstone.model.figure import Count
from loadstone.model.message import say
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.logfile import LONGEST_LINE, Line

COMMANDS = (
    "Sleep|Quit|Init DB|Query|Field List|Create DB|Drop DB|Refresh|Shutdown|Statistics|Processlist"
    "|Connect|Connect Out|Kill|Debug|Ping|Time|Delayed insert|Change user|Binlog Dump|Table Dump"
    "|Register Slave|Register Replica|Prepare|Execute|Long Data|Close stmt|Reset stmt|Set option"
    "|Fetch|Daemon|Binlog Dump GTID|Reset Connection|Error|Bulk_execute|Clone|Statement"
)
_BEGINS = re.compile(
    rb"(?:(?P<old>\d{6}\s{1,2}\d{1,2}:\d\d:\d\d)\t|(?P<same>\t\t)"
    rb"|(?P<new>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))\t)"
    rb"\s*(?P<session>\d+) (?P<command>" + COMMANDS.encode() + rb")(?:\t(?P<text>.*)|\s*)",
    re.DOTALL,
)
_BANNER = re.compile(
    rb"(?:.*, Version: .* started with:|Tcp port: .*|Time\s+Id Command\s+Argument)\s*"
)
_CONNECTED = re.compile(r" on (\S*)")
_TRIED_LINES = 1000
"""A file without an entry in this many lines is not a general log."""

LINES_BEFORE = say("lines before the first entry")
CUT_OFF = say("entries that were cut off")
TOO_LONG = say("statements of more than 64 MiB")


@dataclass
class _Open:
    """An entry whose text may continue on the next line."""

    at_s: float
    session: int
    command: str
    line: int
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, content: bytes) -> None:
        self.size += len(content) + 1
        if self.size <= LONGEST_LINE:
            self.parts.append(content)


def entries_of(lines: Iterable[Line], stats: ReadStats, encoding: str = "utf-8") -> Iterator[Entry]:
    """The entries, in the order of the file.

    Raises:
        LogRefused: there is no entry, so this is not a general log.
    """
    current: _Open | None = None
    at_s = 0.0
    number = 0
    whole = True
    for number, content, is_whole in lines:
        match = _BEGINS.fullmatch(content)
        if match is None and _BANNER.fullmatch(content):
            yield from _closed(current, stats, encoding)
            current = None
        elif match is None:
            _go_on(current, content, number, stats)
        else:
            yield from _closed(current, stats, encoding)
            at_s = _time(match, at_s, stats)
            command = match["command"].decode()
            current = _Open(at_s, int(match["session"]), command, number)
            current.add(match["text"] or b"")
            stats.entries += 1
        whole = is_whole
    if not stats.entries:
        raise _refused(stats.file, number)
    if current and not whole:
        stats.leave_out(current.line, CUT_OFF)
    else:
        yield from _closed(current, stats, encoding)


def _refused(file: str, lines: int) -> LogRefused:
    said = (
        say("no entry of a general log in {lines} lines", lines=Count(lines))
        if lines
        else say("the file is empty")
    )
    hint = say("give a file that general_log_file names; a slow log is for from-slowlog")
    return LogRefused(file, 1, said, hint)


def _go_on(current: _Open | None, content: bytes, number: int, stats: ReadStats) -> None:
    if current:
        current.add(content)
        return
    if content:
        stats.leave_out(number, LINES_BEFORE)
    if not stats.entries and number >= _TRIED_LINES:
        raise _refused(stats.file, number)


def _time(match: re.Match[bytes], before_s: float, stats: ReadStats) -> float:
    if match["same"] is not None:
        return before_s
    if match["new"]:
        return datetime.fromisoformat(match["new"].decode()).timestamp()
    stats.whole_seconds = True
    return old_time(match["old"].decode(), before_s)


def old_time(text: str, before_s: float) -> float:
    """The time of `261122  9:00:01`, whose time zone is unknown; `before_s` where there is none."""
    try:
        moment = datetime.strptime(" ".join(text.split()), "%y%m%d %H:%M:%S")
    except ValueError:
        return before_s
    return moment.replace(tzinfo=UTC).timestamp()


def _closed(current: _Open | None, stats: ReadStats, encoding: str) -> Iterator[Entry]:
    if current is None:
        return
    if current.size > LONGEST_LINE + 1:
        stats.leave_out(current.line, TOO_LONG)
        return
    text = b"\n".join(current.parts).decode(encoding, "surrogateescape")
    at_s, session, line = current.at_s, current.session, current.line
    match current.command:
        case "Query" | "Execute":
            yield Entry(at_s, session, "statement", text.rstrip("\n"), line)
        case "Connect" | "Change user":
            found = _CONNECTED.search(text)
            yield Entry(at_s, session, "connect", found[1] if found else "", line)
        case "Quit":
            yield Entry(at_s, session, "quit", "", line)
        case "Init DB":
            yield Entry(at_s, session, "schema", text.strip(), line)
