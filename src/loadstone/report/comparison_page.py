"""A comparison as one HTML page, which needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.differences import Differences
from loadstone.analyse.matrix import Matrix, MatrixCell
from loadstone.report.comparing import sections
from loadstone.report.figures.comparison import comparison_figure
from loadstone.report.page import Part, page
from loadstone.report.sections import Section


def as_page(title: str, found: Matrix, differing: Differences) -> str:
    """What differs first, then the rates as pictures, then all tables."""
    made = sections(found, differing)
    lead, rest = made[0].lines, made[1:]
    named = [section for section in rest if section.title]
    notes = tuple(line for section in rest if not section.title for line in section.lines)
    first, *others = named
    parts = [*_parts(first), *_pictures(found), *(part for one in others for part in _parts(one))]
    return page(title, lead, [*parts, *_notes(notes)])


def _parts(section: Section) -> Iterator[Part]:
    about = " ".join(section.lines)
    heads = tuple(" ".join(head.split()) for head in section.heads)
    yield Part(section.title, None, about, heads, section.rows, section.words, section.warnings)


def _pictures(found: Matrix) -> Iterator[Part]:
    tables: dict[tuple[str, str], list[MatrixCell]] = {}
    for cell in found.cells:
        tables.setdefault((cell.place.cell[0], cell.place.context), []).append(cell)
    sides = [side.name for side in found.sides]
    for (workload, context), cells in tables.items():
        about = f"Events a second of {workload}{', ' + context if context else ''}, by users."
        yield Part(f"{workload} {context}".rstrip(), comparison_figure(cells, sides), about)


def _notes(lines: Sequence[str]) -> Iterator[Part]:
    if lines:
        yield Part("Notes", heads=("",), rows=tuple((line,) for line in lines))
