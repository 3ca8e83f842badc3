"""Whether a server can have a template's tables: their names, and whether values fit their columns.

A server stops a load at a value that does not fit, or takes another one in its place. What can be
seen before is said with its line; types that are not known here are left to the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from loadstone.config.written import Fault
from loadstone.model.template import (
    ChoiceValue,
    ColumnValue,
    ConstantValue,
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
from loadstone.servers.guard import LIST_TABLE

_LONGEST_NAME = 64

_BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "INTEGER": 32, "BIGINT": 64}
_CHARACTERS = ("CHAR", "VARCHAR", "BINARY", "VARBINARY")
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_DIGITS_UNSAID = 10
"""Of DECIMAL, where it says none; CHAR is one character long."""

_TYPE = re.compile(
    r"\s*(?P<name>[A-Za-z]+)\s*(?:\(\s*(?P<size>\d+)\s*(?:,\s*(?P<places>\d+)\s*)?\))?(?P<more>.*)",
    re.DOTALL,
)


class _Type(NamedTuple):
    """What a column's type says."""

    name: str
    size: int | None
    places: int
    more: str


def check_names(tables: Mapping[str, Table]) -> Iterator[Fault]:
    """Each table has a name of its own, and one that a server takes; faults where not."""
    taken: dict[str, str] = {}
    for each, table in tables.items():
        path = ("table", each)
        for one in table.names:
            if one in taken:
                said = f"its table {one} is that of [table.{taken[one]}] too"
                yield path, said, "give it another name"
            if one == LIST_TABLE:
                said = f"Loadstone keeps its own list in a table {one}"
                yield path, said, "give it another name"
            taken[one] = each
        # Indexes are named after it, with their number.
        longest = max(map(len, table.names)) + len(f"_{len(table.indexes)}")
        if longest > _LONGEST_NAME:
            said = f"with its numbers the name has more than {_LONGEST_NAME} letters"
            yield path, said, "give it a shorter one"


def check_columns(table: Table) -> Iterator[Fault]:
    """Names that a server tells apart, and values that fit; faults where not."""
    known: set[str] = set()
    for one in table.columns:
        path = ("columns", one.name)
        if one.name.lower() in known:
            said = "there is such a column: servers take no notice of capitals"
            yield path, said, "give it another name"
        known.add(one.name.lower())
        if said_of_it := misfit(one.type, one.value, table.rows):
            yield path, said_of_it, "take another type, or other values"


def misfit(written: str, value: ColumnValue, rows: int) -> str | None:
    """What does not fit into a column of the type `written`; `None` where nothing is seen.

    `rows`: how many there are, as a sequence goes up to that.
    """
    found = _TYPE.match(written)
    if found is None:
        return None
    size, places = found["size"], found["places"]
    kind = _Type(
        found["name"].upper(), int(size) if size else None, int(places or 0), found["more"].upper()
    )
    if None in _scalars(value) and re.search(r"\bNOT\s+NULL\b", kind.more):
        return "NULL is among its values, and it is NOT NULL"
    check: Callable[[_Type, ColumnValue, int], str | None] | None = None
    if kind.name in _BITS:
        check = _of_integer
    elif kind.name in _CHARACTERS:
        check = _of_characters
    elif kind.name in _DECIMALS:
        check = _of_decimal
    return check(kind, value, rows) if check else None


def _of_integer(kind: _Type, value: ColumnValue, rows: int) -> str | None:
    if isinstance(value, TextValue):
        return f"{kind.name} takes numbers, and its values are letters and digits"
    limits = _limits(value, rows)
    if limits is None:
        return None
    bits = _BITS[kind.name]
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if "UNSIGNED" in kind.more or "ZEROFILL" in kind.more:
        least, most = 0, 2**bits - 1
    return _beyond(limits, (least, most), f"{kind.name} holds {least:,} to {most:,}")


def _of_decimal(kind: _Type, value: ColumnValue, rows: int) -> str | None:
    limits = _limits(value, rows)
    if limits is None:
        return None
    whole_digits = (kind.size or _DIGITS_UNSAID) - kind.places
    most = 10**whole_digits - 1
    least = 0 if "UNSIGNED" in kind.more else -most
    said = f"{kind.name} holds {whole_digits} digits before the point here"
    return _beyond(limits, (least, most), said)


def _of_characters(kind: _Type, value: ColumnValue, rows: int) -> str | None:
    lengths = [len(one) for one in _scalars(value) if isinstance(one, str)]
    if isinstance(value, TextValue):
        lengths = [value.most]
    elif isinstance(value, PatternValue):
        lengths = [len(value.pattern)]
    size = kind.size or 1
    if not lengths or max(lengths) <= size:
        return None
    return f"{kind.name} holds {size:,} characters here, and its values have up to {max(lengths):,}"


def _beyond(limits: tuple[int, int], held: tuple[int, int], said: str) -> str | None:
    if limits[0] >= held[0] and limits[1] <= held[1]:
        return None
    return f"{said}, and its values go from {limits[0]:,} to {limits[1]:,}"


def _limits(value: ColumnValue, rows: int) -> tuple[int, int] | None:
    """The least and the greatest whole part; `None` where it has no numbers."""
    match value:
        case IntegerValue(low=low, high=high) | HotValue(low=low, high=high):
            return low, high
        case DecimalValue(low=low, high=high, places=places):
            return int(low / 10**places), int(high / 10**places)
        case SequenceValue():
            return min(rows, 1), rows
        case UniqueValue():
            return 0, 2**63 - 1
    numbers = [int(one) for one in _scalars(value) if isinstance(one, int | float)]
    return (min(numbers), max(numbers)) if numbers else None


def _scalars(value: ColumnValue) -> tuple[Scalar, ...]:
    match value:
        case ChoiceValue(values=values):
            return values
        case ConstantValue(value=constant):
            return (constant,)
    return ()
