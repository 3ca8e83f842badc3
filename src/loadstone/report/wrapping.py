"""Lines of a limited width in any language: Chinese has no spaces to break at."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from rich.cells import cell_len

WIDTH = 100
"""The width of text for programs that ask for no other."""

UNLIMITED = 100_000
"""A width at which nothing is wrapped, folded, cut off, or continued below itself."""

_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_PIECES = re.compile(rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+")
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s|min|h|[KMGT]i?B|B|tps|users?)(?!\w))")
"""The space between a number and its unit, where no line ends."""

_KEPT = "\ue000"
"""What stands for a space where no line ends: a private character, never printed."""

_NEVER_FIRST = "，。、；：？！）」』”’》％"
_NEVER_LAST = "（「『“‘《"


def wrapped(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    """The text in lines; `first` and `later` stand before the first and the other ones.

    A number stays with its unit.
    """
    lines = _wrapped(_UNIT.sub(_KEPT, text), width, first, later)
    return [line.replace(_KEPT, " ") for line in lines]


def _wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    if cell_len(text) == len(text):
        return textwrap.wrap(
            text,
            width,
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )
    lines, line = [], first
    for piece in _pieces(text):
        if cell_len(line + piece.rstrip()) > width and line not in (first, later):
            lines.append(line.rstrip())
            line = later
        line += piece.lstrip() if line in (first, later) else piece
    return [*lines, line.rstrip()]


def _pieces(text: str) -> Iterator[str]:
    """The unbreakable pieces: words or Chinese characters, with their punctuation."""
    kept = ""
    for piece in _PIECES.findall(text):
        joins = piece[0] in _NEVER_FIRST or (kept and kept[-1] in _NEVER_LAST)
        if kept and not joins:
            yield kept
            kept = ""
        kept += piece
    if kept:
        yield kept


def filled_to(text: str, width: int) -> str:
    """The text padded with spaces to this width in a terminal."""
    return text + " " * (width - cell_len(text))
