"""Statement counts from performance_schema's digests: implements `CountedStatements`. Only reads.

https://dev.mysql.com/doc/refman/8.4/en/performance-schema-statement-summary-tables.html,
https://mariadb.com/kb/en/performance-schema-events_statements_summary_by_digest-table/

MySQL from 8.0 on keeps one execution of each digest (QUERY_SAMPLE_TEXT), MariaDB none.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from loadstone.model.message import plain, say
from loadstone.model.target import Target
from loadstone.mysql import dialect as _dialect
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.own_statements import is_own as is_own_statement
from loadstone.mysql.own_statements import is_own_digest
from loadstone.mysql.schemas import tables_listed
from loadstone.mysql.sql_keywords import KEYWORDS
from loadstone.mysql.tokens import NotSql, Token, tokens_of
from loadstone.servers.connection import Connection
from loadstone.servers.dialect import Dialect
from loadstone.traffic.columns import read_columns
from loadstone.traffic.counted_statements import BOUNDS, IS_A_BOUND, Digest
from loadstone.traffic.entries import ReadStats, clauses, left_out
from loadstone.traffic.errors import TrafficRefused
from loadstone.traffic.kinds import kind_of
from loadstone.traffic.shapes import Sentence, frame_of, merged
from loadstone.traffic.shapes import sentence_of as taken_apart

__all__ = ["dialect", "is_own", "name", "read", "read_columns", "sentence_of", "tables_listed"]

name = say("performance_schema's digests")
dialect: Dialect = _dialect

_TABLE = "performance_schema.events_statements_summary_by_digest"
CUT_SHORT = say("statements whose digest was cut short (performance_schema_max_digest_length)")
NOT_KEPT = say("statements without a digest of their own (performance_schema_digests_size)")
WITHOUT_DIGEST = say(
    "executions of prepared statements, in all schemas: MariaDB has no digests of them, while"
    " from-slowlog and from-generallog see them"
)
_EXECUTE = "statement/com/Execute"


def read(
    connection: Connection, target: Target, over_s: float | None, stats: ReadStats
) -> list[Digest]:
    """The digests of the target's schema, counted since the table was emptied or during `over_s`.

    Raises:
        TrafficRefused: the server keeps no digests.
        TargetError: the server refused to answer.
    """
    _check_counting(connection, target)
    found = _read(connection, target, stats)
    executed = _without_digest(connection, target)
    if over_s is not None:
        before = {one.name: one.count for one in found}
        stats.left_out.clear()
        time.sleep(over_s)
        later = _read(connection, target, stats)
        executed = max(_without_digest(connection, target) - executed, 0)
        # If the table was emptied in between, the counts started from zero.
        differences = [(one, one.count - before.get(one.name, 0)) for one in later]
        found = [
            Digest(one.name, one.text, one.sample, count if count >= 0 else one.count)
            for one, count in differences
            if count
        ]
    if executed:
        stats.left_out[WITHOUT_DIGEST] += executed
    if not found:
        said = say(
            "{place} has counted no statement in schema {schema}",
            place=target.place,
            schema=target.database,
        )
        hint = say("name the schema after the host in --target")
        if executed:
            left = left_out(WITHOUT_DIGEST, executed)
            raise TrafficRefused(said, clauses([hint, left]))
        raise TrafficRefused(said, hint)
    return found


def is_own(digest: Digest, made: Collection[str]) -> bool:
    """Whether it is a statement of Loadstone itself; `made`: the tables that it made."""
    return is_own_statement(digest.sample or "") or is_own_digest(digest.text, made)


def _without_digest(connection: Connection, target: Target) -> int:
    """How often prepared statements without a digest were executed.

    MariaDB makes a digest when it parses a text, so an execution has none; MySQL uses the digest
    of the prepared statement.
    """
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT_STAR FROM"
            " performance_schema.events_statements_summary_global_by_event_name"
            " WHERE EVENT_NAME = %s AND VERSION() LIKE '%%MariaDB%%'",
            (_EXECUTE,),
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _check_counting(connection: Connection, target: Target) -> None:
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SELECT @@performance_schema")
        row = cursor.fetchone()
        if row is None or not int(row[0]):
            said = say(
                "{place} runs without performance_schema, so it counts no digests",
                place=target.place,
            )
            hint = say("set performance_schema=ON and restart it, or use from-slowlog")
            raise TrafficRefused(said, hint)
        cursor.execute(
            "SELECT ENABLED FROM performance_schema.setup_consumers"
            " WHERE NAME = 'statements_digest'"
        )
        row = cursor.fetchone()
    if row is None or row[0] != "YES":
        said = say(
            "{place} does not count digests: the consumer statements_digest is off",
            place=target.place,
        )
        hint = say("set ENABLED = 'YES' for it in performance_schema.setup_consumers")
        raise TrafficRefused(said, hint)


def _read(connection: Connection, target: Target, stats: ReadStats) -> list[Digest]:
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SHOW COLUMNS FROM {_TABLE} LIKE 'QUERY_SAMPLE_TEXT'")
        has_sample = cursor.fetchone() is not None
        longest = 0
        if has_sample:
            cursor.execute("SELECT @@performance_schema_max_sql_text_length")
            row = cursor.fetchone()
            longest = int(row[0]) if row else 0
        sample = "QUERY_SAMPLE_TEXT" if has_sample else "NULL"
        cursor.execute(
            f"SELECT DIGEST, DIGEST_TEXT, {sample}, COUNT_STAR FROM {_TABLE}"
            " WHERE SCHEMA_NAME = %s OR DIGEST IS NULL",
            (target.database,),
        )
        rows = cursor.fetchall()
    found = []
    for name, text, example, count in rows:
        if name is None or text is None:
            stats.left_out[NOT_KEPT] += int(count)
            continue
        is_whole = example and len(str(example).encode()) < longest
        found.append(Digest(str(name), str(text), str(example) if is_whole else None, int(count)))
    return found


def sentence_of(digest: Digest, stats: ReadStats) -> Sentence | None:
    """The statement of a digest; `None`, and counted as left out, where no template can have it."""
    try:
        tokens = _without_gaps(tokens_of(digest.text))
        kind = kind_of(tokens)
    except NotSql:
        stats.left_out[CUT_SHORT] += digest.count
        return None
    if kind in IS_A_BOUND:
        stats.noted[BOUNDS] += digest.count
        return None
    if kind != "data":
        stats.left_out[plain(kind)] += digest.count
        return None
    try:
        return taken_apart(digest.sample) if digest.sample else _whole(tokens)
    except NotSql:
        stats.left_out[CUT_SHORT] += digest.count
        return None


def _whole(tokens: Sequence[Token]) -> Sentence:
    """The statement of a digest's tokens.

    Raises:
        NotSql: the digest was cut short, so it ends with dots.
    """
    if tokens and tokens[-1].text == "...":
        raise NotSql("it was cut short")
    whole = merged(tokens)
    return frame_of(whole).fill(whole)


def _without_gaps(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without the blank that digests put before a function's parenthesis.

    https://dev.mysql.com/doc/refman/8.4/en/function-resolution.html
    """
    found: list[Token] = []
    for token in tokens:
        before = found[-1] if found else None
        is_call = (
            token.text == "("
            and before is not None
            and before.kind == "word"
            and before.text.upper() not in KEYWORDS
        )
        found.append(token._replace(gap=False) if is_call else token)
    return found
