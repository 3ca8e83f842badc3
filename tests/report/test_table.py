"""A table in a terminal that is too narrow for it: its numbers stay whole."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.report.table import Table, table_of
from loadstone.report.text import as_plain

HEADS = ("users", *(f"figure\n{number}" for number in range(1, 13)))
ROWS = [tuple(f"{7 * place:,}" for place in range(line, line + 13)) for line in (1, 1000, 9000)]


def shown(table: Table, width: int) -> list[str]:
    return as_plain(table, width).splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(width: int) -> None:
    lines = shown(table_of(HEADS, ROWS, text=0), width)
    assert max(map(len, lines)) <= width
    numbers = re.findall(r"[\d,]+", "\n".join(line for line in lines if "," in line))
    assert set(numbers) >= {cell for row in ROWS[1:] for cell in row}
    assert "…" not in "\n".join(lines)


def test_each_part_begins_with_the_first_column_and_parts_are_about_as_wide() -> None:
    lines = shown(table_of(HEADS, ROWS, text=0), 80)
    rules = [len(line) for line in lines if line.startswith("─")]
    assert len(rules) == 2
    assert max(rules) - min(rules) <= 10
    assert sum(line.split()[:1] == ["63,000"] for line in lines) == 2


def test_a_table_that_fits_is_one() -> None:
    lines = shown(table_of(HEADS, ROWS, text=0), 200)
    assert sum(line.startswith("─") for line in lines) == 1


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=15),
    st.integers(50, 150),
    st.integers(0, 3),
    st.integers(0, 8),
)
def test_every_column_is_shown_once(widths: list[int], width: int, gap: int, least: int) -> None:
    row = tuple(str(at % 10) * length for at, length in enumerate(widths))
    heads = [""] * len(widths)
    lines = shown(table_of(heads, [row], text=0, gap=gap, least=least), width)
    cells = [cell for line in lines if line.strip(" ─") for cell in line.split()]
    assert [cell for at, cell in enumerate(cells) if at == 0 or cell != row[0]] == [
        cell for at, cell in enumerate(row) if at == 0 or cell != row[0]
    ]
