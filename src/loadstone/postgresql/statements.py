"""Statements that are examined without being executed, and the tables that they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pg8000

from loadstone.model.effect import TableName
from loadstone.model.message import say
from loadstone.postgresql.databases import of
from loadstone.postgresql.errors import code_of, text_of
from loadstone.postgresql.facts import quoted
from loadstone.servers.connection import Connection
from loadstone.servers.statements import Access, Refusal, RefusalKind, StatementRefused

_KINDS: Mapping[RefusalKind, tuple[str, ...]] = {
    "grammar": ("42601",),
    "no_such_table": ("42P01", "3F000"),
    # An unknown column or function.
    "no_such_name": ("42703", "42883"),
    "no_such_type": ("42704",),
}
_WHOLE_TABLE = "Seq Scan"
_QUOTED = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = r'(?:"(?:[^"]|"")+"|[A-Za-z_][\w$]*)'
_TABLE = re.compile(
    rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:ONLY\s+)?(?:({_NAME})\s*\.\s*)?({_NAME})(?!\s*[\w.(]*\()",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\s*(?:CREATE|ALTER)\b", re.IGNORECASE)
_WORD = re.compile(_NAME)


def statements_in(sql: str) -> Sequence[str]:
    """The statements of a text with several: the server itself takes them in one text."""
    return [sql]


def refusal_of(connection: Connection, sql: str) -> Refusal | None:
    """Why the server refuses a statement; it is parsed, and not executed."""
    try:
        of(connection).current.parse(sql)
    except pg8000.DatabaseError as error:
        return _refusal(error)
    return None


def refusal_of_column(connection: Connection, name: str, kind: str) -> Refusal | None:
    """Why the server refuses a column of a table; nothing is created."""
    return refusal_of(connection, f"SELECT CAST(NULL AS {kind}) AS {quoted(name)}")


def explained(connection: Connection, sql: str) -> tuple[Access, ...]:
    """How the server would access the rows.

    Raises:
        StatementRefused: the server refuses it.
    """
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        except pg8000.DatabaseError as error:
            raise StatementRefused(_refusal(error)) from error
        (plans,) = cursor.fetchone()
    found = json.loads(plans) if isinstance(plans, str) else plans
    return tuple(_accesses(found[0]["Plan"]))


def _accesses(node: Mapping[str, Any]) -> Iterator[Access]:
    """The accesses of a node of a plan and of those below it.

    Source: https://www.postgresql.org/docs/current/using-explain.html
    """
    if "Relation Name" in node:
        how = str(node["Node Type"])
        yield Access(
            table=str(node["Relation Name"]),
            how="ALL" if how == _WHOLE_TABLE else how,
            key=str(node.get("Index Name", "")),
            rows=int(node["Plan Rows"]) if "Plan Rows" in node else None,
        )
    for below in node.get("Plans", ()):
        yield from _accesses(below)


def tables_in(sql: str) -> tuple[TableName, ...]:
    """The tables that a statement names, as far as its words show them."""
    found = _TABLE.findall(_QUOTED.sub(" ", sql))
    return tuple(
        dict.fromkeys(
            TableName(schema_name=_plain(schema) if schema else None, name=_plain(name))
            for schema, name in found
        )
    )


def names_made(sql: str) -> frozenset[str]:
    """All names in a statement that may make a table of that name; else none."""
    text = _QUOTED.sub(" ", sql)
    if not _MAKES.match(text):
        return frozenset()
    return frozenset(map(_plain, _WORD.findall(text)))


def _plain(name: str) -> str:
    """A name as the server knows it: without quotes it is in lower case."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _refusal(error: pg8000.DatabaseError) -> Refusal:
    code = code_of(error) or ""
    kinds = (kind for kind, codes in _KINDS.items() if code in codes)
    said = say("the server refuses it: {number} {reason}", number=code, reason=text_of(error))
    return Refusal(next(kinds, "other"), said)
