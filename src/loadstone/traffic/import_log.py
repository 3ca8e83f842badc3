"""Templates made of what a server was asked: the whole way from a log or from digests."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.families import connect
from loadstone.model.target import Endpoint
from loadstone.traffic import general_log, slow_log
from loadstone.traffic.build_template import Draft, draft
from loadstone.traffic.columns import ByColumn, read_columns
from loadstone.traffic.digests import groups_of, read_digests
from loadstone.traffic.entries import Entry, ReadStats
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
    notes: tuple[str, ...]
    """What it was made of, and what of that is not in it."""

    unknown: tuple[str, ...]
    """What could not be known of values."""


def log_entries(path: Path, kind: LogKind, stats: ReadStats, encoding: str) -> Iterator[Entry]:
    """The entries of a log, with times as near as it tells.

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
        said = f"{stats.entries} entries, and no statement that a template can have"
        raise LogRefused(str(path), 1, said, "; ".join(_left_out(stats)) or "give another log")
    span = grouping.span
    about = f"made of {path.name}, a {kind} log"
    notes = [
        f"Made by loadstone of {path.name} ({kind} log): {_counted(found.statements, 'statement')}"
        f" of {_counted(len(span.sessions), 'session')} in {span.seconds:.0f} s.",
        *_rates(found, span.seconds, len(span.sessions)),
    ]
    return _made(found, stats, wanted, about, notes)


def _rates(found: Draft, seconds: float, sessions: int) -> list[str]:
    """How to drive it as it was driven."""
    if seconds < 1:
        return []
    events = sum(one.count for one in found.transactions)
    # Three digits say enough, and a log of few events a minute has a rate below one.
    return [f"As often as there: --rate {_digits(events / seconds)} --concurrency {sessions}"]


def _digits(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def from_digests(endpoint: Endpoint, wanted: ImportOptions, over_s: float | None) -> ImportResult:
    """A template of what a server has counted in the target's schema.

    Raises:
        TrafficRefused: it counts nothing, or nothing that a template can have.
        TargetError: it cannot be reached, or refuses to tell.
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
        said = f"no digest of schema {target.database} at {target.place} is for a template"
        raise TrafficRefused(said, "; ".join(_left_out(stats)) or None)
    since = "since its digests were last emptied" if over_s is None else f"in {over_s:.0f} s"
    about = f"made of the digests of schema {target.database}"
    notes = [
        f"Made by loadstone of performance_schema's digests, schema {target.database}:"
        f" {found.statements} statements {since}.",
        "Digests know no sessions: each statement is a transaction of its own.",
    ]
    return _made(found, stats, wanted, about, notes)


def _made(
    found: Draft, stats: ReadStats, wanted: ImportOptions, about: str, notes: list[str]
) -> ImportResult:
    said = [*notes, *_left_out(stats)]
    said += [f"{count} {what}" for what, count in stats.noted.most_common()]
    if found.left_statements:
        share = 100 * found.left_statements / (found.statements + found.left_statements)
        said.append(
            f"left out: {found.left_statements} statements ({share:.1f} %) of transactions beyond"
            f" the {wanted.most} most frequent"
        )
    return ImportResult(
        text=text_of(found, wanted.name, about, [*said, *_last_note(stats)]),
        transactions=len(found.transactions),
        statements=found.statements,
        notes=tuple(said),
        unknown=unknown_of(found),
    )


def _last_note(stats: ReadStats) -> list[str]:
    return [f"the first of them: {', '.join(_without_folder(stats))}"] if stats.examples else []


def _without_folder(stats: ReadStats) -> list[str]:
    """A template is handed on: whose folder the log lay in is nobody's business."""
    name = Path(stats.file).name
    return [name + one.removeprefix(stats.file) for one in stats.examples]


def _left_out(stats: ReadStats) -> list[str]:
    return [f"left out: {count} {what}" for what, count in stats.left_out.most_common()]


_LOOKED_AT = 200
"""Lines of a log by which its kind is told."""


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
    said = "neither a slow nor a general log, as far as its first lines tell"
    raise LogRefused(str(path), 1, said, "say which it is with --log, or give another file")
