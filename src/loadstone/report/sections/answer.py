"""The answer: two sentences a ladder, and the figures that everybody asks for first."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.comparison import Comparison
from loadstone.analyse.ladder import Level, shape
from loadstone.model.numbers import digits, duration, rate
from loadstone.report.markup import Markup, element, folded, joined, paragraph
from loadstone.report.notes import drill_notes
from loadstone.report.sections.context import Making
from loadstone.report.sections.speech import speech
from loadstone.report.sentences import answer, search_sentences

_FEW = 4
"""So many ladders are answered at once; the others are there to be opened."""


def answer_section(making: Making) -> Markup:
    """Peak, where, what holds it back, how sure."""
    words = making.words
    found = making.run.comparison
    inside: list[Markup] = []
    if found is not None:
        inside.append(_box(_of_experiment(found, making)))
    # Of an experiment the matrix comes next; what each variant's own ladder says can wait.
    shown = _FEW if found is None else 0
    told = [_of_ladder(making, ladder) for ladder in making.ladders]
    inside += told[:shown]
    if told[shown:]:
        inside.append(folded(words.more_ladders.format(number=len(told) - shown), *told[shown:]))
    if making.result.run.search:
        inside.append(_box(search_sentences(making.result.run.search, words)))
    if not making.ladders:
        inside.append(_box(_watched(making)))
    if making.result.run.state != "finished":
        inside.append(paragraph(words.not_finished[making.result.run.state], "bad"))
    if aborted := making.result.run.aborted:
        inside.append(speech(aborted.said, words, "p", "bad"))
    return making.section("answer", words.answer, *inside)


def _of_ladder(making: Making, ladder: list[Level]) -> Markup:
    found = shape(ladder)
    level = found.peak if found else ladder[0]
    diagnosis = making.diagnosis(ladder)
    lowest = making.ceilings(making.middle(level))
    drilled = (line for level in ladder for line in drill_notes(making.middle(level), making.words))
    said = [_sentence(line, making) for line in drilled]
    parts = [_box([*said, *answer(ladder, diagnosis, lowest, making.words)])]
    if making.is_several():
        parts.insert(0, element("h3", making.name(ladder)))
    if diagnosis is not None:
        parts.append(speech(diagnosis.answer, making.words, "p", "about"))
    parts.append(_tiles(making, level))
    return element("div", *parts)


def _sentence(note: str, making: Making) -> str:
    """A note as a sentence; a Chinese one may begin with a URL."""
    first = note[:1].upper() if making.words.language == "en" else note[:1]
    return f"{first}{note[1:]}{making.words.full_stop}"


def _box(lines: Iterator[str] | list[str]) -> Markup:
    return element("div", *(element("p", line) for line in lines), class_="answer")


def _tiles(making: Making, level: Level) -> Markup:
    words, step = making.words, making.middle(level)
    response = step.latency.response
    tps = level.tps
    half = tps.half_width if tps else None
    shown = [
        (rate(tps.mean if tps else step.tps), words.tps),
        (rate(step.qps), words.qps),
        (rate(response.p50), words.p50_ms),
        (rate(response.p95), words.p95_ms),
        (rate(response.p99), words.p99_ms),
    ]
    if half is not None:
        shown.insert(1, (f"± {digits(half)}", words.interval_95))
    tiles = (element("li", element("b", value), element("span", name)) for value, name in shown)
    caption = words.at_peak.format(users=words.users(level.concurrency))
    return element("ul", *tiles, class_="tiles", aria_label=caption)


def _of_experiment(found: Comparison, making: Making) -> Iterator[str]:
    """How many cells say what."""
    words = making.words
    yield words.experiment_answer.format(
        cells=words.cells(len(found.cells)), variants=words.variants_of(_variants(found))
    )
    verdicts = [each for table in found.cells for each in table.compared]
    for word in ("faster", "slower", "no difference", "not enough evidence"):
        mine = [each for each in verdicts if each.verdict.word == word]
        if mine:
            named = sorted({each.contrast.b for each in mine})
            yield words.verdict_count.format(
                word=words.verdict_words[word], number=len(mine), variants="; ".join(named)
            )


def _variants(found: Comparison) -> int:
    return len({row.variant for table in found.cells for row in table.rows})


def _watched(making: Making) -> Iterator[str]:
    for step in making.result.steps:
        if step.window:
            seconds = duration(step.window.to_s - step.window.from_s)
            yield making.words.watched.format(duration=seconds)
    if not making.result.steps:
        yield making.words.no_rate


def contents(making: Making, names: list[tuple[str, str]]) -> Markup:
    """Where the parts are."""
    links = joined(element("li", element("a", title, href=f"#{name}")) for name, title in names)
    return element("nav", element("ul", links), aria_label=making.words.contents)
