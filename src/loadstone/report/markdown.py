"""A run as Markdown: a summary to paste into an issue or a chat."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from loadstone.analyse.comparison import Comparison
from loadstone.analyse.ladder import Level, ladders_of, middle_step
from loadstone.model.figure import Percent
from loadstone.model.language import Lang, Language, in_language
from loadstone.model.message import say
from loadstone.model.numbers import NOTHING, count, digits, rate, signed
from loadstone.report.account import account_table
from loadstone.report.experiment import cell_name
from loadstone.report.findings import proof_text, without_effect_text
from loadstone.report.ladder_answer import answer_of, diagnosis_of
from loadstone.report.marks import marked_level, marks
from loadstone.report.names import NOT_FINISHED, VERDICT_WORDS
from loadstone.report.opened import Run
from loadstone.report.predicted import with_the_remedy
from loadstone.report.sentences import (
    doubts_of,
    search_sentences,
    watched,
    watched_sentences,
)
from loadstone.report.slow_seconds import slow_notes
from loadstone.report.table import markdown_text, table_of

_FINDINGS = 5
"""This many are shown; the others are in the HTML report and in `loadstone diagnose`."""


def as_markdown(run: Run, lang: Lang = "en") -> str:
    """The answer, the ladder, the findings and the command."""
    words = in_language(lang)
    return "\n".join(_lines(run, words)).rstrip() + "\n"


def _lines(run: Run, words: Language) -> Iterator[str]:
    info = run.result.run
    yield f"## {markdown_text(info.name)}"
    yield ""
    first = run.result.steps[0] if run.result.steps else None
    for target in first.targets if first else ():
        yield f"{markdown_text(target.target)} {markdown_text(target.server_version or '')}".strip()
        yield ""
    if info.state != "finished":
        yield words(NOT_FINISHED[info.state])
        yield ""
    if info.aborted is not None:
        yield markdown_text(words(info.aborted.said))
        yield ""
    if info.search:
        yield from _paragraphs(search_sentences(info.search, run.result.steps, words))
    if info.search or run.comparison is not None:
        yield from _paragraphs(map(words, doubts_of(run.diagnoses)))
    if run.comparison is not None:
        yield from _matrix(run.comparison, words)
    if watched(run.result):
        yield words.sentences(*watched_sentences(run.result, words))
        yield ""
    for ladder in [] if watched(run.result) else ladders_of(run.result.steps):
        yield from _ladder(run, ladder, words)
    yield f"Loadstone {info.loadstone or NOTHING}, {info.started_at or NOTHING}, `{info.id}`"
    if run.asked is not None and not run.asked.is_without_names:
        yield ""
        yield from _code(shlex.join(run.asked.command_line))


def _paragraphs(sentences: Iterable[str]) -> Iterator[str]:
    for said in sentences:
        yield markdown_text(said)
        yield ""


def _ladder(run: Run, ladder: Sequence[Level], words: Language) -> Iterator[str]:
    first, found = ladder[0], diagnosis_of(run, ladder)
    yield f"### {markdown_text(first.variant)}, {markdown_text(first.workload)}"
    yield ""
    # The levels that a search tried on the way are no answers.
    if run.result.run.search is None:
        yield words.sentences(*answer_of(run, ladder, words))
        yield ""
    heads = (
        words(say("users")),
        words(say("TPS")),
        "±",
        words(say("QPS")),
        words(say("p95, ms")),
        words(say("p99, ms")),
        words(say("errors/s")),
    )
    yield from table_of(heads, map(_row, ladder), text=0).markdown()
    yield ""
    for line in marks([step for level in ladder for step in level.steps]):
        yield markdown_text(words(line))
        yield ""
    if account := account_table(ladder, words):
        yield f"**{account.title}**"
        yield ""
        yield from account.markdown()
        yield ""
        for said in slow_notes(ladder):
            yield markdown_text(words(said))
            yield ""
    for finding in found.findings[:_FINDINGS] if found else ():
        sure = say("{confidence} sure", confidence=Percent(finding.confidence))
        head = words(say("{name} ({facts})", name=f"**{finding.cause}**", facts=sure))
        yield f"- {words.pair(head, markdown_text(words(finding.sentence)))}"
        if predicted := with_the_remedy(finding):
            yield f"  - {markdown_text(words(predicted))}"
        if finding.proof is not None:
            proof = markdown_text(proof_text(finding.proof, words))
            head = words(say("Proof:"))
            yield f"  - {head} {proof}"
    if found and found.without_effect:
        yield f"- {markdown_text(words(without_effect_text(found)))}"
    yield ""


def _row(level: Level) -> list[str]:
    step, tps = middle_step(level.steps), level.tps
    half = tps.of_a_rate if tps else None
    response = step.latency.response
    return [
        count(level.concurrency),
        rate(tps.mean if tps else step.tps) + marked_level(level),
        NOTHING if half is None else digits(half),
        rate(level.qps),
        str(response.figure("p95")),
        str(response.figure("p99")),
        rate(sum(step.errors.values()) / step.seconds) if step.seconds else NOTHING,
    ]


def _matrix(found: Comparison, words: Language) -> Iterator[str]:
    """A line a verdict."""
    heads = (
        words(say("cell")),
        words(say("variant")),
        words(say("verdict")),
        words(say("difference")),
    )
    rows = [
        (
            cell_name(table.cell, table.search, words),
            words(say("{b} against {a}", b=one.contrast.b, a=one.contrast.a)),
            words(VERDICT_WORDS[one.verdict.word]),
            signed(one.verdict.effect.relative) if one.verdict.effect else NOTHING,
        )
        for table in found.cells
        for one in table.compared
    ]
    yield from table_of(heads, rows, text=3).markdown()
    yield ""


def _code(said: str) -> Iterator[str]:
    """Indented: a fence could be closed by what stands in it."""
    yield from (f"    {line}" for line in said.splitlines())
