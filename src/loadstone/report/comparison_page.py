"""A comparison as one HTML page, which needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadstone.analyse.differences import Differences
from loadstone.analyse.matrix import Matrix
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.report.comparing import sections, tables_of
from loadstone.report.figures.comparison import Option, comparison_figure
from loadstone.report.plain_page import Part, page
from loadstone.report.table import table_of
from loadstone.report.table_section import Section


def as_page(title: str, found: Matrix, differing: Differences, words: Language = ENGLISH) -> str:
    """What differs first, then each workload's rates as a picture and all tables."""
    made = sections(found, differing, words)
    lead, rest = made[0].lines, made[1:]
    named = [section for section in rest if section.title]
    notes = tuple(line for section in rest if not section.title for line in section.lines)
    pictures = _pictures(found, words)
    parts = [*(_part(one, pictures, words) for one in named), *_notes(notes, words)]
    return page(words(title), lead, parts, words)


def _part(section: Section, pictures: Mapping[str, Option], words: Language) -> Part:
    picture = pictures.get(section.title)
    about = words.sentences(*section.lines)
    if picture is not None:
        shows = words(say("Events a second of {title}, by users.", title=section.title))
        about = words.sentences(shows, about)
    return Part(section.title, picture, about, section.table, section.warnings)


def _pictures(found: Matrix, words: Language) -> dict[str, Option]:
    """The figures, by the title of the table whose rates they show."""
    sides = [side.name for side in found.sides]
    return {title: comparison_figure(cells, sides, words) for title, cells in tables_of(found)}


def _notes(lines: Sequence[str], words: Language) -> Iterator[Part]:
    if lines:
        yield Part(words(say("Notes")), table=table_of(("",), ((line,) for line in lines)))
