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
from loadstone.servers.statements import (
    Access,
    Prepared,
    Refusal,
    RefusalKind,
    StatementRefused,
)

_KINDS: Mapping[RefusalKind, tuple[str, ...]] = {
    "grammar": ("42601",),
    "no_such_table": ("42P01", "3F000"),
    # An unknown column or function.
    "no_such_name": ("42703", "42883"),
    "no_such_type": ("42704",),
}
_WHOLE_TABLE = "Seq Scan"
_CHANGES_ROWS = "ModifyTable"
_TRIAL = "loadstone_trial"

_UNFIT_VALUE = "22"
"""The class of errors about values: what stands for one that is not read yet may not be one."""
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
    """Why the server refuses a column of a table; the table is gone before anybody sees it.

    Only by creating a table does it look at defaults and types that stand for others (SERIAL).
    """
    at = of(connection).current
    at.run("BEGIN")
    try:
        at.run(f"CREATE TEMPORARY TABLE loadstone_column ({quoted(name)} {kind}) ON COMMIT DROP")
    except pg8000.DatabaseError as error:
        return _refusal(error)
    finally:
        at.run("ROLLBACK")
    return None


def explained(
    connection: Connection, sql: str, prepared: Prepared | None = None
) -> tuple[Access, ...]:
    """How the server would access the rows.

    Raises:
        StatementRefused: the server refuses it.
    """
    try:
        plan = _plan(connection, f"EXPLAIN (FORMAT JSON) {sql}")
    except pg8000.DatabaseError as error:
        if prepared is None or not (code_of(error) or "").startswith(_UNFIT_VALUE):
            raise StatementRefused(_refusal(error)) from error
        plan = _general_plan(connection, prepared)
    return tuple(_accesses(plan))


def _general_plan(connection: Connection, prepared: Prepared) -> Mapping[str, Any]:
    """The plan for any values, as a server makes it after some executions of a statement."""
    at = of(connection).current
    values = f"({', '.join(['NULL'] * prepared.parameters)})" if prepared.parameters else ""
    at.run("BEGIN")
    try:
        at.run("SET LOCAL plan_cache_mode = force_generic_plan")
        at.run(f"PREPARE {_TRIAL} AS {prepared.sql}")
        try:
            return _plan(connection, f"EXPLAIN (FORMAT JSON) EXECUTE {_TRIAL}{values}")
        finally:
            # An error has ended the transaction, but not the prepared statement.
            at.run("ROLLBACK")
            at.run(f"DEALLOCATE {_TRIAL}")
    except pg8000.DatabaseError as error:
        raise StatementRefused(_refusal(error)) from error


def _plan(connection: Connection, sql: str) -> Mapping[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        (plans,) = cursor.fetchone()
    found: list[dict[str, Any]] = json.loads(plans) if isinstance(plans, str) else plans
    plan: Mapping[str, Any] = found[0]["Plan"]
    return plan


def _accesses(node: Mapping[str, Any]) -> Iterator[Access]:
    """The accesses of a node of a plan and of those below it.

    Source: https://www.postgresql.org/docs/current/using-explain.html
    """
    if "Relation Name" in node:
        how, table = str(node["Node Type"]), str(node["Relation Name"])
        if how == _CHANGES_ROWS:
            # Of an UPDATE or DELETE the rows are reached by a node below.
            if node.get("Operation") == "Insert":
                yield Access(table=table, how="ALL", key="", rows=None)
            yield from _below(node)
            return
        yield Access(
            table=table,
            how="ALL" if how == _WHOLE_TABLE else how,
            key=str(node.get("Index Name", "")),
            rows=int(node["Plan Rows"]) if "Plan Rows" in node else None,
        )
    yield from _below(node)


def _below(node: Mapping[str, Any]) -> Iterator[Access]:
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
