"""Finds tables and schemas that statements name and a server lacks, before any of them is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from loadstone.families import family_of
from loadstone.model.effect import TableName
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Target
from loadstone.servers.connection import Connection

_MOST_NAMES = 10


class Example(NamedTuple):
    """A statement that stands for all others on the same tables."""

    schema: str
    """The session's schema; empty if there is none."""

    tables: tuple[TableName, ...]
    sql: str


@dataclass(frozen=True)
class Missing:
    """What a server lacks."""

    schemas: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    """Each with its schema."""

    def __bool__(self) -> bool:
        """Whether anything is missing."""
        return bool(self.schemas or self.tables)

    def named(self) -> Joined:
        """The first few names, and how many more there are."""
        every: list[Message | str] = [say("schema {schema}", schema=name) for name in self.schemas]
        every += self.tables
        return first_of(every)


def first_of(names: Sequence[Message | str]) -> Joined:
    """The first few names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return Joined(
        [*names[:_MOST_NAMES], say("{more} more", more=more)] if more > 0 else list(names)
    )


def examples_of(schema: str, target: Target, statements: Iterable[str]) -> list[Example]:
    """One statement for each combination of tables."""
    found: dict[tuple[TableName, ...], Example] = {}
    for sql in statements:
        tables = tuple(family_of(target).tables_in(sql))
        if tables:
            found.setdefault(tables, Example(schema, tables, sql))
    return list(found.values())


def find_missing(
    connection: Connection,
    target: Target,
    examples: Iterable[Example],
    made: Collection[str] = frozenset(),
) -> Missing:
    """What the statements name and the server lacks.

    A name counts only if the server itself refuses a statement for it, because words alone do not
    show what is a table. Nothing is executed.

    Args:
        connection: its current schema is changed.
        target: the server.
        examples: the statements.
        made: names of tables that the statements themselves make.

    Raises:
        TargetError: the server refused to list its tables.
    """
    known = _Known(connection, target)
    schemas: dict[str, None] = {}
    tables: dict[str, None] = {}
    for one in examples:
        absent = [
            table
            for table in one.tables
            if table.name not in made and not known.has(table.schema_name or one.schema, table.name)
        ]
        if not absent or not _refused(connection, target, one, known):
            continue
        for table in absent:
            schema = table.schema_name or one.schema
            if known.exists(schema):
                tables[f"{schema}.{table.name}"] = None
            else:
                schemas[schema] = None
    return Missing(tuple(sorted(schemas)), tuple(sorted(tables)))


class _Known:
    """The tables of the schemas that are named, each read once."""

    def __init__(self, connection: Connection, target: Target) -> None:
        self._connection = connection
        self._target = target
        self._tables: dict[str, frozenset[str] | None] = {}

    def exists(self, schema: str) -> bool:
        return self._read(schema) is not None

    def has(self, schema: str, table: str) -> bool:
        return table in (self._read(schema) or ())

    def _read(self, schema: str) -> frozenset[str] | None:
        if schema not in self._tables:
            state = family_of(self._target).read_schema(self._connection, self._target, schema)
            names = frozenset(table.name for table in state.tables)
            self._tables[schema] = names if state.exists else None
        return self._tables[schema]


def _refused(connection: Connection, target: Target, one: Example, known: _Known) -> bool:
    if not known.exists(one.schema):
        return all(table.schema_name is None for table in one.tables)
    family_of(target).use_schema(connection, one.schema)
    with family_of(target).statement_errors(target):
        refusal = family_of(target).refusal_of(connection, one.sql)
    return refusal is not None and refusal.kind == "no_such_table"
