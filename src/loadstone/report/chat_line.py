"""A run in one line of plain text, to paste into a chat."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.comparison import Comparison
from loadstone.analyse.ladder import ladders_of
from loadstone.model.language import Lang, Language, in_language
from loadstone.model.message import Joined, say
from loadstone.model.numbers import signed
from loadstone.report.experiment import cell_name
from loadstone.report.ladder_answer import answer_of
from loadstone.report.marks import doubts
from loadstone.report.names import NOT_FINISHED, VERDICT_WORDS
from loadstone.report.opened import Run
from loadstone.report.sentences import (
    doubts_of,
    search_sentences,
    watched,
    watched_sentences,
)
from loadstone.report.table import visible
from loadstone.report.text import load

_VERDICTS = 3
"""The first few of an experiment; its report has all of them."""


def as_line(run: Run, lang: Lang = "en") -> str:
    """The run's name, server and load, its answer, and what makes its rates doubtful."""
    words = in_language(lang)
    named = " ".join([run.result.run.name, *_versions(run)])
    head = words.value(Joined([named, *load(run.result)]))
    return visible(words.pair(head, words.sentences(*_sentences(run, words)))) + "\n"


def _versions(run: Run) -> Iterator[str]:
    shares = (share for step in run.result.steps for share in step.targets)
    known = dict.fromkeys(share.server_version for share in shares if share.server_version)
    yield from (f"({version})" for version in known)


def _sentences(run: Run, words: Language) -> Iterator[str]:
    info = run.result.run
    if info.state != "finished":
        yield words(NOT_FINISHED[info.state])
    if info.aborted is not None:
        yield words(info.aborted.said)
    if info.search or run.comparison is not None:
        yield from map(words, doubts_of(run.diagnoses))
    if info.search:
        yield from search_sentences(info.search, run.result.steps, words)
    elif watched(run.result):
        yield from watched_sentences(run.result, words)
        return
    elif run.comparison is not None:
        yield from _verdicts(run.comparison, words)
    else:
        for ladder in ladders_of(run.result.steps):
            yield from answer_of(run, ladder, words)
    if run.comparison is None:  # which leaves out the steps that count in no mean, or says so
        yield from (words.ended(words(said)) for said in doubts(run.result.steps))


def _verdicts(found: Comparison, words: Language) -> Iterator[str]:
    compared = [(table, one) for table in found.cells for one in table.compared]
    for table, one in compared[:_VERDICTS]:
        which = {
            "cell": cell_name(table.cell, table.search, words),
            "a": one.contrast.a,
            "b": one.contrast.b,
            "verdict": VERDICT_WORDS[one.verdict.word],
        }
        if (effect := one.verdict.effect) is None:
            yield words(say("{cell}, {b} against {a}: {verdict}.", **which))
        else:
            which["difference"] = signed(effect.relative)
            yield words(say("{cell}, {b} against {a}: {verdict} ({difference}).", **which))
