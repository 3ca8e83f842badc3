"""A diagnosis as text: the answer first, then each finding with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.model.finding import Diagnosis, Evidence, Finding, NotTried, Proof, Trial
from loadstone.model.numbers import digits, pct
from loadstone.report.words import ENGLISH, Messages, localize

_INDENT = "      "
_FEW = 6
"""So many causes that were not evaluated are told one by one."""


def as_text(
    found: Sequence[Diagnosis],
    proofs: Sequence[Proof] = (),
    not_tried: Sequence[NotTried] = (),
    words: Messages = ENGLISH,
) -> str:
    """All diagnoses of a run, with proofs of what the rules of today do not find any more, too.

    `not_tried`: findings whose trial was not carried out just now.
    """
    if not found:
        return f"{words.nothing_to_explain}\n"
    lines = [line for each in found for line in _lines(each, words, titled=len(found) > 1)]
    shown = [finding.proof for each in found for finding in each.findings if finding.proof]
    lines += proved([proof for proof in proofs if proof not in shown], words)
    lines += not_tried_lines(not_tried, words)
    return "\n".join(lines) + "\n"


def not_tried_lines(not_tried: Sequence[NotTried], words: Messages = ENGLISH) -> Iterator[str]:
    """A line each, with why."""
    for one in not_tried:
        yield words.line_not_tried.format(cause=one.cause, why=localize(one.why, words))


def proved(proofs: Sequence[Proof], words: Messages = ENGLISH) -> Iterator[str]:
    """A line a proof."""
    for one in proofs:
        yield words.line_proof.format(cause=one.cause, proof=proof_text(one, words))


def answer(found: Sequence[Diagnosis], words: Messages = ENGLISH) -> Iterator[str]:
    """A sentence a ladder, for the end of a run's own text; none where too little was seen."""
    for each in found:
        if each.findings[0].cause == NOT_OBSERVED:
            continue
        title = f"{each.variant}, {each.workload}: " if len(found) > 1 else ""
        yield words.line_why.format(answer=f"{title}{localize(each.answer, words)}")


def _lines(found: Diagnosis, words: Messages, *, titled: bool) -> Iterator[str]:
    if titled:
        yield f"{found.variant}, {found.workload}"
    yield localize(found.answer, words)
    yield ""
    for number, finding in enumerate(found.findings, 1):
        yield from _finding(number, finding, words)
    yield from _not_evaluated(found, words)
    if found.not_judged:
        others = words.list_comma.join(found.not_judged)
        yield words.line_not_judged.format(targets=len(found.not_judged) + 1, others=others)


def _finding(number: int, finding: Finding, words: Messages) -> Iterator[str]:
    facts = [words.group_names[finding.group]]
    if finding.share is not None:
        facts.append(words.explains.format(share=pct(finding.share)))
    facts.append(words.sure.format(confidence=pct(finding.confidence)))
    named = _name(finding, words)
    head = words.line_finding.format(name=named, facts=words.list_comma.join(facts))
    yield f"{number:>2}  {head}"
    yield f"{_INDENT}{localize(finding.sentence, words)}"
    yield from (f"{_INDENT}- {_evidence(one, words)}" for one in finding.evidence)
    yield _INDENT + words.line_remedy.format(remedy=localize(finding.remedy, words))
    if finding.proof:
        yield f"{_INDENT}{proof_text(finding.proof, words)}"
    elif finding.trial:
        yield _INDENT + words.line_to_prove.format(trial=trial_text(finding.trial, words))
    elif finding.untried:
        yield _INDENT + words.line_to_prove.format(trial=localize(finding.untried, words))
    yield ""


def _name(finding: Finding, words: Messages) -> str:
    """The name by which documents and programs know it; who does not read it has its title too."""
    if words.language == ENGLISH.language:
        return finding.cause
    return f"{finding.cause} {words.cause(finding.cause)}"


def trial_text(trial: Trial, words: Messages = ENGLISH) -> str:
    """What to change, as a person writes it."""
    first = trial.settings[0]
    each = ", ".join(f"{one.name}={one.value}" for one in trial.settings)
    match trial.kind:
        case "client" if first.name == "prepared":
            return words.trial_as_prepared
        case "client" if first.name == "connect":
            return words.trial_by_socket
        case "client":
            return words.trial_with_option.format(option=first.name, value=first.value)
        case "dynamic":
            return words.trial_set_global.format(settings=each)
        case "start":
            return words.trial_at_start.format(settings=each)
        case "users":
            return words.trial_with_users.format(users=first.value)
        case "again":
            return words.trial_again


def proof_text(proof: Proof, words: Messages = ENGLISH) -> str:
    """`proven: TLS costs 31 % ± 4 % of the rate: ...`, and when it was tried."""
    return words.proof_told.format(
        verdict=words.proof_verdicts[proof.verdict],
        sentence=localize(proof.sentence, words),
        day=proof.at[:10],
    )


def evidence_value(one: Evidence, words: Messages) -> str:
    """What was measured, with its unit."""
    value = digits(one.value)
    if not one.unit:
        return value
    return words.value_with_unit.format(value=value, unit=localize(one.unit, words))


def _evidence(one: Evidence, words: Messages) -> str:
    limit = seconds = ""
    if one.threshold is not None:
        limit = words.line_threshold.format(value=digits(one.threshold))
    if one.from_s is not None:
        seconds = words.line_seconds.format(begin=f"{one.from_s:g}", end=f"{one.to_s:g}")
    value = evidence_value(one, words)
    users = words.users(one.users)
    return f"{localize(one.counter, words)} {value}{limit}{words.list_comma}{users}{seconds}"


def _not_evaluated(found: Diagnosis, words: Messages) -> Iterator[str]:
    """By what is missing, the causes that need it."""
    needed: dict[str, list[str]] = {}
    for one in found.not_evaluated:
        needed.setdefault(one.needs, []).append(one.cause)
    for needs, causes in list(needed.items())[:_FEW]:
        named = words.list_comma.join(causes)
        yield words.line_not_evaluated.format(needs=localize(needs, words), causes=named)
    rest = sum(len(causes) for causes in list(needed.values())[_FEW:])
    if rest:
        yield words.line_more_not_evaluated.format(causes=words.causes_of(rest))
