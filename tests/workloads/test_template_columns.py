"""Values that fit their columns, and tables that fit the disk."""

from __future__ import annotations

import pytest

from loadstone.families import FAMILIES
from loadstone.model.template import (
    ChoiceValue,
    ColumnValue,
    ConstantValue,
    CycleValue,
    DecimalValue,
    HotValue,
    IntegerValue,
    PatternValue,
    SequenceValue,
    TextValue,
    UniqueValue,
)
from loadstone.workloads.templates.columns import misfit
from loadstone.workloads.templates.file import parse_template
from loadstone.workloads.templates.size import table_bytes

MYSQL, POSTGRESQL = (FAMILIES[each].dialect for each in ("mysql", "postgresql"))
FITS: tuple[tuple[str, ColumnValue], ...] = (
    ("TINYINT", IntegerValue(low=-128, high=127)),
    ("tinyint(3) unsigned NOT NULL", IntegerValue(low=0, high=255)),
    ("SMALLINT", SequenceValue()),
    ("BIGINT", UniqueValue()),
    ("INT NULL", ConstantValue(value=None)),
    ("INT", PatternValue(pattern="####")),
    ("DECIMAL(5,2)", DecimalValue(low=-99999, high=99999, places=2)),
    ("NUMERIC", IntegerValue(low=0, high=10**10 - 1)),
    ("VARCHAR(3) NOT NULL", TextValue(least=0, most=3)),
    ("CHAR", ConstantValue(value="é")),
    ("VARCHAR(4)", ChoiceValue(values=("a", "long", 12345))),
    ("TINYINT", CycleValue(values=(1, 2, 3, 28), step=0)),
    ("SMALLINT", CycleValue(values=(1, 2, 2, 3), step=3)),
    ("VARCHAR(4)", CycleValue(values=("a", None, "long"))),
    ("GEOMETRY", TextValue(least=9, most=9)),
    ("", TextValue(least=9, most=9)),
)


@pytest.mark.parametrize(("written", "value"), FITS)
def test_what_fits_is_let_through(written: str, value: ColumnValue) -> None:
    assert misfit(written, value, 1000, MYSQL) is None


MISFITS: tuple[tuple[str, ColumnValue, str], ...] = (
    ("TINYINT NOT NULL", IntegerValue(low=1, high=1000), "TINYINT holds -128 to 127"),
    ("INT UNSIGNED", IntegerValue(low=-1, high=5), "INT holds 0 to 4,294,967,295"),
    ("MEDIUMINT", HotValue(low=0, high=2**23, percent=1, hits=9), "go from 0 to 8,388,608"),
    ("TINYINT", SequenceValue(), "its values go from 1 to 1,000"),
    ("INT", UniqueValue(), "INT holds -2,147,483,648 to 2,147,483,647"),
    ("INT", TextValue(least=1, most=2), "INT takes numbers"),
    ("INT", DecimalValue(low=0, high=10**12, places=2), "go from 0 to 10,000,000,000"),
    ("BIGINT NOT NULL", ChoiceValue(values=(1, None)), "NULL is among its values"),
    ("TINYINT", CycleValue(values=(1, 2, 2, 3), step=3), "its values go from 1 to 750"),
    ("INT UNSIGNED", CycleValue(values=(5,), step=-1), "its values go from -994 to 5"),
    ("CHAR(3)", CycleValue(values=("a", "long")), "CHAR holds 3 characters here"),
    ("INT NOT NULL", CycleValue(values=(1, None)), "NULL is among its values"),
    ("DECIMAL(5,2)", DecimalValue(low=0, high=100000, places=2), "3 digits before the point"),
    ("CHAR(3)", PatternValue(pattern="####"), "CHAR holds 3 characters here"),
    ("varchar(4)", ChoiceValue(values=("long", "longer")), "its values have up to 6"),
    ("CHAR NOT NULL", ConstantValue(value="ab"), "CHAR holds 1 characters here"),
)


@pytest.mark.parametrize(("written", "value", "words"), MISFITS)
def test_what_does_not_fit_is_said(written: str, value: ColumnValue, words: str) -> None:
    said = misfit(written, value, 1000, MYSQL)
    assert said is not None and words in said


def test_a_billion_rows_are_known_to_be_large() -> None:
    (table,) = parse_template(
        """
[table.item]
rows = "1000m"
copies = 2
indexes = [["name"]]
[table.item.columns]
id = { type = "BIGINT NOT NULL", sequence = true }
name = { type = "VARCHAR(60) NOT NULL", text = [20, 60] }
state = { type = "CHAR(4)", choice = ["new", "sent"] }
[transaction.look]
statements = ["SELECT 1"]
""",
        "own.toml",
    ).tables
    # A row 18 + 8 + 40 + 3.5, its entry in the index 5 + 8 + 40, in pages that are 15/16 full.
    assert table_bytes(table) == int(2 * 1e9 * (69.5 + 53) / (15 / 16))
