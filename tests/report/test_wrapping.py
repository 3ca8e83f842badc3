"""Long lines for a terminal, with and without spaces to break at."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from loadstone.report.wrapping import filled_to, wrapped

CHINESE = (
    "设为 0 时服务器崩溃会丢失最多一秒的提交，只能与持久性相同的服务器比较"
    "（innodb_flush_log_at_trx_commit=2）；断电时还会丢失 binlog。"
)


def test_english_breaks_at_spaces_and_keeps_long_words() -> None:
    assert wrapped("one two three", 8, "a  ", "   ") == ["a  one", "   two", "   three"]
    assert wrapped("a-long-word-stays", 6) == ["a-long-word-stays"]


@pytest.mark.parametrize("width", [20, 40, 100])
def test_chinese_breaks_anywhere_but_before_punctuation(width: int) -> None:
    lines = wrapped(CHINESE, width, "", "  ")
    # The setting with its brackets is one word, and wider than the narrowest lines.
    fitting = [line for line in lines if "innodb_" not in line]
    assert len(lines) > 1 and max(map(cell_len, fitting)) <= width
    assert not [line for line in lines if line.strip()[0] in "，；）。"]
    assert all(line.startswith("  ") for line in lines[1:])
    assert "".join("".join(lines).split()) == "".join(CHINESE.split())


def test_a_head_is_filled_by_what_a_terminal_shows() -> None:
    assert filled_to("note", 8) == "note    "
    assert cell_len(filled_to("提示", 8)) == 8
