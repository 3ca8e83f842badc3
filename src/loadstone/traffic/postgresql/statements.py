"""Statement counts from pg_stat_statements: implements `CountedStatements`. It only reads.

Source: https://www.postgresql.org/docs/current/pgstatstatements.html
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection

from loadstone.model.message import plain, say
from loadstone.model.target import Target
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.facts import quoted
from loadstone.servers.connection import Connection
from loadstone.servers.dialect import Dialect
from loadstone.servers.guard import LIST_TABLE
from loadstone.traffic.counted_statements import BOUNDS, IS_A_BOUND, Digest
from loadstone.traffic.entries import ReadStats
from loadstone.traffic.errors import TrafficRefused
from loadstone.traffic.grammar import NotSql
from loadstone.traffic.postgresql import grammar
from loadstone.traffic.postgresql.columns import read_columns
from loadstone.traffic.shapes import Sentence, frame_of, merged

__all__ = ["dialect", "is_own", "name", "read", "read_columns", "sentence_of", "tables_listed"]

name = plain("pg_stat_statements")
dialect: Dialect = grammar.dialect

_EXTENSION = "pg_stat_statements"
_OWN = re.compile(r"\ASELECT set_config\(.+\) WHERE pg_backend_pid\(\) = ")
"""What `Administration` sets for its session."""

_HIDDEN = say("statements of other users that this one may not see (GRANT pg_read_all_stats)")
_UNFIT = say("statements with texts or names that no template can have")


def read(
    connection: Connection, target: Target, over_s: float | None, stats: ReadStats
) -> list[Digest]:
    """The statements of the target's database, counted since the last reset or during `over_s`.

    Raises:
        TrafficRefused: the extension is not there, or has counted nothing.
        TargetError: the server refused to answer.
    """
    asks = _question(connection, target)
    found = _read(connection, target, asks, stats)
    if over_s is not None:
        before = {one.name: one.count for one in found}
        stats.left_out.clear()
        time.sleep(over_s)
        later = _read(connection, target, asks, stats)
        # After a reset in between, counts start from zero.
        grown = [(one, one.count - before.get(one.name, 0)) for one in later]
        found = [
            Digest(one.name, one.text, None, count if count > 0 else one.count)
            for one, count in grown
            if count
        ]
    if not found:
        raise TrafficRefused(
            say(
                "{place} has counted no statement in database {database}",
                place=target.place,
                database=target.database,
            ),
            say("name the database after the host in --target"),
        )
    return found


def _question(connection: Connection, target: Target) -> str:
    """What asks for the counts: statements that functions execute count only where none said so."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT n.nspname, EXISTS (SELECT FROM pg_attribute AS a JOIN pg_class AS c"
            " ON c.oid = a.attrelid WHERE c.relname = %s AND c.relnamespace = n.oid"
            " AND a.attname = 'toplevel')"
            " FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
            " WHERE e.extname = %s",
            (_EXTENSION, _EXTENSION),
        )
        row = cursor.fetchone()
    if row is None:
        raise TrafficRefused(
            say(
                "database {database} at {place} has no extension pg_stat_statements, so nobody"
                " counts its statements",
                database=target.database,
                place=target.place,
            ),
            say(
                "shared_preload_libraries = 'pg_stat_statements', a restart, and CREATE EXTENSION"
                " pg_stat_statements there; or use from-csvlog"
            ),
        )
    schema, has_levels = str(row[0]), bool(row[1])
    only = " AND toplevel" if has_levels else ""
    return (
        f"SELECT queryid::text, query, sum(calls)::bigint FROM {quoted(schema)}.{_EXTENSION}"
        " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
        f"{only} GROUP BY 1, 2"
    )


def _read(connection: Connection, target: Target, asks: str, stats: ReadStats) -> list[Digest]:
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(asks)
        rows = cursor.fetchall()
    found = []
    for number, text, count in rows:
        if number is None or text is None:
            stats.left_out[_HIDDEN] += int(count)
        else:
            found.append(Digest(str(number), str(text), None, int(count)))
    return found


def is_own(digest: Digest, made: Collection[str]) -> bool:
    """Whether it is one of Loadstone's connections for administration."""
    return LIST_TABLE in digest.text or _OWN.search(digest.text) is not None


def tables_listed(connection: Connection, target: Target, schema: str) -> Collection[str]:
    """None: that a statement is ours its text alone says."""
    return ()


def sentence_of(digest: Digest, stats: ReadStats) -> Sentence | None:
    """The statement; `None`, and counted as left out, where no template can have it."""
    try:
        kind = grammar.kind_of(digest.text)
        if kind in IS_A_BOUND:
            stats.noted[BOUNDS] += digest.count
            return None
        if kind != "data":
            stats.left_out[plain(kind)] += digest.count
            return None
        whole = merged(grammar.tokens_of(digest.text))
        return frame_of(whole).fill(whole)
    except NotSql:
        stats.left_out[_UNFIT] += digest.count
        return None
