"""Templates made of what a server was asked: the whole way from a log or from digests."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.families import connect
from loadstone.model.figure import Count, Percent
from loadstone.model.message import Joined, Message, counted, say
from loadstone.model.target import Endpoint
from loadstone.traffic import general_log, slow_log
from loadstone.traffic.build_template import Draft, draft
from loadstone.traffic.columns import ByColumn, read_columns
from loadstone.traffic.digests import groups_of, read_digests
from loadstone.traffic.entries import Entry, ReadStats, clauses, left_out, noted
from loadstone.traffic.errors import LogRefused, TrafficRefused
from loadstone.traffic.group_transactions import Collected
from loadstone.traffic.logfile import Line, lines_of
from loadstone.traffic.template_text import text_of, unknown_of
from loadstone.traffic.transactions import Grouping

LogKind = Literal["slow", "general"]
_READERS: dict[LogKind, Callable[[Iterable[Line], ReadStats, str], Iterator[Entry]]] = {
    "slow": slow_log.entries_of,
    "general": general_log.entries_of,
}
DEFAULT_MOST = 200
_MOST_HELD = 100_000
"""Entries of one second that are held at the same time; more are spread in parts."""


@dataclass(frozen=True)
class ImportOptions:
    """How a template is to be made."""

    name: str = "recorded"
    most: int = DEFAULT_MOST
    """Transactions in the file."""

    schema: str | None = None
    """Only of sessions in this one."""

    encoding: str = "utf-8"


@dataclass(frozen=True)
class ImportResult:
    """A template, and what is said of it."""

    text: str
    transactions: int
    statements: int
    notes: tuple[Message, ...]
    """What it was made of, and what of that is not in it."""

    unknown: tuple[Message, ...]
    """What could not be known of their values."""


def log_entries(path: Path, kind: LogKind, stats: ReadStats, encoding: str) -> Iterator[Entry]:
    """The entries of a log, with times as exact as it has them.

    Raises:
        LogRefused: it is no such log, or cannot be read to its end.
    """
    return _spread(_READERS[kind](lines_of(path), stats, encoding), stats)


def _spread(entries: Iterable[Entry], stats: ReadStats) -> Iterator[Entry]:
    """The entries of a second at even distances, in their order, where nothing more is known.

    Times that go back are those of an entry that was written late: it takes the time of the one
    before it, so that each session's statements stay in the order of the log.
    """
    held: list[Entry] = []
    latest_s = 0.0
    for entry in entries:
        if not stats.whole_seconds:
            latest_s = max(latest_s, entry.at_s)
            yield entry._replace(at_s=latest_s)
            continue
        if held and (entry.at_s > held[0].at_s or len(held) >= _MOST_HELD):
            yield from _even(held)
            latest_s = held[0].at_s
            held = []
        held.append(entry._replace(at_s=max(entry.at_s, latest_s)))
    yield from _even(held)


def _even(held: list[Entry]) -> Iterator[Entry]:
    for place, entry in enumerate(held):
        yield entry._replace(at_s=entry.at_s + place / len(held))


def from_log(path: Path, kind: LogKind, wanted: ImportOptions) -> ImportResult:
    """A template of a log's statements.

    Raises:
        LogRefused: it is no such log, cannot be read to its end, or has nothing for a template.
    """
    stats = ReadStats(str(path))
    grouping = Grouping(stats, wanted.schema)
    collected = Collected(stats)
    entries = log_entries(path, kind, stats, wanted.encoding)
    collected.take(grouping.transactions(entries))
    found = draft(collected.groups.values(), stats, wanted.most)
    if not found.transactions:
        said = say(
            "{number} entries, and no statement that a template can have",
            number=Count(stats.entries),
        )
        raise LogRefused(str(path), 1, said, _left_out(stats) or say("give another log"))
    span = grouping.span
    about = f"made of {path.name}, a {kind} log"
    notes = [
        say(
            "Made by loadstone of {file} ({kind} log): {statements} of {sessions} in {seconds} s.",
            file=path.name,
            kind=kind,
            statements=counted("1 statement", "{number} statements", found.statements),
            sessions=counted("1 session", "{number} sessions", len(span.sessions)),
            seconds=f"{span.seconds:.0f}",
        ),
        *_rates(found, span.seconds, len(span.sessions)),
    ]
    return _made(found, stats, wanted, about, notes)


def _rates(found: Draft, seconds: float, sessions: int) -> list[Message]:
    """How to drive it as it was driven."""
    if seconds < 1:
        return []
    events = sum(one.count for one in found.transactions)
    # Three digits say enough, and a log of few events a minute has a rate below one.
    rate = _digits(events / seconds)
    return [
        say(
            "As often as there: --rate {rate} --concurrency {users}",
            rate=rate,
            users=sessions,
        )
    ]


def _digits(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"


def from_digests(endpoint: Endpoint, wanted: ImportOptions, over_s: float | None) -> ImportResult:
    """A template of what a server has counted in the target's schema.

    Raises:
        TrafficRefused: it counts nothing, or nothing that a template can have.
        TargetError: it cannot be reached, or refuses to answer.
    """
    target = endpoint.target
    stats = ReadStats(target.place)
    # Outside of the schema, so that what is asked here is not counted there.
    with connect(endpoint, database=None) as connection:
        digests = read_digests(connection, target, over_s, stats)
        groups, tables = groups_of(digests, stats)
        facts = read_columns(connection, target, target.database or "", tables)
    found = draft(groups, stats, wanted.most, ByColumn(facts))
    if not found.transactions:
        said = say(
            "a template can have no digest of schema {schema} at {place}",
            schema=target.database,
            place=target.place,
        )
        raise TrafficRefused(said, _left_out(stats))
    about = f"made of the digests of schema {target.database}"
    schema, number = target.database, Count(found.statements)
    notes = [
        say(
            "Made by loadstone of performance_schema's digests, schema {schema}: {number}"
            " statements since its digests were last emptied.",
            schema=schema,
            number=number,
        )
        if over_s is None
        else say(
            "Made by loadstone of performance_schema's digests, schema {schema}: {number}"
            " statements in {seconds} s.",
            schema=schema,
            number=number,
            seconds=f"{over_s:.0f}",
        ),
        say("Digests know no sessions: each statement is a transaction of its own."),
    ]
    return _made(found, stats, wanted, about, notes)


def _made(
    found: Draft, stats: ReadStats, wanted: ImportOptions, about: str, notes: list[Message]
) -> ImportResult:
    said = [*notes, *_all_left_out(stats)]
    said += [noted(what, count) for what, count in stats.noted.most_common()]
    if found.left_statements:
        said.append(
            say(
                "left out: {number} statements ({share}) of transactions beyond the {most} most"
                " frequent",
                number=Count(found.left_statements),
                share=Percent(found.left_statements / (found.statements + found.left_statements)),
                most=Count(wanted.most),
            )
        )
    return ImportResult(
        text=text_of(found, wanted.name, about, [*said, *_last_note(stats)]),
        transactions=len(found.transactions),
        statements=found.statements,
        notes=tuple(said),
        unknown=unknown_of(found),
    )


def _last_note(stats: ReadStats) -> list[Message]:
    if not stats.examples:
        return []
    return [say("the first of them: {list}", list=Joined(stats.examples))]


def _all_left_out(stats: ReadStats) -> list[Message]:
    return [left_out(why, count) for why, count in stats.left_out.most_common()]


def _left_out(stats: ReadStats) -> Message | None:
    found = _all_left_out(stats)
    return clauses(found) if found else None


_LOOKED_AT = 200
"""Lines of a log by which its kind is recognized."""


def kind_of_log(path: Path) -> LogKind:
    """By the first entry in it.

    Raises:
        LogRefused: it cannot be read, or is neither.
    """
    head = list(itertools.islice(lines_of(path), _LOOKED_AT))
    for kind, read in _READERS.items():
        stats = ReadStats(str(path))
        with contextlib.suppress(LogRefused):
            if next(read(head, stats, "utf-8"), None) is not None or stats.entries:
                return kind
    said = say("neither a slow nor a general log, as far as its first lines show")
    hint = say("say which it is with --log, or give another file")
    raise LogRefused(str(path), 1, said, hint)
