"""Sentences for a console, which wraps them at its own width and indents what continues them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from loadstone.report.wrapping import wrapped

_START = re.compile(r"( *)(\S+ {2,})?")
"""The indent of a line and its label, such as `note  `, which two spaces or more separate."""

_HANGING = 2


@dataclass(frozen=True)
class Line:
    """A line of text; where a console is too narrow, it continues below its text, indented."""

    text: str
    style: str = ""
    label_style: str = ""
    """The style of its label, the word that two spaces or more separate from the rest."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines, none of which the console breaks again."""
        start = _START.match(self.text)
        assert start, "it matches any text"
        indent, label = start[1], start[2] or ""
        hanging = cell_len(indent + label) if label else len(indent) + _HANGING
        rest = self.text[start.end() :]
        lines = wrapped(rest, options.max_width, indent + label, " " * hanging)
        for number, line in enumerate(lines or [""]):
            shown = unbroken(line, self.style)
            if label and not number and self.label_style:
                shown.stylize(self.label_style, len(indent), len(indent + label))
            yield shown


def unbroken(text: str, style: str = "") -> Text:
    """Text that no console wraps or cuts off, however narrow it is."""
    return Text(text, style, no_wrap=True, overflow="ignore")


def lines_of(texts: Iterable[str], style: str = "") -> Iterator[Line]:
    """A `Line` for each text."""
    return (Line(text, style) for text in texts)


def spaced(part: RenderableType, *, above: int = 0, below: int = 1) -> Group:
    """The part with empty lines around it."""
    return Group(*[Text()] * above, part, *[Text()] * below)
