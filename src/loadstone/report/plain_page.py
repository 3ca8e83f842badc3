"""A page of parts one below the other: a figure, a table or a text each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.language import ENGLISH, Language
from loadstone.report.figures.figure import Figure, Option
from loadstone.report.markup import element, joined, paragraph
from loadstone.report.page import Figures, document
from loadstone.report.table import Table

_PART_PX = 416
"""The height of a part's figure, in pixels."""


@dataclass(frozen=True)
class Part:
    """A heading with a figure, a table or a text below it."""

    title: str
    figure: Option | None = None
    about: str = ""
    """What the figure shows; also the text for screen readers."""
    table: Table | None = None
    warnings: tuple[str, ...] = ()
    """What must be read before anything else here."""


def page(title: str, lead: Sequence[str], parts: Sequence[Part], words: Language = ENGLISH) -> str:
    """A document of parts one below the other; their texts are in its language already."""
    figures = Figures(words)
    body = [paragraph(line, "about") for line in lead]
    for part in parts:
        inside = [element("h2", part.title)]
        if part.warnings:
            told = (paragraph(line, "bad") for line in part.warnings)
            inside.append(element("div", *told, class_="answer", role="note"))
        if part.about:
            inside.append(paragraph(part.about, "about"))
        if part.figure is not None:
            inside.append(figures.place(Figure(part.title, part.figure, part.about, _PART_PX)))
        if part.table and part.table.rows:
            inside.append(part.table.html())
        body.append(element("section", *inside, class_="part"))
    return document(title, joined(body), figures)
