"""What a ladder and its limits say in a sentence or two, in the words of a language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import Level, Shape, middle_step, shape
from loadstone.analyse.open_loop import Held, held
from loadstone.analyse.usl import Refused, Usl
from loadstone.diagnosis.diagnose import ANSWERS
from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.model.ceilings import Ceiling, StepCeilings
from loadstone.model.finding import Diagnosis, Finding
from loadstone.model.numbers import NOTHING, asked, count, digits, pct
from loadstone.model.search import Level as SearchLevel
from loadstone.model.search import SearchOutcome
from loadstone.report.words import Messages, localize

HELD = 0.8
"""From this part of a ceiling on it may be said to hold the step back."""


def verdict(ladder: Sequence[Level], words: Messages) -> str | None:
    """What a ladder shows in a sentence or two; `None` where it is a single closed step."""
    if rates := held(ladder):
        return held_sentence(rates, words)
    found = shape(ladder)
    return peak_sentence(found, words) if found else None


def held_sentence(rates: Held, words: Messages) -> str:
    """Which rate the server kept up with, and what became of the lowest it did not."""
    kept = rates.kept
    said = words.kept_up.format(rate=_asked(kept)) if kept else words.kept_up_with_none
    if rates.lost is None:
        return words.sentences(said, words.highest_rate_tried)
    step = middle_step(rates.lost.steps)
    fields = {
        "asked": _asked(rates.lost),
        "done": digits(step.tps or 0.0),
        "waiting": count(step.waiting),
    }
    lost = words.lost_rate.format(**fields)
    if step.skipped:
        lost = words.lost_rate_skipped.format(**fields, skipped=count(step.skipped))
    return words.sentences(said, lost)


def peak_sentence(found: Shape, words: Messages) -> str:
    """Where the peak is, and from where on more users hardly help."""
    peak, knee = found.peak, found.knee
    mean = peak.tps.mean if peak.tps else 0.0
    fields = {"tps": digits(mean), "users": words.users(peak.concurrency)}
    said = words.peak.format(**fields)
    if knee.concurrency < peak.concurrency:
        part = (knee.tps.mean if knee.tps else 0.0) / mean
        knee_users = words.users(knee.concurrency)
        said = words.peak_and_knee.format(**fields, knee=knee_users, share=f"{part:.0%}")
    return words.sentences(said, _beyond(found, words))


def _beyond(found: Shape, words: Messages) -> str:
    match found.beyond:
        case "untried":
            return words.beyond_untried
        case "level":
            return words.beyond_level
        case "falls":
            last = found.last.tps.mean if found.last.tps else 0.0
            users = words.users(found.last.concurrency)
            return words.beyond_falls.format(users=users, tps=digits(last))
        case "unknown":
            return words.beyond_unknown


def law_sentence(found: Usl | Refused, words: Messages) -> str:
    """What the Universal Scalability Law says of a ladder, or why it says nothing."""
    if isinstance(found, Refused):
        return words.law_refused.format(reason=localize(found.reason, words))
    fields = {
        "contention": f"{found.contention.value:.3g}",
        "coherency": f"{found.coherency.value:.3g}",
    }
    if found.peak is None:
        return words.law_without_peak.format(**fields, reason=localize(found.no_peak or "", words))
    users, rate = found.peak.users, found.peak.rate
    return words.law_peak.format(
        **fields,
        rate=digits(rate.value),
        low=digits(rate.interval.low),
        high=digits(rate.interval.high),
        confidence=pct(rate.interval.confidence),
        users=digits(users.value),
    )


def held_by(step: StepCeilings, words: Messages) -> str:
    """What holds a step back, in a few words."""
    lowest = step.lowest
    if lowest is None:
        return words.no_ceiling
    used = lowest.used or 0.0
    said = words.held_by if used >= HELD else words.nearest_ceiling
    return said.format(resource=words.resource(lowest.resource), used=pct(used))


def answer(
    ladder: Sequence[Level], found: Diagnosis | None, lowest: StepCeilings | None, words: Messages
) -> list[str]:
    """The peak and where; what holds it back and how sure that is; a doubt where there is one."""
    said = [_peak_of(ladder, words)]
    findings = found.findings if found else ()
    held = _held_back(findings, lowest.lowest if lowest else None, words)
    if held is not None:
        said.append(held)
    if findings and findings[0].group == "validity":
        said.append(words.in_doubt.format(**_cause_fields(findings[0], words)))
    return said


def _held_back(findings: Sequence[Finding], ceiling: Ceiling | None, words: Messages) -> str | None:
    """The first finding that is a cause, and the lowest ceiling."""
    cause = next((one for one in findings if _is_cause(one)), None)
    known = (
        {"resource": words.resource(ceiling.resource), "used": pct(ceiling.used)} if ceiling else {}
    )
    if cause is None:
        return words.lowest_ceiling.format(**known) if known else None
    said = words.held_back_ceiling if known else words.held_back
    return said.format(**_cause_fields(cause, words), **known)


def _is_cause(finding: Finding) -> bool:
    """Not so what makes figures doubtful, nor what is worth knowing and holds nothing back."""
    if finding.group == "note":
        return finding.cause in (*ANSWERS, NOT_OBSERVED, "unexplained")
    return finding.group != "validity"


def _cause_fields(finding: Finding, words: Messages) -> dict[str, str]:
    return {"cause": words.cause(finding.cause), "confidence": pct(finding.confidence)}


def _peak_of(ladder: Sequence[Level], words: Messages) -> str:
    if rates := held(ladder):
        return held_sentence(rates, words)
    found = shape(ladder)
    level = found.peak if found else ladder[0]
    if level.tps is None:
        return words.no_rate
    half = level.tps.half_width
    fields = {
        "tps": digits(level.tps.mean),
        "interval": "" if half is None else words.plus_minus.format(half=digits(half)),
        "users": words.users(level.concurrency),
    }
    if found is None:
        return words.one_level.format(**fields)
    return words.answer_peak.format(**fields, beyond=_beyond_clause(found, words))


def _beyond_clause(found: Shape, words: Messages) -> str:
    match found.beyond:
        case "untried":
            return words.clause_untried
        case "level":
            return words.clause_level
        case "falls":
            last = found.last.tps.mean if found.last.tps else 0.0
            users = words.users(found.last.concurrency)
            return words.clause_falls.format(users=users, tps=digits(last))
        case "unknown":
            return words.clause_unknown


def search_sentences(found: SearchOutcome, words: Messages) -> Iterator[str]:
    """What a search found, and how sure that is."""
    if found.concurrency and found.peak_tps:
        yield words.search_users.format(
            users=words.users(round(found.concurrency.value)),
            tps=digits(found.peak_tps),
            sure=_sure(found.concurrency, words),
        )
    if found.objective:
        yield _objective(found, words)
    if not found.complete:
        yield words.search_incomplete


def _objective(found: SearchOutcome, words: Messages) -> str:
    what, beyond = f"{found.objective}", found.beyond
    if found.rate is None:
        if beyond is None:
            return words.objective_never.format(objective=what)
        return words.objective_lost.format(
            objective=what, rate=digits(beyond.value), sure=_sure(beyond, words)
        )
    said = words.objective_held.format(
        objective=what, rate=digits(found.rate.value), sure=_sure(found.rate, words)
    )
    if beyond:
        said += words.objective_beyond.format(rate=digits(beyond.value), sure=_sure(beyond, words))
    if found.closed_tps:
        said += words.objective_closed.format(tps=digits(found.closed_tps))
    return f"{said}{words.full_stop}"


def _sure(level: SearchLevel, words: Messages) -> str:
    return words.search_sure.format(
        good=level.good, steps=words.steps(level.steps), confidence=pct(level.confidence)
    )


def _asked(level: Level) -> str:
    return asked(level.rate) if level.rate else NOTHING
