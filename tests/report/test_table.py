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


def test_each_part_repeats_the_columns_that_tell_the_rows_apart() -> None:
    heads = ["users", "side", *(f"figure {number}" for number in range(9))]
    rows = [(users, side, *["1,000"] * 9) for users in ("1", "4") for side in ("full", "relaxed")]
    lines = shown(table_of(heads, rows, text={1}), 80)
    assert sum(line.startswith("─") for line in lines) == 2
    assert sum(line.split()[:2] == ["4", "relaxed"] for line in lines) == 2


def test_a_head_is_hyphenated_only_where_that_saves_a_table() -> None:
    table = table_of(["recon-\nnects"] * 5, [("1",) * 5], text=0)
    assert "reconnects" in shown(table, 80)[0] and "recon-" not in "".join(shown(table, 80))
    assert shown(table, 40)[0].split() == ["recon-"] * 5
    assert '<th scope="col" class="number">reconnects</th>' in table.html()
    assert "reconnects" in next(table.markdown())


def test_numbers_move_together_if_that_saves_a_table() -> None:
    rows = [("1,000,000",) * 8]
    whole, closer = (shown(table_of(["n"] * 8, rows, text=0), width) for width in (86, 80))
    assert whole[-1] == "  ".join(rows[0])
    assert closer[-1] == " ".join(rows[0])
    assert len(closer) == len(whole) == 3


def test_no_word_is_broken_where_the_texts_of_a_table_fold() -> None:
    rows = [("pool=off,durability=relaxed", "oltp_read_write, 4 users", "data restored first")]
    lines = shown(table_of(["variant", "load", ""], rows, text=3), 60)
    assert max(map(len, lines)) <= 60
    assert {"oltp_read_write,", "restored"} <= {*" ".join(lines).split()}


def test_cells_next_to_a_folded_one_are_on_its_first_line() -> None:
    rows = [("mysql-5.7", "not here: tools/get-server mysql-5.7 (touches no system folder)", "1")]
    lines = shown(table_of(("server", "program", "number"), rows, text=2), 40)
    first = next(line for line in lines if "not here" in line)
    assert first.startswith("mysql-5.7")
    assert first.rstrip().endswith(" 1")
    assert len(lines) > 3, "it folds"


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


def test_a_page_may_break_a_long_list_after_its_commas_and_no_other_cell() -> None:
    long, short = "a_switch_of_the_server=on,b=off", "a=on,b=off"
    html = table_of(("what", "value"), [("x", long), ("y", short)], text=2).html()
    assert "<td>a_switch_of_the_server=on,<wbr>b=off</td>" in html
    assert "<td>a=on,b=off</td>" in html
