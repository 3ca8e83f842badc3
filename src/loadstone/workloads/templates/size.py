"""How large the tables of a template become: what no disk holds is not begun.

An estimate, within a third for tables of more than a few pages: what InnoDB adds to a row
(https://dev.mysql.com/doc/refman/8.4/en/innodb-row-format.html) and leaves free in a page.
"""

from __future__ import annotations

from loadstone.model.template import (
    ChoiceValue,
    ColumnValue,
    ConstantValue,
    PatternValue,
    Scalar,
    Table,
    TextValue,
)

_OF_A_ROW = 5 + 6 + 7
"""Its header, the transaction that changed it, and where its older version is."""

_OF_AN_ENTRY = 5
"""The header of an entry of an index."""

_OF_A_NUMBER = 8
_FILLED = 15 / 16


def table_bytes(table: Table) -> int:
    """All copies with their indexes."""
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
        case ChoiceValue(values=values):
            return sum(map(_width_of, values)) / len(values)
        case ConstantValue(value=constant):
            return _width_of(constant)
    return _OF_A_NUMBER


def _width_of(scalar: Scalar) -> int:
    return len(scalar.encode()) if isinstance(scalar, str) else _OF_A_NUMBER
