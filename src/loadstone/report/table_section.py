"""A report as a sequence of sections, and its renderers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.report.lines import Line
from loadstone.report.table import Table, markdown_text, visible
from loadstone.report.text import as_plain
from loadstone.report.wrapping import WIDTH


@dataclass(frozen=True)
class Section:
    """A heading, lines, and a table below them."""

    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    apart: bool = False
    """Whether it stands apart from what is above it, where it has no title."""
    in_text: tuple[RenderableType, ...] | None = None
    """What the terminal shows in place of the table, where that would be too wide."""
    warnings: tuple[str, ...] = ()
    """What must be read before anything else here."""


def as_text(sections: Sequence[Section], width: int = WIDTH) -> str:
    """The sections without colour."""
    return as_plain(as_renderable(sections), width)


def as_renderable(sections: Sequence[Section]) -> RenderableType:
    """The sections for a console."""
    return Group(*(part for section in sections for part in _parts(section)))


def _parts(section: Section) -> Iterator[RenderableType]:
    if section.title:
        yield Text()
        yield Line(visible(section.title), "bold")
    elif section.apart:
        yield Text()
    for line in (*section.warnings, *section.lines):
        yield Line(visible(line))
    if section.in_text is not None:
        yield from section.in_text
    elif section.table and section.table.rows:
        yield section.table


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """The sections in GitHub's flavour of Markdown; all texts are escaped."""
    lines = [f"# {markdown_text(title)}"]
    for section in sections:
        if section.title:
            lines += ["", f"## {markdown_text(section.title)}"]
        for line in section.warnings:
            lines += ["", f"**{markdown_text(line)}**"]
        for line in section.lines:
            lines += ["", markdown_text(line)]
        if section.table and section.table.rows:
            lines += ["", *section.table.markdown()]
    return "\n".join(lines) + "\n"
