"""The ceilings: the picture of the first ladder, and the table of each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.model.asked_rate import asked
from loadstone.model.ceilings import StepCeilings
from loadstone.model.figure import Rate
from loadstone.model.language import Language
from loadstone.model.message import Joined, Message, say, user_count
from loadstone.model.numbers import digits, pct
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.markup import Markup, element, folded, list_of, paragraph
from loadstone.report.names import resource_name
from loadstone.report.page import Figures
from loadstone.report.sections.context import ReportContext
from loadstone.report.sentences import held_by
from loadstone.report.table import table_of


def ceilings_section(context: ReportContext) -> Markup:
    """What each resource would allow."""
    parts = ceiling_parts(context.run.ceilings, context.figures)
    return context.section("ceilings", context.words(say("The ceilings")), *parts)


def ceiling_parts(found: Sequence[StepCeilings], figures: Figures) -> Iterator[Markup]:
    """The picture, the tables, and what was not evaluated."""
    words = figures.words
    if not found:
        yield paragraph(words(say("no ceiling could be evaluated")))
        return
    figure = ceilings_figure(found, words)
    yield paragraph(figure.about, "about")
    yield figures.place(figure)
    yield element("div", *(_of_step(step, words) for step in found))
    missing = [
        words.pair(resource_name(resource), why) for resource, why in not_evaluated(found).items()
    ]
    if missing:
        yield folded(words(say("Not evaluated: {number}", number=len(missing))), list_of(missing))


def not_evaluated(found: Sequence[StepCeilings]) -> dict[str, Message]:
    """What was evaluated at no step, and why."""
    known = {one.resource for step in found for one in step.ceilings if one.why_not is None}
    return {
        one.resource: one.why_not
        for step in found
        for one in step.ceilings
        if one.why_not and one.resource not in known
    }


def _of_step(step: StepCeilings, words: Language) -> Markup:
    heads = (words(say("resource")), words(say("from")), words(say("events/s")), words(say("used")))
    rows = [
        (
            words(resource_name(one.resource)),
            words(one.how or ""),
            digits(one.events_per_s),
            pct(one.used),
        )
        for one in step.ceilings
        if one.events_per_s is not None
    ]
    return folded(step_title(step, words), table_of(heads, rows, text=2).html())


def step_title(step: StepCeilings, words: Language) -> str:
    """Which step it is, its rate, and what holds it back."""
    parts = [] if step.variant == "default" else [step.variant]
    parts.append(user_count(step.concurrency))
    if step.rate:
        parts.append(say("{rate} events/s due", rate=asked(step.rate)))
    if step.repeat > 1:
        parts.append(say("repeat {number}", number=step.repeat))
    parts.append(say("{rate} events/s", rate=Rate(step.tps)))
    return words.pair(words.value(Joined(parts)), held_by(step, words))
