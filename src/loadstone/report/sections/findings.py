"""The findings: each with its evidence, its small chart, and its proof where there is one."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.ladder import Level
from loadstone.model.figure import Percent
from loadstone.model.finding import Diagnosis, Evidence, Finding
from loadstone.model.language import Language
from loadstone.model.message import Joined, say
from loadstone.model.numbers import NOTHING, count
from loadstone.model.result import StepResult
from loadstone.report.figures.evidence import evidence_figure
from loadstone.report.findings import (
    evidence_value,
    proof_text,
    share_text,
    threshold_value,
    trial_text,
)
from loadstone.report.markup import Markup, element, folded, list_of, paragraph
from loadstone.report.names import GROUPS, cause_name, counter_name
from loadstone.report.predicted import with_the_remedy
from loadstone.report.sections.context import ReportContext, localized
from loadstone.report.table import table_of


def findings_section(context: ReportContext) -> Markup:
    """The findings of each ladder, the most telling first."""
    words = context.words
    inside = [_of_ladder(context, ladder) for ladder in context.ladders]
    if not any(context.diagnosis(ladder) for ladder in context.ladders):
        inside.append(paragraph(words(say("No step has figures to explain."))))
    return context.section("findings", words(say("Findings")), *inside)


def _of_ladder(context: ReportContext, ladder: list[Level]) -> Markup:
    found = context.diagnosis(ladder)
    if found is None:
        return Markup("")
    steps = [context.middle(level) for level in ladder]
    head = [element("h3", context.name(ladder))] if context.is_several() else []
    shown = [_finding(context, finding, steps) for finding in found.findings]
    checked = (*_without_effect(found, context.words), *_not_evaluated(found, context.words))
    return element("div", *head, *shown, *checked)


def _finding(context: ReportContext, finding: Finding, steps: list[StepResult]) -> Markup:
    words = context.words
    figure = evidence_figure(finding, steps, words)
    facts = [
        words(GROUPS[finding.group]),
        words(say("{confidence} sure", confidence=Percent(finding.confidence))),
    ]
    if finding.share:
        facts.insert(1, words(share_text(finding)))
    shown = element(
        "div",
        paragraph(words.value(Joined(facts)), "note"),
        localized(finding.sentence, words, "p"),
        element("p", element("b", words(say("Remedy:"))), " ", localized(finding.remedy, words)),
        *_predicted(finding, words),
        *_proof(finding, words),
        _evidence(finding.evidence, words),
    )
    title = element("h3", words(cause_name(finding.cause)), " ", element("code", finding.cause))
    placed = context.figures.place(figure)
    return element("article", title, shown, placed, class_=f"finding {finding.group}")


def _predicted(finding: Finding, words: Language) -> Iterator[Markup]:
    """The rate that the remedy is predicted to bring."""
    if predicted := with_the_remedy(finding):
        yield localized(predicted, words, "p")


def _proof(finding: Finding, words: Language) -> Iterator[Markup]:
    """The result of the finding's trial, or what would prove it if there was none."""
    if finding.proof is not None:
        yield element(
            "p", element("b", words(say("Proof:"))), " ", proof_text(finding.proof, words)
        )
    elif finding.trial is not None:
        yield element(
            "p", element("b", words(say("To prove it:"))), " ", trial_text(finding.trial, words)
        )
    elif finding.untried is not None:
        yield element(
            "p", element("b", words(say("To prove it:"))), " ", localized(finding.untried, words)
        )


def _evidence(evidence: tuple[Evidence, ...], words: Language) -> Markup:
    if not evidence:
        return Markup("")
    heads = (
        words(say("counter")),
        words(say("users")),
        words(say("seconds")),
        words(say("value")),
        words(say("threshold")),
    )
    rows = [
        (
            words(counter_name(one.counter)),
            count(one.users),
            _seconds(one, words),
            evidence_value(one, words),
            NOTHING if one.threshold is None else threshold_value(one, words),
        )
        for one in evidence
    ]
    return folded(words(say("Evidence")), table_of(heads, rows).html(), is_open=True)


def _seconds(one: Evidence, words: Language) -> str:
    if one.from_s is None or one.to_s is None:
        return NOTHING
    return words(say("{begin}..{end} s", begin=f"{one.from_s:g}", end=f"{one.to_s:g}"))


def _without_effect(found: Diagnosis, words: Language) -> Iterator[Markup]:
    """The settings that the review advises against, and that held nothing back in this run."""
    if found.without_effect:
        lines = [
            words.pair(f"{one.variable} = {one.value}", words(cause_name(one.cause)))
            for one in found.without_effect
        ]
        title = say(
            "Checked, no effect seen of what loadstone check advises against: {number}",
            number=len(lines),
        )
        yield folded(words(title), list_of(lines))


def _not_evaluated(found: Diagnosis, words: Language) -> Iterator[Markup]:
    """The causes that were not evaluated, grouped by the missing data."""
    needed: dict[str, list[str]] = {}
    for one in found.not_evaluated:
        needed.setdefault(one.needs, []).append(words(cause_name(one.cause)))
    if needed:
        lines = [
            words(say("{needs} missing: {causes}", needs=words(needs), causes=Joined(causes)))
            for needs, causes in needed.items()
        ]
        yield folded(
            words(say("Not evaluated: {number}", number=len(found.not_evaluated))), list_of(lines)
        )
