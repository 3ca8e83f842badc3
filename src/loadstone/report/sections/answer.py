"""The answer: two sentences for each ladder, and the figures that readers want first."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.comparison import Comparison
from loadstone.analyse.ladder import Level, shape
from loadstone.analyse.search import found_level
from loadstone.model.message import Joined, say, user_count
from loadstone.model.numbers import digits, rate
from loadstone.model.search import SearchOutcome
from loadstone.report.experiment import variants_of
from loadstone.report.markup import Markup, element, folded, joined, paragraph
from loadstone.report.names import NOT_FINISHED, VERDICT_WORDS, cell_count, variant_count
from loadstone.report.notes import drill_notes
from loadstone.report.sections.context import ReportContext, localized
from loadstone.report.sentences import (
    answer,
    doubts_of,
    had_outage,
    search_sentences,
    watched_sentences,
)

_FEW = 4
"""This many ladders are answered at once; the others can be unfolded."""


def answer_section(context: ReportContext) -> Markup:
    """The peak of each ladder, what limits it, and how certain that is."""
    words = context.words
    found, search = context.run.comparison, context.result.run.search
    inside: list[Markup] = []
    if search is not None:
        inside += _of_search(context, search)
    if found is not None:
        inside.append(_box(_of_experiment(found, context)))
    # In an experiment the matrix comes next; the answers of each variant's ladder can wait.
    shown = _FEW if found is None else 0
    ladders = context.ladders if search is None else []
    told = [_of_ladder(context, ladder) for ladder in ladders]
    inside += told[:shown]
    if told[shown:]:
        inside.append(folded(words(say("{number} more", number=len(told[shown:]))), *told[shown:]))
    if not context.ladders:
        inside.append(_box(_watched(context)))
    if context.result.run.state != "finished":
        inside.append(paragraph(words(NOT_FINISHED[context.result.run.state]), "bad"))
    if aborted := context.result.run.aborted:
        inside.append(localized(aborted.said, words, "p", "bad"))
    return context.section("answer", words(say("The answer")), *inside)


def _of_search(context: ReportContext, search: SearchOutcome) -> Iterator[Markup]:
    """Its answer, and the figures there; the levels that it tried on the way are no answers."""
    words, steps = context.words, context.result.steps
    doubts = map(words, doubts_of(context.run.diagnoses))
    yield _box([*search_sentences(search, steps, words), *doubts])
    for diagnosis in context.run.diagnoses:
        yield localized(diagnosis.answer, words, "p", "about")
    if level := found_level(search, steps):
        yield _tiles(context, level)


def _of_ladder(context: ReportContext, ladder: list[Level]) -> Markup:
    found = shape(ladder)
    level = found.peak if found else ladder[0]
    diagnosis = context.diagnosis(ladder)
    lowest = context.ceilings(context.middle(level))
    drilled = (
        line for level in ladder for line in map(context.words, drill_notes(context.middle(level)))
    )
    said = [_sentence(line, context) for line in drilled]
    parts = [_box([*said, *answer(ladder, diagnosis, lowest, context.words)])]
    if context.is_several():
        parts.insert(0, element("h3", context.name(ladder)))
    if diagnosis is not None and not had_outage(context.middle(level)):
        parts.append(localized(diagnosis.answer, context.words, "p", "about"))
    parts.append(_tiles(context, level))
    return element("div", *parts)


def _sentence(note: str, context: ReportContext) -> str:
    """A note as a sentence; a Chinese one may begin with a URL."""
    first = note[:1].upper() if context.words.code == "en" else note[:1]
    return context.words.ended(f"{first}{note[1:]}")


def _box(lines: Iterator[str] | list[str]) -> Markup:
    return element("div", *(element("p", line) for line in lines), class_="answer")


def _tiles(context: ReportContext, level: Level) -> Markup:
    words, step = context.words, context.middle(level)
    response = step.latency.response
    tps = level.tps
    half = tps.of_a_rate if tps else None
    # A rate that may not be quoted has no tile.
    rates = [(rate(tps.mean), say("TPS")), (rate(level.qps), say("QPS"))] if tps else []
    shown = [
        *((value, words(name)) for value, name in rates),
        (str(response.figure("p50")), words(say("p50, ms"))),
        (str(response.figure("p95")), words(say("p95, ms"))),
        (str(response.figure("p99")), words(say("p99, ms"))),
    ]
    if half is not None:
        shown.insert(1, (f"± {digits(half)}", words(say("95 % interval"))))
    tiles = (element("li", element("span", name), element("b", value)) for value, name in shown)
    caption = words(say("At {users}", users=user_count(level.concurrency)))
    return element("ul", *tiles, class_="tiles", aria_label=caption)


def _of_experiment(found: Comparison, context: ReportContext) -> Iterator[str]:
    """The number of cells with each verdict."""
    words = context.words
    yield from map(words, doubts_of(context.run.diagnoses))
    cells, variants = cell_count(len(found.cells)), len(variants_of(found))
    if variants == 1:
        yield words(say("Measured: {cells} with one variant.", cells=cells))
    else:
        yield words(
            say(
                "{cells} with {variants} were compared.",
                cells=cells,
                variants=variant_count(variants),
            )
        )
    verdicts = [each for table in found.cells for each in table.compared]
    for word in ("faster", "slower", "no difference", "not enough evidence"):
        mine = [each for each in verdicts if each.verdict.word == word]
        if mine:
            named = sorted({each.contrast.b for each in mine})
            yield words(
                say(
                    "{word}: {number} ({variants}).",
                    word=VERDICT_WORDS[word],
                    number=len(mine),
                    variants=Joined(named, "clauses"),
                )
            )


def _watched(context: ReportContext) -> Iterator[str]:
    yield from watched_sentences(context.result, context.words)
    if not context.result.steps:
        yield context.words(say("No step has a rate that may be quoted."))


def contents(context: ReportContext, names: list[tuple[str, str]]) -> Markup:
    """The table of contents."""
    links = joined(element("li", element("a", title, href=f"#{name}")) for name, title in names)
    return element("nav", element("ul", links), aria_label=context.words(say("Contents")))
