"""A run as Markdown: a summary to paste into an issue or a chat."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from loadstone.analyse.comparison import Comparison
from loadstone.analyse.ladder import Level, ladders_of, middle_step, shape
from loadstone.model.figure import Percent
from loadstone.model.finding import Diagnosis
from loadstone.model.language import Lang, Language, in_language
from loadstone.model.message import say
from loadstone.model.numbers import NOTHING, count, digits, rate, signed
from loadstone.report.experiment import cell_name
from loadstone.report.findings import proof_text
from loadstone.report.marks import marked_level, marks
from loadstone.report.names import NOT_FINISHED, VERDICT_WORDS
from loadstone.report.opened import Run
from loadstone.report.sentences import answer
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
    if run.comparison is not None:
        yield from _matrix(run.comparison, words)
    found = {(one.variant, one.workload): one for one in run.diagnoses}
    for ladder in ladders_of(run.result.steps):
        level = ladder[0]
        yield from _ladder(run, ladder, found.get((level.variant, level.workload)), words)
    yield f"Loadstone {info.loadstone or NOTHING}, {info.started_at or NOTHING}, `{info.id}`"
    if run.asked is not None:
        yield ""
        yield from _code(shlex.join(run.asked.command_line))


def _ladder(
    run: Run, ladder: Sequence[Level], found: Diagnosis | None, words: Language
) -> Iterator[str]:
    first, shaped = ladder[0], shape(ladder)
    best = middle_step((shaped.peak if shaped else first).steps)
    yield f"### {markdown_text(first.variant)}, {markdown_text(first.workload)}"
    yield ""
    lowest = next((one for one in run.ceilings if one.step == best.step), None)
    yield words.sentences(*answer(ladder, found, lowest, words))
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
    for line in marks([middle_step(level.steps) for level in ladder]):
        yield markdown_text(words(line))
        yield ""
    for finding in found.findings[:_FINDINGS] if found else ():
        sure = say("{confidence} sure", confidence=Percent(finding.confidence))
        head = words(say("{name} ({facts})", name=f"**{finding.cause}**", facts=sure))
        yield f"- {words.pair(head, markdown_text(words(finding.sentence)))}"
        if finding.proof is not None:
            proof = markdown_text(proof_text(finding.proof, words))
            head = words(say("Proof:"))
            yield f"  - {head} {proof}"
    yield ""


def _row(level: Level) -> list[str]:
    step, tps = middle_step(level.steps), level.tps
    half = tps.half_width if tps else None
    response = step.latency.response
    return [
        count(level.concurrency),
        rate(tps.mean if tps else step.tps) + marked_level(level),
        NOTHING if half is None else digits(half),
        rate(step.qps),
        rate(response.p95),
        rate(response.p99),
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
