"""What PostgreSQL says of the columns that values belong to: types, and ends of indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loadstone.model.target import Target
from loadstone.postgresql.errors import statement_errors
from loadstone.postgresql.facts import quoted
from loadstone.servers.connection import Connection
from loadstone.traffic.columns import ColumnFacts, Facts

# A column leads an index if it is its first; it is a key by itself if that index has no other.
_COLUMNS = """
SELECT c.oid::regclass::text, c.relname, a.attname, t.typname,
  CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END,
  CASE WHEN t.typname = 'numeric' AND a.atttypmod > 4 THEN (a.atttypmod - 4) & 2047 END,
  EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum),
  EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum
    AND i.indisunique AND i.indnkeyatts = 1)
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
  JOIN pg_type AS t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND a.attnum > 0
  AND NOT a.attisdropped AND lower(c.relname) IN ({marks})
"""

_TYPES: Mapping[str, str] = {
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "numeric": "decimal",
    "float4": "float",
    "float8": "double",
    "date": "date",
    "timestamp": "datetime",
    "timestamptz": "datetime",
}
"""The words of `ColumnFacts`; all others are texts."""

_INTEGERS = ("smallint", "int", "bigint")


def read_columns(
    connection: Connection, target: Target, schema: str, tables: Iterable[str]
) -> Facts:
    """Facts about the columns of some tables; of the data only the ends of indexes are read.

    Raises:
        TargetError: the server refused.
    """
    names = sorted({table.lower() for table in tables})
    if not names:
        return {}
    asks = _COLUMNS.format(marks=", ".join(["%s"] * len(names)))
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(asks, tuple(names))
        rows = cursor.fetchall()
    found = {}
    for whole, table, column, kind, length, scale, leads, is_unique in rows:
        data_type = _TYPES.get(str(kind), "text")
        ends = None
        if leads and data_type in _INTEGERS:
            ends = _ends(connection, target, str(whole), str(column))
        found[str(table).lower(), str(column).lower()] = ColumnFacts(
            data_type=data_type,
            length=None if length is None else int(length),
            scale=None if scale is None else int(scale),
            ends=ends,
            is_unique=bool(is_unique),
        )
    return found


def _ends(
    connection: Connection, target: Target, table: str, column: str
) -> tuple[int, int] | None:
    """The least and greatest value of an indexed column; `None` where the table is empty."""
    name = quoted(column)
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"SELECT min({name}), max({name}) FROM {table}")
        row = cursor.fetchone()
    if row is None or row[0] is None or not -(2**63) <= int(row[0]) <= int(row[1]) < 2**63 - 1:
        return None
    return int(row[0]), int(row[1])
