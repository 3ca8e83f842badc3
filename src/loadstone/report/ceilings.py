"""Ceilings as text: a table a step, the lowest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.analyse.ladder import ladders_of
from loadstone.analyse.usl import of_ladder
from loadstone.model.ceilings import StepCeilings
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, say
from loadstone.model.numbers import digits, pct
from loadstone.model.result import Result
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.lines import Line, lines_of
from loadstone.report.names import resource_name
from loadstone.report.plain_page import Part, page
from loadstone.report.predicted import predicted_rate
from loadstone.report.sections.ceilings import not_evaluated, step_title
from loadstone.report.sentences import law_sentence, verdict
from loadstone.report.table import Table, table_of
from loadstone.report.text import head


def as_renderable(
    result: Result, found: Sequence[StepCeilings], words: Language = ENGLISH
) -> RenderableType:
    """All steps."""
    return Group(*_parts(result, found, words))


def as_page(result: Result, found: Sequence[StepCeilings], words: Language = ENGLISH) -> str:
    """The picture over the ladder, then each step's table, in one HTML file."""
    figure = ceilings_figure(found, words)
    parts = [
        Part(words(say("What each resource would allow")), figure.option, figure.about),
        *(Part(_title(step, words), table=_table(step, words)) for step in found),
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
    yield from lines_of((*head(result, words), *scaling(result, words)))
    if not found:
        yield Line(words(say("no step has a rate")))
    for step in found:
        yield Text()
        yield Line(step_title(step, words), "bold")
        yield replace(_table(step, words), gap=2, top=True)
        yield from lines_of(predicted_under(step, words))
    yield from lines_of(_missing(found, words), "dim")


def predicted_under(step: StepCeilings, words: Language) -> Iterator[str]:
    """The rate under the assumed limits, where it is predicted."""
    if step.foretold:
        yield words(say("with these limits: {predicted}", predicted=predicted_rate(step.foretold)))


def _title(step: StepCeilings, words: Language) -> str:
    return words.value(Joined((step_title(step, words), *predicted_under(step, words)), "clauses"))


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
