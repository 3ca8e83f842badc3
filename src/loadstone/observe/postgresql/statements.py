"""What pg_stat_statements counted over a step, where that extension is there.

It is read before and after the load, and never reset: others may count by it as well.

Source: https://www.postgresql.org/docs/current/pgstatstatements.html
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import pg8000

from loadstone.model.hot_spots import CountedStatement
from loadstone.model.message import Message, say
from loadstone.observe.postgresql.questions import rows_of
from loadstone.postgresql.activity import SEE_OTHERS
from loadstone.postgresql.errors import text_of
from loadstone.postgresql.facts import quoted
from loadstone.postgresql.tokens import NotSql, Token, tokens_of
from loadstone.servers.connection import Connection
from loadstone.servers.guard import LIST_TABLE
from loadstone.servers.sanitize import plain

KIND = "counted"
"""What they are called where they are missing."""

_EXTENSION = "pg_stat_statements"
_READ = 5000
"""Statements that are read, those with the longest times first: by default the server keeps as
many."""

_SHOWN = 20
_TEXT = 400
_TEXT_READ = 1000

_NOT_THERE = say(
    "the load's database lacks the extension pg_stat_statements: shared_preload_libraries = "
    "'pg_stat_statements', a restart, and CREATE EXTENSION pg_stat_statements"
)
_OFF = say("pg_stat_statements.track is none")
_NONE_GREW = say("pg_stat_statements has counted no statement of the load")

_HIDES = say(
    "pg_stat_statements shows this user its own statements alone: {right}", right=SEE_OTHERS
)
_TOO_MANY = say(
    "{count} or more statements of the load's database are in pg_stat_statements: a new one "
    "cannot be distinguished from an old one that was not read",
    count=_READ,
)
_OLD = say(
    "the extension pg_stat_statements is older than its server: ALTER EXTENSION pg_stat_statements "
    "UPDATE"
)

_FIND = f"""
SELECT n.nspname, current_setting('{_EXTENSION}.track', true),
  current_setting('{_EXTENSION}.track_planning', true), ARRAY(SELECT a.attname::text
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
    WHERE c.relname = '{_EXTENSION}' AND c.relnamespace = n.oid AND a.attnum > 0),
  pg_has_role('pg_read_all_stats', 'USAGE')
FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = '{_EXTENSION}'
"""

_SUMS: Mapping[str, tuple[str, ...]] = {
    "exec_ms": ("total_exec_time",),
    "calls": ("calls",),
    "plans": ("plans",),
    "plan_ms": ("total_plan_time",),
    "rows": ("rows",),
    "hit": ("shared_blks_hit",),
    "read": ("shared_blks_read",),
    "temp": ("temp_blks_written",),
    "wal": ("wal_bytes",),
    "jit_ms": (
        "jit_generation_time",
        "jit_inlining_time",
        "jit_optimization_time",
        "jit_emission_time",
    ),
}
"""By sum, the columns that it is made of. An extension that was not updated with its server lacks
the later ones."""

_ASKS_ABOUT_ITSELF = (
    r"\mpg_(stat_|locks|class|settings|indexe?s?\M|database|backend_pid|prepared_xacts|roles)"
)
"""Statements of those who watch, ourselves included: a load has no business there."""

_OWN_ROLE = "(SELECT oid FROM pg_roles WHERE rolname = current_user)"
_CALLS, _EXECUTED, _PLANNED = (list(_SUMS).index(name) for name in ("calls", "exec_ms", "plan_ms"))
_BEFORE_A_TABLE = ("FROM", "JOIN", "INTO", "UPDATE")
_FIRST_WORD = re.compile(r"\A[A-Za-z]+")
_ONE_NUMBER = 2
"""The number, and no number: names without one do not matter."""

Sums = tuple[float, ...]


@dataclass(frozen=True)
class Counted:
    """All sums at one moment, by statement and user, or the reason why there are none."""

    sums: Mapping[tuple[str, str], Sums] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """By the server's number of the statement."""
    counts: Collection[str] = ()
    """The names in `_SUMS` that this server counts."""
    hides: bool = False
    """Whether others' statements are wanted, and this user may not see them."""
    why_not: Message | None = None


def read(connection: Connection, *, only_own: bool) -> Counted:
    """The sums of the connection's database; nothing that the server refuses is raised.

    `only_own`: those of the connection's user alone; else those of all that it may see.
    """
    try:
        found = rows_of(connection, _FIND)
        if not found:
            return Counted(why_not=_NOT_THERE)
        schema, track, planning, columns, sees_all = found[0]
        why_not = _why_not(str(track), columns)
        if why_not is not None:
            return Counted(why_not=why_not)
        counts = _counted_by(columns, has_planning=planning == "on")
        rows = rows_of(connection, _question(str(schema), columns, counts, only_own=only_own))
    except (pg8000.Error, OSError) as error:
        return Counted(why_not=say("pg_stat_statements: {why}", why=text_of(error)))
    sums = {(str(row[0]), str(row[1])): tuple(float(one or 0) for one in row[3:]) for row in rows}
    hides = not only_own and not sees_all
    return Counted(sums, {str(row[0]): str(row[2]) for row in rows}, counts, hides=hides)


def _why_not(track: str, columns: Collection[str]) -> Message | None:
    """Why nothing is counted, or no time of it: before its version 1.8 columns had other names."""
    if track == "none":
        return _OFF
    return None if set(_SUMS["exec_ms"]) <= set(columns) else _OLD


class Grown(NamedTuple):
    """What was counted in between: the statements with the longest times first, and the rest."""

    shown: tuple[CountedStatement, ...]
    rest: CountedStatement | None
    """The sum over the others, without a text; `None`: there are none."""


def grown(before: Counted, after: Counted) -> Grown | Message:
    """What was counted in between; or why nothing."""
    why_not = after.why_not or before.why_not
    if why_not is not None:
        return why_not
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * len(_SUMS))
    passed_over = False
    for key, now in after.sums.items():
        then = before.sums.get(key)
        if then is None and len(before.sums) >= _READ:
            passed_over = True  # it may have been there before, below the rows that were read
            continue
        growth = _growth(then, now)
        if growth[_CALLS]:
            total = totals[with_n(after.texts[key[0]])]
            total[:] = (old + new for old, new in zip(total, growth, strict=True))
    found = sorted(totals.items(), key=_time_of, reverse=True)
    if not found:
        return _TOO_MANY if passed_over else _HIDES if after.hides else _NONE_GREW
    shown = tuple(_statement(text, sums, after.counts) for text, sums in found[:_SHOWN])
    others = [sum(column) for column in zip(*(sums for _, sums in found[_SHOWN:]), strict=True)]
    return Grown(shown, _statement("", others, after.counts) if others else None)


def _time_of(counted: tuple[str, Sequence[float]]) -> float:
    _, sums = counted
    return sums[_EXECUTED] + sums[_PLANNED]


def with_n(statement: str) -> str:
    """The statement with a question mark for each value, and N for its tables' common number.

    A name counts as a table's behind FROM, JOIN, INTO or UPDATE. Of a statement that is cut off
    within a literal or a comment only its first word is left.
    """
    try:
        tokens = tokens_of(statement)
    except NotSql:
        return f"{''.join(_FIRST_WORD.findall(statement))} …".lstrip()
    named = {
        name.text
        for before, name in pairwise(tokens)
        if before.word in _BEFORE_A_TABLE and name.kind == "word"
    }
    bare = {name: name.rstrip("0123456789") for name in named}
    if len({name.removeprefix(bare[name]) for name in named} | {""}) != _ONE_NUMBER:
        bare = {}
    return "".join(_shown(tokens, bare)).strip()


def _shown(tokens: Iterable[Token], bare: Mapping[str, str]) -> Iterator[str]:
    gap = False
    for token in tokens:
        gap = gap or token.gap
        if token.text == "$":
            continue  # the number of a parameter follows
        text = f"{bare[token.text]}N" if token.text in bare else token.text
        yield f"{' ' if gap else ''}{'?' if token.kind in ('number', 'text') else text}"
        gap = False


def _counted_by(columns: Collection[str], *, has_planning: bool) -> list[str]:
    planned = ("plans", "plan_ms")
    return [
        name
        for name, parts in _SUMS.items()
        if set(parts) <= set(columns) and (has_planning or name not in planned)
    ]


def _question(
    schema: str, columns: Collection[str], counts: Collection[str], *, only_own: bool
) -> str:
    """Statements that functions execute count only with those who called them, where one knows."""
    sums = (
        f"sum({' + '.join(parts)})::float8" if name in counts else "0::float8"
        for name, parts in _SUMS.items()
    )
    only = " AND toplevel" if "toplevel" in columns else ""
    only += f" AND userid = {_OWN_ROLE}" if only_own else ""
    return (
        f"SELECT queryid::text, userid::text, min(left(query, {_TEXT_READ})), {', '.join(sums)}"
        f" FROM {quoted(schema)}.{_EXTENSION}"
        " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
        f" AND queryid IS NOT NULL{only} AND query !~ '{_ASKS_ABOUT_ITSELF}'"
        f" AND strpos(query, '{LIST_TABLE}') = 0"
        f" GROUP BY 1, 2 ORDER BY 4 DESC LIMIT {_READ}"
    )


def _growth(then: Sums | None, now: Sums) -> Sums:
    """What was reset in between (smaller than before) counts from zero."""
    if then is None or any(new < old for new, old in zip(now, then, strict=True)):
        return now
    return tuple(new - old for new, old in zip(now, then, strict=True))


def _statement(text: str, grown_by: Sequence[float], counts: Collection[str]) -> CountedStatement:
    sums = dict(zip(_SUMS, grown_by, strict=True))

    def seconds(name: str) -> float | None:
        return sums[name] / 1000 if name in counts else None

    return CountedStatement(
        statement=plain(text, _TEXT),
        calls=int(sums["calls"]),
        plans=int(sums["plans"]) if "plans" in counts else None,
        plan_s=seconds("plan_ms"),
        exec_s=sums["exec_ms"] / 1000,
        rows=int(sums["rows"]),
        pages_hit=int(sums["hit"]),
        pages_read=int(sums["read"]),
        temp_pages=int(sums["temp"]),
        wal_bytes=int(sums["wal"]),
        jit_s=seconds("jit_ms"),
    )
