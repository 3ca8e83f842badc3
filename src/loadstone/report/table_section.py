"""A report as a sequence of sections, and what each form of it makes of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.report.text import WIDTH, as_plain

_MARKED = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_|<>[]#"})


@dataclass(frozen=True)
class Section:
    """A heading, lines, and a table below them."""

    title: str
    lines: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    words: frozenset[int] = frozenset({0})
    """The columns that hold words, by their place: they are set left, and may be folded."""
    apart: bool = False
    """Whether it stands apart from what is above it, where it has no title."""
    in_text: tuple[str, ...] | None = None
    """Lines for the terminal in place of the table, where that would be too wide."""
    warnings: tuple[str, ...] = ()
    """What must be read before anything else here."""


def as_text(sections: Sequence[Section], width: int = WIDTH) -> str:
    """For a terminal, without colour."""
    return as_plain(Group(*(part for section in sections for part in _renderable(section))), width)


def _renderable(section: Section) -> Iterator[RenderableType]:
    if section.title:
        yield Text()
        yield Text(_visible(section.title), style="bold")
    elif section.apart:
        yield Text()
    for line in (*section.warnings, *section.lines):
        yield Text(_hanging(_visible(line)))
    if section.in_text is not None:
        yield from (Text(_visible(line)) for line in section.in_text)
    elif section.rows:
        yield Padding(_table(section), (0, 0, 0, 0))


def _visible(text: str) -> str:
    """Folders come from anywhere: what would steer a terminal is shown as a mark."""
    return "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)


def _hanging(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _table(section: Section) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for number, head in enumerate(section.heads):
        if number in section.words:
            table.add_column(head, vertical="bottom", overflow="fold")
        else:
            table.add_column(head, justify="right", vertical="bottom", no_wrap=True)
    for row in section.rows:
        table.add_row(*(Text(_visible(cell)) for cell in row))
    return table


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """GitHub's flavour; whatever is in the texts stays text."""
    lines = [f"# {_escaped(title)}"]
    for section in sections:
        if section.title:
            lines += ["", f"## {_escaped(section.title)}"]
        for line in section.warnings:
            lines += ["", f"**{_escaped(line)}**"]
        for line in section.lines:
            lines += ["", _escaped(line)]
        if section.rows:
            lines += ["", *_markdown_table(section)]
    return "\n".join(lines) + "\n"


def _markdown_table(section: Section) -> Iterator[str]:
    yield _markdown_row(section.heads)
    kinds = ("---" if number in section.words else "---:" for number in range(len(section.heads)))
    yield f"| {' | '.join(kinds)} |"
    yield from (_markdown_row(row) for row in section.rows)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    return " ".join(text.translate(_MARKED).split())
