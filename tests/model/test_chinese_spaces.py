"""Spaces around the values of Chinese sentences."""

from __future__ import annotations

import pytest

from loadstone.model.chinese_spaces import spaced


@pytest.mark.parametrize(
    ("template", "value", "said"),
    [
        ("{it} 是否有影响", "general_log=OFF（原为 ON）", "general_log=OFF（原为 ON）是否有影响"),
        ("{it} 时 p99", "4 并发", "4 并发时 p99"),
        ("仍有{it}在等待", "21 至 30 个事件", "仍有 21 至 30 个事件在等待"),
        ("从{it}起", "2,500/秒", "从 2,500/秒起"),
        ("在 {it} 上", "db1", "在 db1 上"),
        ("  {it}：无", "服务器", "  服务器：无"),
        ("{it}  时间", "并发", "并发  时间"),
        ("{it} TPS", "并发", "并发 TPS"),
        ("取自{it}", "", "取自"),
    ],
)
def test_chinese_has_a_space_next_to_latin_and_none_next_to_itself(
    template: str, value: str, said: str
) -> None:
    assert spaced(template, {"it": value}).format(it=value) == said


def test_what_lies_between_two_values_fits_both() -> None:
    values = {"first": "2,500/s", "last": "4 并发"}
    assert spaced("{first}至 {last}", values) == "{first} 至 {last}"
