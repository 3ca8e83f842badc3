"""What a server reports about the columns that values belong to: types, and ends of indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.model.target import Target
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.facts import quoted
from loadstone.servers.connection import Connection
from loadstone.traffic.kinds import is_secret_column
from loadstone.traffic.shapes import Hole
from loadstone.traffic.value_model import Constant, Drawn, Estimate, estimate
from loadstone.traffic.value_sketches import Sketch

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_DECIMALS = ("decimal", "float", "double")
_MOST_TEXT = 100
"""The length to assume for a text, in characters, where only the column's length is known."""

_MOMENTS = {"date": "date", "datetime": "datetime", "timestamp": "datetime"}
_RECENT_DAYS = ["2020-01-01", "2026-12-31"]
_ASSUMED = (1, 1_000)


@dataclass(frozen=True)
class ColumnFacts:
    """A column as information_schema has it."""

    data_type: str
    length: int | None
    scale: int | None
    ends: tuple[int, int] | None
    """The least and the greatest value of a whole-number column that leads an index."""

    is_unique: bool
    """Whether the column is a unique key by itself."""


Facts = Mapping[tuple[str, str], ColumnFacts]
"""Facts by table and column, both in lower case."""


def read_columns(
    connection: Connection, target: Target, schema: str, tables: Iterable[str]
) -> dict[tuple[str, str], ColumnFacts]:
    """Facts about the columns of some tables; of the data only the ends of indexes are read.

    Raises:
        TargetError: the server refused.
    """
    names = sorted(set(tables))
    if not names:
        return {}
    marks = ", ".join(["%s"] * len(names))
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT TABLE_NAME, COLUMN_NAME, COUNT(*), MIN(NON_UNIQUE) FROM"
            " information_schema.STATISTICS s WHERE TABLE_SCHEMA = %s AND SEQ_IN_INDEX = 1"
            f" AND TABLE_NAME IN ({marks}) AND (NON_UNIQUE = 1 OR NOT EXISTS (SELECT 1 FROM"
            " information_schema.STATISTICS o WHERE o.TABLE_SCHEMA = s.TABLE_SCHEMA AND"
            " o.TABLE_NAME = s.TABLE_NAME AND o.INDEX_NAME = s.INDEX_NAME AND o.SEQ_IN_INDEX = 2))"
            " GROUP BY TABLE_NAME, COLUMN_NAME",
            (schema, *names),
        )
        leading = {(str(row[0]), str(row[1])): not row[3] for row in cursor.fetchall()}
        cursor.execute(
            "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_SCALE"
            f" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME IN ({marks})",
            (schema, *names),
        )
        rows = cursor.fetchall()
    found = {}
    for table, column, kind, length, scale in rows:
        key = (str(table), str(column))
        data_type = str(kind).lower()
        ends = None
        if key in leading and data_type in _INTEGERS:
            ends = _ends(connection, target, schema, key)
        found[key[0].lower(), key[1].lower()] = ColumnFacts(
            data_type=data_type,
            length=None if length is None else int(length),
            scale=None if scale is None else int(scale),
            ends=ends,
            is_unique=leading.get(key, False),
        )
    return found


def _ends(
    connection: Connection, target: Target, schema: str, key: tuple[str, str]
) -> tuple[int, int] | None:
    """The least and greatest value of an indexed column; `None` where the table is empty."""
    table, column = key
    name = quoted(column)
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SELECT MIN({name}), MAX({name}) FROM {quoted(schema)}.{quoted(table)}")
        row = cursor.fetchone()
    if row is None or row[0] is None or not -(2**63) <= int(row[0]) <= int(row[1]) < 2**63 - 1:
        return None
    return int(row[0]), int(row[1])


class ByColumn:
    """An estimator for places whose values are known only from a sample and from the columns."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def __call__(self, sketch: Sketch, hole: Hole, inserts: bool) -> Estimate:
        """Estimate what to draw in a place."""
        sample = sketch.first if sketch.first and sketch.first.kind != "unknown" else None
        if hole.function in ("+", "-", "*", "/", "%"):
            return Constant(sample.written if sample else "1")
        if hole.function:
            return Constant(sample.written) if sample else estimate(sketch, hole, inserts=inserts)
        key = ((hole.table or "").lower(), (hole.column or "").lower())
        facts = self._facts.get(key)
        if facts is None or is_secret_column(hole.column):
            return _by_sample(sketch, hole, inserts)
        return _of_column(facts, hole, inserts=inserts)


def _by_sample(sketch: Sketch, hole: Hole, inserts: bool) -> Estimate:
    found = estimate(sketch, hole, inserts=inserts)
    if isinstance(found, Drawn):
        return found
    # The single value of one execution shows only its type.
    if sketch.numbers.count:
        low, high = _ASSUMED
        return Drawn({"integer": [low, high]}, _assumed(low, high))
    if sketch.texts:
        size = min(max(sketch.texts.longest, 1), _MOST_TEXT)
        return Drawn({"text": [size, size]}, _LETTERS)
    return found


_LETTERS = say("its values; the template draws letters and digits")


def _assumed(low: int, high: int) -> Message:
    return say("its values; the template draws {low} to {high}", low=Count(low), high=Count(high))


def _of_column(facts: ColumnFacts, hole: Hole, *, inserts: bool) -> Drawn:
    name = f"{hole.table}.{hole.column}"
    if facts.ends and inserts and facts.is_unique:
        said = say("the order of new keys; the template counts up")
        return Drawn({"sequence": facts.ends[1] + 1}, said)
    if facts.ends:
        low, high = facts.ends
        said = say(
            "how its values were spread; the template draws evenly from {low} to {high}, the range"
            " of {column}",
            low=Count(low),
            high=Count(high),
            column=name,
        )
        return Drawn({"integer": [low, high]}, said)
    if facts.data_type in _INTEGERS:
        low, high = _ASSUMED if facts.data_type != "tinyint" else (0, 1)
        return Drawn({"integer": [low, high]}, _assumed(low, high))
    if facts.data_type in _DECIMALS:
        places = min(facts.scale or 2, 4)
        ends = [f"{end:.{places}f}" for end in (0, 100)]
        return Drawn({"decimal": ends}, _assumed(0, 100))
    if facts.data_type in _MOMENTS:
        key = _MOMENTS[facts.data_type]
        days = _RECENT_DAYS if key == "date" else [f"{day} 00:00:00" for day in _RECENT_DAYS]
        return Drawn({key: days}, say("which days; the template draws from a few years"))
    size = max(min(facts.length or 10, _MOST_TEXT), 1)
    return Drawn({"text": [size, size]}, _LETTERS)
