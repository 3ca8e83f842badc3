"""A diagnosis as text: the answer first, then each finding with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType

from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.figure import Bytes, General, Percent, Rate
from loadstone.model.finding import (
    POOLER,
    Diagnosis,
    Evidence,
    Finding,
    NotTried,
    Proof,
    Trial,
)
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, say, user_count
from loadstone.model.numbers import count, digits
from loadstone.report.lines import Line, lines_of
from loadstone.report.names import (
    GROUP_NAMES,
    PROOF_VERDICTS,
    cause_count,
    cause_name,
    counter_name,
)
from loadstone.report.predicted import proof_sentence, with_the_remedy

BYTES = "B"
CONNECTIONS = "connections"
"""The unit of evidence that is an amount of bytes."""

_INDENT = "      "
_FEW = 6
"""This many causes that were not evaluated are shown one by one."""


def as_renderable(
    found: Sequence[Diagnosis],
    proofs: Sequence[Proof] = (),
    words: Language = ENGLISH,
) -> RenderableType:
    """All diagnoses of a run, and proofs of findings that the current rules no longer make."""
    if not found:
        return Line(words(say("No step has figures to explain.")))
    lines = [line for each in found for line in _lines(each, words, titled=len(found) > 1)]
    shown = [finding.proof for each in found for finding in each.findings if finding.proof]
    lines += proved([proof for proof in proofs if proof not in shown], words)
    return Group(*lines_of(lines))


def not_tried_lines(not_tried: Sequence[NotTried], words: Language = ENGLISH) -> Iterator[str]:
    """A line each, with why."""
    for one in not_tried:
        yield words(say("not tried  {cause}: {why}", cause=one.cause, why=words(one.why)))


def proved(proofs: Sequence[Proof], words: Language = ENGLISH) -> Iterator[str]:
    """A line a proof."""
    for one in proofs:
        yield words(say("proof {cause}: {proof}", cause=one.cause, proof=proof_text(one, words)))


def answer(found: Sequence[Diagnosis], words: Language = ENGLISH) -> Iterator[str]:
    """A sentence a ladder, for the end of a run's own text; none where too little was seen."""
    for each in found:
        if each.findings[0].cause == NOT_OBSERVED:
            continue
        told = words(each.answer)
        if len(found) > 1:
            told = words.pair(_title(each, words), told)
        yield words(say("why   {answer}", answer=told))
        if predicted := with_the_remedy(_answering(each)):
            yield f"{_INDENT}{words(predicted)}"


def _answering(found: Diagnosis) -> Finding:
    """The finding whose sentence is the answer."""
    if found.at_peak and found.at_peak.sentence == found.answer:
        return found.at_peak
    return found.findings[0]


def _title(found: Diagnosis, words: Language) -> str:
    return words.value(Joined((found.variant, found.workload)))


def _lines(found: Diagnosis, words: Language, *, titled: bool) -> Iterator[str]:
    if titled:
        yield _title(found, words)
    yield words(found.answer)
    yield ""
    for number, finding in enumerate(found.findings, 1):
        yield from _finding(number, finding, words)
    if found.without_effect:
        yield words(without_effect_text(found))
    yield from _not_evaluated(found, words)
    if found.not_judged:
        others = words.value(Joined(found.not_judged))
        yield words(
            say(
                "judged by the first of {targets} targets alone; not: {others}",
                targets=len(found.not_judged) + 1,
                others=others,
            )
        )


def _finding(number: int, finding: Finding, words: Language) -> Iterator[str]:
    facts = [words(GROUP_NAMES[finding.group])]
    if finding.share:
        facts.append(words(share_text(finding)))
    facts.append(words(say("{confidence} sure", confidence=Percent(finding.confidence))))
    named = _name(finding, words)
    head = words(say("{name} ({facts})", name=named, facts=Joined(facts)))
    yield f"{number:>2}  {head}"
    yield f"{_INDENT}{words(finding.sentence)}"
    yield from (f"{_INDENT}- {_evidence(one, words)}" for one in finding.evidence)
    yield _INDENT + words(say("remedy: {remedy}", remedy=words(finding.remedy)))
    if predicted := with_the_remedy(finding):
        yield f"{_INDENT}{words(predicted)}"
    if finding.proof:
        yield f"{_INDENT}{proof_text(finding.proof, words)}"
    elif finding.trial:
        yield _INDENT + words(say("to prove: {trial}", trial=trial_text(finding.trial, words)))
    elif finding.untried:
        yield _INDENT + words(say("to prove: {trial}", trial=words(finding.untried)))
    yield ""


def without_effect_text(found: Diagnosis) -> Message:
    """The settings that the run shows no effect of, in a line, with the causes evaluated."""
    settings = Joined(
        say("{setting} ({cause})", setting=f"{one.variable} = {one.value}", cause=one.cause)
        for one in found.without_effect
    )
    return say(
        "checked, no effect seen of what loadstone check advises against: {settings}",
        settings=settings,
    )


def share_text(finding: Finding) -> Message:
    """How much it explains: of the users' time, where its step has an account."""
    if finding.claims:
        return say("{share} of the users' time", share=Percent(finding.share))
    return say("explains {share}", share=Percent(finding.share))


def _name(finding: Finding, words: Language) -> str:
    """The name by which documents and programs know it; in other languages its title too."""
    if words.code == ENGLISH.code:
        return finding.cause
    return f"{finding.cause} {words(cause_name(finding.cause))}"


_WITHOUT = {"prepared": "text", "reconnect": "reconnect"}
"""By what a trial changes: the option whose absence does so."""


def trial_text(trial: Trial, words: Language = ENGLISH) -> str:
    """What to change, as people write it."""
    first = trial.settings[0]
    each = ", ".join(f"{one.name}={one.value}" for one in trial.settings)
    match trial.kind:
        case "client":
            return words(_client_text(trial))
        case "dynamic" if trial.family == POSTGRESQL:
            return words(say("{statements}, and run again", statements=_altered(trial)))
        case "dynamic":
            return words(say("SET GLOBAL {settings}, and run again", settings=each))
        case "start":
            return words(say("start the server with {settings}, and run again", settings=each))
        case "users":
            return words(say("run again with --concurrency {users}", users=first.value))
        case "pooler" if first.name == POOLER:
            return words(_pooler_text(trial))
        case "pooler":
            return words(say("give the pooler {settings}, and run again", settings=each))
        case "again" if trial.family == POSTGRESQL:
            return words(say("run again: what the load reads is in the caches by now"))
        case "again":
            return words(say("run again: what the load reads is in the buffer pool by now"))


def _client_text(trial: Trial) -> Message:
    first = trial.settings[0]
    if first.name in _WITHOUT:
        return say("run again without --{option}", option=_WITHOUT[first.name])
    if first.name == "connect":
        return _without_network(trial)
    return say("run again with --{option} {value}", option=first.name, value=first.value)


def _pooler_text(trial: Trial) -> Message:
    pooler, *settings = trial.settings
    return say(
        "put {pooler} before the server (pool_mode=transaction, {size}), and run again",
        pooler=pooler.value,
        size=", ".join(f"{one.name}={one.value}" for one in settings),
    )


def _altered(trial: Trial) -> str:
    """The statements that set PostgreSQL's parameters for all sessions."""
    each = (f"ALTER SYSTEM SET {one.name} = '{one.value}'" for one in trial.settings)
    return "; ".join((*each, "SELECT pg_reload_conf()"))


def _without_network(trial: Trial) -> Message:
    return say(
        "run again over the unix socket, which saves the cost of {subject}",
        subject=trial.subject,
    )


def proof_text(proof: Proof, words: Language = ENGLISH) -> str:
    """`proven: TLS costs 31 % ± 4 % of the rate: ...`, and when it was tried."""
    return words(
        say(
            "{verdict}: {sentence} ({day})",
            verdict=PROOF_VERDICTS[proof.verdict],
            sentence=words(proof_sentence(proof)),
            day=proof.at[:10],
        )
    )


def evidence_value(one: Evidence, words: Language) -> str:
    """What was measured, with its unit."""
    if one.unit == BYTES:
        return words.value(Bytes(one.value))
    # A number of things is whole.
    is_number = one.unit == CONNECTIONS and one.value.is_integer()
    value = count(int(one.value)) if is_number else digits(one.value)
    if not one.unit:
        return value
    return words(say("{value} {unit}", value=value, unit=words(one.unit)))


def threshold_value(one: Evidence, words: Language) -> str:
    """What it was compared with; only bytes have their unit."""
    return words.value((Bytes if one.unit == BYTES else Rate)(one.threshold))


def _evidence(one: Evidence, words: Language) -> str:
    fields = {"counter": counter_name(one.counter), "value": evidence_value(one, words)}
    said = say("{counter} {value}", **fields)
    if one.threshold is not None:
        said = say(
            "{counter} {value} (threshold {threshold})",
            threshold=threshold_value(one, words),
            **fields,
        )
    parts = [said, user_count(one.users)]
    if one.from_s is not None and one.to_s is not None:
        seconds = {"begin": General(one.from_s), "end": General(one.to_s)}
        parts.append(say("seconds {begin} to {end}", **seconds))
    return words.value(Joined(parts))


def _not_evaluated(found: Diagnosis, words: Language) -> Iterator[str]:
    """The causes that were not evaluated, grouped by the missing data."""
    needed: dict[str, list[str]] = {}
    for one in found.not_evaluated:
        needed.setdefault(one.needs, []).append(one.cause)
    for needs, causes in list(needed.items())[:_FEW]:
        named = words.value(Joined(causes))
        yield words(
            say("not evaluated ({needs} missing): {causes}", needs=words(needs), causes=named)
        )
    rest = sum(len(causes) for causes in list(needed.values())[_FEW:])
    if rest:
        yield words(
            say("not evaluated: {causes} more (--json lists them)", causes=cause_count(rest))
        )
