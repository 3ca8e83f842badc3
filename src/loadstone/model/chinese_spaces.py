"""Spaces around the values of a Chinese sentence, which depend on what each value is.

Chinese has a space between a Chinese character and a Latin letter or digit (`用时 3 s 完成`), and
none between Chinese characters or next to their punctuation. A template cannot know which of them
its values begin and end with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_HOLE = re.compile(r"\{(\w+)\}")
_CHINESE = re.compile(r"[\u4e00-\u9fff（）“”，。：；、]")
_LATIN = re.compile(r"[A-Za-z0-9%)(]")
_CHARACTER = re.compile(r"[\u4e00-\u9fff]")


def spaced(template: str, values: Mapping[str, str]) -> str:
    """The template with the spaces that these values need."""
    parts = _HOLE.split(template)
    for at in range(0, len(parts), 2):
        before = values.get(parts[at - 1], "") if at else ""
        after = values.get(parts[at + 1], "") if at + 1 < len(parts) else ""
        parts[at] = _after(before[-1:], parts[at])
        parts[at] = _after(after[:1], parts[at][::-1])[::-1]
    return "".join(f"{{{part}}}" if at % 2 else part for at, part in enumerate(parts))


def _after(edge: str, text: str) -> str:
    """The text next to the edge of a value."""
    if _CHINESE.match(edge) and text[:1] == " " and _CHARACTER.match(text[1:]):
        return text[1:]
    if _LATIN.match(edge) and _CHARACTER.match(text):
        return f" {text}"
    return text
