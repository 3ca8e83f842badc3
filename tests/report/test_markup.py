"""Text that is put into elements stays text."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import pytest

from loadstone.report.markup import Markup, element, not_on_paper, text
from loadstone.report.table import Column, Table, table_of
from loadstone.report.text import as_plain

HOSTILE = '</td><script>alert("1")</script>&\'\u2028'


def test_text_is_escaped_and_markup_is_not() -> None:
    inner = element("b", "a < b")
    assert inner == "<b>a &lt; b</b>"
    assert element("p", inner, " & c") == "<p><b>a &lt; b</b> &amp; c</p>"
    assert isinstance(inner, Markup)


def test_attributes_are_quoted_and_named_as_html_names_them() -> None:
    made = element("a", "x", href='"><script>', class_="c", aria_label="l", hidden=True, id=None)
    assert made == '<a href="&quot;&gt;&lt;script&gt;" class="c" aria-label="l" hidden>x</a>'


@pytest.mark.parametrize("place", ["head", "cell"])
def test_a_hostile_cell_is_text(place: str) -> None:
    heads, rows = ([HOSTILE], [["1"]]) if place == "head" else (["h"], [[HOSTILE]])
    made = table_of(heads, rows).html()
    assert "<script" not in made
    assert "&lt;script&gt;" in made


def test_what_is_indented_stays_so_on_a_page() -> None:
    made = table_of(["of", "events"], [("New-Order", "9"), ("  rolled back", "1")]).html()
    assert "<td>\u00a0\u00a0\u00a0\u00a0rolled back</td>" in made


def test_long_lists_for_programs_are_not_on_paper() -> None:
    made = not_on_paper("All", element("pre", "{}"), "not in print")
    assert made == (
        '<details class="raw"><summary><span>All<span class="on-paper"> (not in print)</span>'
        "</span></summary><pre>{}</pre></details>"
    )
    rules = files("loadstone.report").joinpath("assets", "print.css").read_text()
    assert "details.raw > :not(summary) { display: none; }" in rules


def test_what_no_document_may_hold_is_shown_as_a_question() -> None:
    assert text("a\x00b\x1b[31m\ud800\x85c\n") == "a\ufffdb\ufffd[31m\ufffd\ufffdc\n"


def test_one_table_has_three_forms() -> None:
    made = table_of(("side", "tps\n/s"), [("a|b", "1,234"), ("[red]\x1b", "5")], least=5)
    assert as_plain(made).splitlines() == [
        "          tps",
        "side       /s",
        "─────────────",
        "a|b     1,234",
        "[red]\ufffd      5",
    ]
    assert list(made.markdown()) == [
        "| side | tps /s |",
        "| --- | ---: |",
        "| a\\|b | 1,234 |",
        "| \\[red\\]\x1b | 5 |",
    ]
    page = replace(made, styles={0: "bold"}).html()
    assert '<th scope="col" class="number">tps /s</th>' in page
    assert '<td><span class="peak">a|b</span></td><td class="number">1,234</td>' in page


def test_a_terminal_may_have_a_head_of_its_own_and_cuts_what_does_not_fold() -> None:
    where = Column("where", is_text=True, folds=False, most=4)
    made = Table((Column("p50, ms", narrow="p50\nms"), where), (("1", "abcdefgh"),))
    assert as_plain(made).splitlines() == ["p50", " ms  whe…", "─────────", "  1  abc…"]
    assert '<th scope="col" class="number">p50, ms</th>' in made.html()
    assert "abcdefgh" in made.html()
