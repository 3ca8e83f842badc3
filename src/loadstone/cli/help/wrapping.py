"""Wraps lines of help: at spaces, and in Chinese between any two characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

import click

from loadstone.cli.language import in_words
from loadstone.model.message import say_in

_COLUMN_AT_MOST = 26
_GAP = 2
_NARROWEST = 10

_OPENING = "（《「【"
_CLOSING = "，。；：、？！）》」】"
_WIDE = "\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"
_ONE = rf"(?:[{_WIDE}]|[^\s{_WIDE}{_OPENING}{_CLOSING}]+)"
_UNIT = re.compile(
    rf"\s+|\[[^\]]{{1,16}}\]|[{_OPENING}]*{_ONE}[{_CLOSING}]*|[{_OPENING}{_CLOSING}]"
)
"""A unit that is not broken: a word, a short `[default: 30s]`, or one character of Chinese, with
the punctuation around it.
"""


def width_of(text: str) -> int:
    """The width in columns of a terminal."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of one paragraph."""
    line, space = "", ""
    for unit in _UNIT.findall(text.strip()):
        if unit.isspace():
            space = " "
            continue
        if line and width_of(line + space + unit) > width:
            yield line
            line = unit
        else:
            line += space + unit if line else unit
        space = ""
    if line:
        yield line


def lines_of(text: str, width: int) -> Iterator[str]:
    """The lines of several paragraphs, separated by empty lines."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
        if number:
            yield ""
        yield from wrapped(paragraph, width)


class Formatter(click.HelpFormatter):
    """Click's formatter, but lines are wrapped by their width in a terminal."""

    def write_heading(self, heading: str) -> None:
        """Write a heading: `Options:`."""
        self.write(in_words(say_in("joined", "{heading}:", heading=heading)) + "\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        indent = " " * self.current_indent
        for line in lines_of(text, self.width - self.current_indent):
            self.write(f"{indent}{line}".rstrip() + "\n")

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = _COLUMN_AT_MOST,
        col_spacing: int = _GAP,
    ) -> None:
        """Write names, each with its description next to it."""
        rows = list(rows)
        column = min(max(width_of(name) for name, _ in rows), col_max) + col_spacing
        indent, hanging = " " * self.current_indent, " " * (self.current_indent + column)
        for name, text in rows:
            lines = list(lines_of(text, max(self.width - len(hanging), _NARROWEST)))
            first = f"{indent}{name}"
            if lines and width_of(name) <= column - col_spacing:
                first += " " * (column - width_of(name)) + lines.pop(0)
            self.write(f"{first}\n")
            for line in lines:
                self.write(f"{hanging}{line}\n")
