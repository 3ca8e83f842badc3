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
from loadstone.model.language import ENGLISH
from loadstone.model.numbers import asked, digits, number_of, pct
from loadstone.model.result import Result
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.plain_page import Part, page
from loadstone.report.sections.ceilings import not_evaluated
from loadstone.report.sentences import held_by, law_sentence, verdict
from loadstone.report.table import Table, table_of
from loadstone.report.text import as_plain, head


def as_text(result: Result, found: Sequence[StepCeilings]) -> str:
    """All steps, without colour."""
    return as_plain(Group(*_parts(result, found)))


def as_page(result: Result, found: Sequence[StepCeilings]) -> str:
    """The picture over the ladder, then each step's table, in one HTML file."""
    figure = ceilings_figure(found, ENGLISH)
    parts = [
        Part("What each resource would allow", figure.option, figure.about),
        *(Part(_title(step), table=_table(step)) for step in found),
    ]
    missing = [f"{name} not evaluated: {why}" for name, why in not_evaluated(found).items()]
    title = f"Ceilings of {result.run.name}"
    return page(title, [*head(result), *scaling(result), *missing], parts)


def scaling(result: Result) -> Iterator[str]:
    """What the Universal Scalability Law says of each ladder, or why it says nothing."""
    for ladder in ladders_of(result.steps):
        if len(ladder) > 1 and not any(level.rate for level in ladder):
            if said := verdict(ladder, ENGLISH):
                yield said
            yield law_sentence(of_ladder(ladder), ENGLISH)


def _parts(result: Result, found: Sequence[StepCeilings]) -> Iterator[RenderableType]:
    for line in head(result):
        yield Text(line)
    for line in scaling(result):
        yield Text(line)
    if not found:
        yield Text("no step has a rate")
    for step in found:
        yield Padding(Text(_title(step), style="bold"), (1, 0, 0, 0))
        yield replace(_table(step), gap=2, top=True)
    for resource, why in not_evaluated(found).items():
        yield Text(f"{resource} not evaluated: {why}", style="dim")


def _title(step: StepCeilings) -> str:
    due = f", {asked(step.rate)} due" if step.rate else ""
    again = f", repeat {step.repeat}" if step.repeat > 1 else ""
    variant = "" if step.variant == "default" else f"{step.variant}, "
    users = number_of(step.concurrency, "user")
    return f"{variant}{users}{due}{again}, {digits(step.tps)} events/s: {held_by(step, ENGLISH)}"


def _table(step: StepCeilings) -> Table:
    rows = (
        (one.resource, digits(one.events_per_s), pct(one.used), one.how or "")
        for one in step.ceilings
        if one.events_per_s is not None
    )
    return table_of(("resource", "events/s", "used", "from"), rows, text=(0, 3))
