"""Ceilings as text: a table a step, the lowest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from loadstone.analyse.ladder import ladders_of
from loadstone.analyse.usl import of_ladder
from loadstone.model.ceilings import StepCeilings
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.model.numbers import digits, pct
from loadstone.model.result import Result
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.names import resource_name
from loadstone.report.plain_page import Part, page
from loadstone.report.sections.ceilings import not_evaluated, step_title
from loadstone.report.sentences import law_sentence, verdict
from loadstone.report.table import Table, table_of
from loadstone.report.text import as_plain, head


def as_text(result: Result, found: Sequence[StepCeilings], words: Language = ENGLISH) -> str:
    """All steps, without colour."""
    return as_plain(Group(*_parts(result, found, words)))


def as_page(result: Result, found: Sequence[StepCeilings], words: Language = ENGLISH) -> str:
    """The picture over the ladder, then each step's table, in one HTML file."""
    figure = ceilings_figure(found, words)
    parts = [
        Part(words(say("What each resource would allow")), figure.option, figure.about),
        *(Part(step_title(step, words), table=_table(step, words)) for step in found),
    ]
    title = words(say("Ceilings of {run}", run=result.run.name))
    lead = [*head(result, words), *scaling(result, words), *_missing(found, words)]
    return page(title, lead, parts, words)


def scaling(result: Result, words: Language = ENGLISH) -> Iterator[str]:
    """What the Universal Scalability Law says of each ladder, or why it says nothing."""
    for ladder in ladders_of(result.steps):
        if len(ladder) > 1 and not any(level.rate for level in ladder):
            if said := verdict(ladder, words):
                yield said
            yield law_sentence(of_ladder(ladder), words)


def _parts(
    result: Result, found: Sequence[StepCeilings], words: Language
) -> Iterator[RenderableType]:
    for line in head(result, words):
        yield Text(line)
    for line in scaling(result, words):
        yield Text(line)
    if not found:
        yield Text(words(say("no step has a rate")))
    for step in found:
        yield Padding(Text(step_title(step, words), style="bold"), (1, 0, 0, 0))
        yield replace(_table(step, words), gap=2, top=True)
    for line in _missing(found, words):
        yield Text(line, style="dim")


def _missing(found: Sequence[StepCeilings], words: Language) -> Iterator[str]:
    for resource, why in not_evaluated(found).items():
        yield words(say("{name} not evaluated: {why}", name=resource_name(resource), why=why))


def _table(step: StepCeilings, words: Language) -> Table:
    rows = (
        (
            words(resource_name(one.resource)),
            digits(one.events_per_s),
            pct(one.used),
            words(one.how or ""),
        )
        for one in step.ceilings
        if one.events_per_s is not None
    )
    heads = (say("resource"), say("events/s"), say("used"), say("from"))
    return table_of([words(head) for head in heads], rows, text=(0, 3))
