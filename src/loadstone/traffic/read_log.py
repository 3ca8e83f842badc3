"""Reads a log of any kind: its entries, with times as exact as the log has them."""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path

from loadstone.model.message import say
from loadstone.mysql.own_statements import is_own
from loadstone.traffic.by_family import READERS, LogKind
from loadstone.traffic.entries import OWN, Entry, ReadStats, outside_of
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.logfile import lines_of

_MOST_HELD = 100_000
"""The most entries of one second held in memory; more are spread in parts."""

_MOST_SESSIONS = 100_000
"""The most sessions whose last time is remembered."""

_LOOKED_AT = 200
"""The number of lines to search for a log's kind."""


def log_entries(path: Path, kind: LogKind, stats: ReadStats, encoding: str) -> Iterator[Entry]:
    """The entries of a log, with times as exact as the log has them.

    Statements of Loadstone itself are left out, and counted: what was recorded is somebody's load.

    Raises:
        LogRefused: the file is not a log of this kind, or cannot be read to its end.
    """
    lines = lines_of(path)
    if kind in ("csvlog", "jsonlog"):
        return _in_order(READERS[kind](lines, stats, encoding))
    return _in_order(_spread(_without_own(READERS[kind](lines, stats, encoding), stats), stats))


def _without_own(entries: Iterable[Entry], stats: ReadStats) -> Iterator[Entry]:
    for entry in entries:
        if entry.command == "statement" and is_own(entry.text):
            stats.left_out[OWN] += 1
        else:
            yield entry


def _spread(entries: Iterable[Entry], stats: ReadStats) -> Iterator[Entry]:
    """The entries, spread evenly over each second where the log has only whole seconds.

    There a time that goes back belongs to an entry that was written late, and is that of the entry
    before it. What a second's entries took is known better than that, so it is subtracted after
    they were spread: a statement that took 5 s starts 5 s before the others of its second.
    """
    held: list[Entry] = []
    latest_s = 0.0
    for entry in entries:
        if not stats.whole_seconds:
            yield entry
            continue
        if held and (entry.at_s > held[0].at_s or len(held) >= _MOST_HELD):
            yield from _even(held)
            latest_s = held[0].at_s
            held = []
        held.append(entry._replace(at_s=max(entry.at_s, latest_s)))
    yield from _even(held)


def _even(held: list[Entry]) -> Iterator[Entry]:
    for place, entry in enumerate(held):
        ended_s = entry.at_s + place / len(held)
        yield entry._replace(at_s=ended_s - entry.took_s, took_s=0.0)


def in_schema(entries: Iterable[Entry], schema: str, stats: ReadStats) -> Iterator[Entry]:
    """The entries of sessions while they are in a schema; other statements are counted."""
    schemas: OrderedDict[int, str] = OrderedDict()
    for entry in entries:
        if entry.command in ("connect", "schema"):
            schemas[entry.session] = entry.text
            if len(schemas) > _MOST_SESSIONS:
                schemas.popitem(last=False)
        if entry.command == "quit":
            schemas.pop(entry.session, None)
        elif schemas.get(entry.session) != schema:
            if entry.command == "statement":
                stats.left_out[outside_of(schema)] += 1
            continue
        yield entry


def _in_order(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries with times that go back in no session.

    A record is written at a statement's end, so that others that started later may be above it.
    """
    latest: OrderedDict[int, float] = OrderedDict()
    for entry in entries:
        at_s = max(entry.at_s, latest.get(entry.session, entry.at_s))
        latest[entry.session] = at_s
        if entry.command == "quit":
            del latest[entry.session]
        elif len(latest) > _MOST_SESSIONS:
            latest.popitem(last=False)
        yield entry._replace(at_s=at_s)


def kind_of_log(path: Path) -> LogKind:
    """The kind of a log, recognized by its first entry.

    Raises:
        LogRefused: the file cannot be read, or is no kind of log that is known.
    """
    head = list(itertools.islice(lines_of(path), _LOOKED_AT))
    for kind, read in READERS.items():
        stats = ReadStats(str(path))
        found = False
        with contextlib.suppress(LogRefused):
            found = next(read(head, stats, "utf-8"), None) is not None
        if found or stats.entries:
            return kind
    said = say("no slow or general log, csvlog or jsonlog, as far as its first lines show")
    hint = say("say which it is with --log, or give another file")
    raise LogRefused(str(path), 1, said, hint)
