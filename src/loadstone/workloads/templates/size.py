"""Estimates the size of a template's tables, so that a load that no disk holds is not started.

The estimate is within a third for tables of more than a few pages. It counts what InnoDB adds to a
row (https://dev.mysql.com/doc/refman/8.4/en/innodb-row-format.html) and leaves free in a page.
"""

from __future__ import annotations

from loadstone.model.template import (
    ChoiceValue,
    ColumnValue,
    ConstantValue,
    CycleValue,
    PatternValue,
    Scalar,
    Table,
    TextValue,
)

_OF_A_ROW = 5 + 6 + 7
"""Bytes for a row's header, the transaction that changed it, and the place of its older version."""

_OF_AN_ENTRY = 5
"""Bytes for the header of an index entry."""

_OF_A_NUMBER = 8
_FILLED = 15 / 16


def table_bytes(table: Table) -> int:
    """Bytes of all copies of a table, with their indexes."""
    widths = {column.name: _width(column.value) for column in table.columns}
    key = sum(widths.get(each, 0) for each in table.primary_key)
    entries = [
        _OF_AN_ENTRY + key + sum(widths.get(each, 0) for each in index) for index in table.indexes
    ]
    row = _OF_A_ROW + sum(widths.values()) + sum(entries)
    return int(table.rows * len(table.names) * row / _FILLED)


def _width(value: ColumnValue) -> float:
    """Bytes of a value, on average."""
    match value:
        case TextValue(least=least, most=most):
            return (least + most) / 2
        case PatternValue(pattern=pattern):
            return len(pattern.encode())
        case ChoiceValue(values=values) | CycleValue(values=values):
            return sum(map(_width_of, values)) / len(values)
        case ConstantValue(value=constant):
            return _width_of(constant)
    return _OF_A_NUMBER


def _width_of(scalar: Scalar) -> int:
    return len(scalar.encode()) if isinstance(scalar, str) else _OF_A_NUMBER
