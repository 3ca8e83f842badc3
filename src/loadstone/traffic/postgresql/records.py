"""The records of PostgreSQL's structured logs: csvlog, and jsonlog of PostgreSQL 15 and newer.

https://www.postgresql.org/docs/current/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-CSVLOG
and the section after it. Columns were added to csvlog at its end (in 13 and 14), so that those
read here have had the same places since 9.0.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from loadstone.model.message import say
from loadstone.traffic.entries import ReadStats
from loadstone.traffic.general_log import CUT_OFF, LINES_BEFORE, TOO_LONG
from loadstone.traffic.logfile import LONGEST_LINE, Line

NOT_RECORDS = say("lines that are no records of the log")
ZERO_BYTES = say("records with zero bytes: the file is damaged there")

_TRIED_LINES = 1000
"""A file without a record in this many lines is no such log."""

_KEPT = "surrogateescape"
# Within a text the quotes are doubled, so that no statement looks like this.
_BEGINS = re.compile(
    rb'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [^,"\n]{1,20},'
    rb'(?:"(?:[^"]|"")*+")?,(?:"(?:[^"]|"")*+")?,\d*,(?:"[^"]*+")?,[0-9a-f]+\.[0-9a-f]+,\d+,'
)
_TIME, _DATABASE, _SESSION, _SEVERITY, _MESSAGE, _DETAIL, _QUERY = 0, 2, 5, 11, 13, 14, 19
_LEAST_COLUMNS = 23


class Record(NamedTuple):
    """A record of the log; texts are empty where it has none."""

    time: str
    """As written: `2026-11-22 10:00:00.123 UTC`."""

    database: str
    session: str
    """The start of the session and its process, `692181a0.1f4`."""

    severity: str
    message: str
    detail: str
    query: str
    """The statement that an error is about."""

    line: int


def records_of_csv(lines: Iterable[Line], stats: ReadStats, encoding: str) -> Iterator[Record]:
    """The records of a csvlog, in the order of the file.

    A record begins on a line that looks like the beginning of one, so what was cut or overwritten
    costs only itself.
    """
    begun, parts, size, whole = 0, list[bytes](), 0, True
    for number, content, is_whole in lines:
        whole = is_whole
        if _BEGINS.match(content):
            yield from _of_csv(begun, parts, size, stats, encoding)
            begun, parts, size = number, [], 0
        elif not begun:
            stats.leave_out(number, LINES_BEFORE)
            if number >= _TRIED_LINES:
                return
            continue
        size += len(content) + 1
        if size <= LONGEST_LINE + 1:
            parts.append(content)
    if begun and not whole:
        stats.leave_out(begun, CUT_OFF)
    else:
        yield from _of_csv(begun, parts, size, stats, encoding)


def _of_csv(
    line: int, parts: list[bytes], size: int, stats: ReadStats, encoding: str
) -> Iterator[Record]:
    if not line:
        return
    if size > LONGEST_LINE + 1:
        stats.leave_out(line, TOO_LONG)
        return
    content = b"\n".join(parts)
    if b"\0" in content:
        stats.leave_out(line, ZERO_BYTES)
        return
    try:
        found = _cells_of(content.decode(encoding, _KEPT))
    except (csv.Error, ValueError):
        stats.leave_out(line, CUT_OFF)
        return
    if len(found) < _LEAST_COLUMNS:
        stats.leave_out(line, CUT_OFF)
        return
    stats.entries += 1
    yield Record(
        time=found[_TIME],
        database=found[_DATABASE],
        session=found[_SESSION],
        severity=found[_SEVERITY],
        message=found[_MESSAGE],
        detail=found[_DETAIL],
        query=found[_QUERY],
        line=line,
    )


def _cells_of(record: str) -> list[str]:
    """The cells; raises csv.Error and ValueError for what is not one record."""
    before = csv.field_size_limit(LONGEST_LINE)  # the process has one limit for all that it reads
    try:
        (cells,) = csv.reader([record], strict=True)
    finally:
        csv.field_size_limit(before)
    return cells


_KEYS = ("timestamp", "dbname", "session_id", "error_severity", "message", "detail", "statement")


def records_of_json(lines: Iterable[Line], stats: ReadStats, encoding: str) -> Iterator[Record]:
    """The records of a jsonlog, in the order of the file; each is one line."""
    for number, content, whole in lines:
        if not whole:
            stats.leave_out(number, CUT_OFF)
        elif b"\0" in content:
            stats.leave_out(number, ZERO_BYTES)
        elif (found := _of_json(content, number, encoding)) is None:
            stats.leave_out(number, NOT_RECORDS)
            if not stats.entries and number >= _TRIED_LINES:
                return
        else:
            stats.entries += 1
            yield found


def _of_json(content: bytes, line: int, encoding: str) -> Record | None:
    try:
        found = json.loads(content.decode(encoding, _KEPT))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    texts = [found.get(key, "") for key in _KEYS]
    if not all(isinstance(text, str) for text in texts) or not all(texts[at] for at in (0, 2)):
        return None
    time, database, session, severity, message, detail, query = texts
    return Record(time, database, session, severity, message, detail, query, line)
