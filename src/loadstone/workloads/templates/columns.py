"""Checks that a server can have a template's tables: their names, and values that fit.

A server stops a load at a value that does not fit, or stores another one. What can be found in
advance is reported with its line; unknown types are left to the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from loadstone.config.written import Fault
from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.model.template import (
    ChoiceValue,
    ColumnValue,
    ConstantValue,
    CycleValue,
    DecimalValue,
    HotValue,
    IntegerValue,
    PatternValue,
    Scalar,
    SequenceValue,
    Table,
    TextValue,
    UniqueValue,
)
from loadstone.servers.dialect import Dialect
from loadstone.servers.guard import LIST_TABLE

_CHARACTERS = ("CHAR", "VARCHAR", "BINARY", "VARBINARY")
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_ONE_CHARACTER = ("CHAR", "BINARY")
"""The types that hold one character if they state no number."""

_TYPE = re.compile(
    r"\s*(?P<name>[A-Za-z][A-Za-z0-9]*)\s*(?:\(\s*(?P<size>\d+)\s*(?:,\s*(?P<places>\d+)\s*)?\))?(?P<more>.*)",
    re.DOTALL,
)


class _Type(NamedTuple):
    """The properties of a column's type."""

    name: str
    size: int | None
    places: int
    more: str


def check_names(tables: Mapping[str, Table], dialect: Dialect) -> Iterator[Fault]:
    """Check that table names are unique and accepted by servers; yields the faults."""
    taken: dict[str, str] = {}
    for each, table in tables.items():
        path = ("table", each)
        for one in table.names:
            if one in taken:
                said = say(
                    "its table {table} is also that of [table.{other}]",
                    table=one,
                    other=taken[one],
                )
                yield path, said, say("give it another name")
            if one == LIST_TABLE:
                said = say("Loadstone keeps its own list in the table {table}", table=one)
                yield path, said, say("give it another name")
            taken[one] = each
        # Index names are the table's name with a number.
        longest = max(map(len, table.names)) + len(f"_{len(table.indexes)}")
        if longest > dialect.longest_name:
            most = dialect.longest_name
            said = say("with its numbers the name has more than {most} letters", most=most)
            yield path, said, say("give it a shorter name")


def check_columns(table: Table, dialect: Dialect) -> Iterator[Fault]:
    """Check that column names are distinct and values fit; yields the faults."""
    known: set[str] = set()
    for one in table.columns:
        path = ("columns", one.name)
        if one.name.lower() in known:
            said = say("there is such a column already: servers ignore case in column names")
            yield path, said, say("give it another name")
        known.add(one.name.lower())
        if said_of_it := misfit(one.type, one.value, table.rows, dialect):
            yield path, said_of_it, say("use another type, or other values")


def misfit(written: str, value: ColumnValue, rows: int, dialect: Dialect) -> Message | None:
    """The fault of a value for a column of the type `written`; `None` if none is found.

    `rows`: the number of rows, which is the last value of a sequence.
    """
    found = _TYPE.match(written)
    if found is None:
        return None
    size, places = found["size"], found["places"]
    kind = _Type(
        found["name"].upper(), int(size) if size else None, int(places or 0), found["more"].upper()
    )
    if None in _scalars(value) and re.search(r"\bNOT\s+NULL\b", kind.more):
        return say("NULL is among its values, and it is NOT NULL")
    if kind.name in dialect.integers:
        return _of_integer(kind, dialect.integers[kind.name], value, rows)
    if kind.name in _CHARACTERS:
        return _of_characters(kind, value)
    if kind.name in _DECIMALS:
        return _of_decimal(kind, dialect.digits_unsaid, value, rows)
    return None


def _of_integer(kind: _Type, bits: int, value: ColumnValue, rows: int) -> Message | None:
    if isinstance(value, TextValue):
        return say("{type} takes numbers, and its values are letters and digits", type=kind.name)
    limits = _limits(value, rows)
    if limits is None:
        return None
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if "UNSIGNED" in kind.more or "ZEROFILL" in kind.more:
        least, most = 0, 2**bits - 1
    if _is_within(limits, (least, most)):
        return None
    return say(
        "{type} holds {least} to {most}, and its values go from {lowest} to {highest}",
        type=kind.name,
        least=Count(least),
        most=Count(most),
        lowest=Count(limits[0]),
        highest=Count(limits[1]),
    )


def _of_decimal(
    kind: _Type, digits_unsaid: int | None, value: ColumnValue, rows: int
) -> Message | None:
    limits, digits = _limits(value, rows), kind.size or digits_unsaid
    if limits is None or digits is None:
        return None
    whole_digits = digits - kind.places
    most = 10**whole_digits - 1
    least = 0 if "UNSIGNED" in kind.more else -most
    if _is_within(limits, (least, most)):
        return None
    return say(
        "{type} holds {digits} digits before the point here, and its values go from {lowest} to"
        " {highest}",
        type=kind.name,
        digits=whole_digits,
        lowest=Count(limits[0]),
        highest=Count(limits[1]),
    )


def _of_characters(kind: _Type, value: ColumnValue) -> Message | None:
    lengths = [len(one) for one in _scalars(value) if isinstance(one, str)]
    if isinstance(value, TextValue):
        lengths = [value.most]
    elif isinstance(value, PatternValue):
        lengths = [len(value.pattern)]
    size = kind.size or (1 if kind.name in _ONE_CHARACTER else None)
    if size is None or not lengths or max(lengths) <= size:
        return None
    return say(
        "{type} holds {most} characters here, and its values have up to {longest}",
        type=kind.name,
        most=Count(size),
        longest=Count(max(lengths)),
    )


def _is_within(limits: tuple[int, int], held: tuple[int, int]) -> bool:
    return limits[0] >= held[0] and limits[1] <= held[1]


def _limits(value: ColumnValue, rows: int) -> tuple[int, int] | None:
    """The least and the greatest whole part of a value; `None` if it is not a number."""
    match value:
        case IntegerValue(low=low, high=high) | HotValue(low=low, high=high):
            return low, high
        case DecimalValue(low=low, high=high, places=places):
            return int(low / 10**places), int(high / 10**places)
        case SequenceValue():
            return min(rows, 1), rows
        case UniqueValue():
            return 0, 2**63 - 1
        case CycleValue():
            return value.limits(rows)
    numbers = [int(one) for one in _scalars(value) if isinstance(one, int | float)]
    return (min(numbers), max(numbers)) if numbers else None


def _scalars(value: ColumnValue) -> tuple[Scalar, ...]:
    match value:
        case ChoiceValue(values=values) | CycleValue(values=values):
            return values
        case ConstantValue(value=constant):
            return (constant,)
    return ()
