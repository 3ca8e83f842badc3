"""Makes templates from recorded traffic: all steps from a log or digests to the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loadstone.families import connect, require
from loadstone.model.figure import Count, Percent
from loadstone.model.message import Joined, Message, counted, say
from loadstone.model.target import Endpoint
from loadstone.traffic.build_template import Draft, draft
from loadstone.traffic.by_family import COUNTED, FAMILIES, GRAMMARS, LogKind
from loadstone.traffic.columns import ByColumn
from loadstone.traffic.counted_statements import groups_of
from loadstone.traffic.entries import ReadStats, clauses, left_out, noted
from loadstone.traffic.errors import LogRefused, TrafficRefused
from loadstone.traffic.group_transactions import Collected
from loadstone.traffic.read_log import log_entries
from loadstone.traffic.template_text import text_of, unknown_of
from loadstone.traffic.transactions import Grouping

DEFAULT_MOST = 200


@dataclass(frozen=True)
class ImportOptions:
    """Options for making a template."""

    name: str = "recorded"
    most: int = DEFAULT_MOST
    """The most transactions in the file."""

    schema: str | None = None
    """Use only sessions in this schema; `None`: all sessions."""

    encoding: str = "utf-8"


@dataclass(frozen=True)
class ImportResult:
    """A template, and what to report about it."""

    text: str
    transactions: int
    statements: int
    notes: tuple[Message, ...]
    """What it was made from, and what was left out."""

    unknown: tuple[Message, ...]
    """Facts about its values that could not be known."""


def from_log(path: Path, kind: LogKind, wanted: ImportOptions) -> ImportResult:
    """A template of a log's statements.

    Raises:
        LogRefused: the file is not such a log, cannot be read to its end, or has nothing usable.
    """
    stats = ReadStats(str(path))
    grammar = GRAMMARS[FAMILIES[kind]]
    grouping = Grouping(stats, grammar, wanted.schema)
    collected = Collected(stats)
    entries = log_entries(path, kind, stats, wanted.encoding)
    collected.take(grouping.transactions(entries))
    found = draft(collected.groups.values(), stats, grammar.dialect, wanted.most)
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
    """Advice on driving the template at the recorded rate."""
    if seconds < 1:
        return []
    events = sum(one.count for one in found.transactions)
    # Three significant digits are enough; a log of few events a minute has a rate below one.
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
    """A template of the digests that a server has counted in the target's schema.

    Raises:
        NotSupported: it is no server with digests.
        TrafficRefused: there are no digests, or none that a template can have.
        TargetError: the server cannot be reached, or refuses to answer.
    """
    target = endpoint.target
    require(target, "digests")
    source = COUNTED[target.family]
    stats = ReadStats(target.place)
    # Outside of the schema, so that our own queries are not counted there.
    with connect(endpoint, database=None) as connection:
        digests = source.read(connection, target, over_s, stats)
        made = source.tables_listed(connection, target, target.database or "")
        groups, tables = groups_of(source, digests, stats, made)
        facts = source.read_columns(connection, target, target.database or "", tables)
    found = draft(groups, stats, source.dialect, wanted.most, ByColumn(facts))
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
            "Made by loadstone of {source}, schema {schema}: {number} statements since these counts"
            " were last emptied.",
            source=source.name,
            schema=schema,
            number=number,
        )
        if over_s is None
        else say(
            "Made by loadstone of {source}, schema {schema}: {number} statements in {seconds} s.",
            source=source.name,
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
