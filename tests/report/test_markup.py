"""Text that is put into elements stays text."""

from __future__ import annotations

import pytest

from loadstone.report.markup import Markup, element, table, text

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
    made = table(heads, rows)
    assert "<script" not in made
    assert "&lt;script&gt;" in made


def test_what_no_document_may_hold_is_shown_as_a_question() -> None:
    assert text("a\x00b\x1b[31m\ud800\x85c\n") == "a\ufffdb\ufffd[31m\ufffd\ufffdc\n"
