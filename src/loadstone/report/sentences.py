"""What a ladder and its limits say in a sentence or two, in the words of a language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadstone.analyse.comparison import limits_in_doubt
from loadstone.analyse.ladder import Level, Shape, middle_step, shape, steal
from loadstone.analyse.open_loop import Held, held
from loadstone.analyse.search import steps_beyond
from loadstone.analyse.usl import Refused, Usl
from loadstone.analyse.verdict import REASONS
from loadstone.diagnosis.diagnose import is_cause
from loadstone.model.ceilings import Ceiling, StepCeilings
from loadstone.model.experiment import Variant
from loadstone.model.figure import Count, Percent, Rate
from loadstone.model.finding import Diagnosis, Finding
from loadstone.model.language import Language
from loadstone.model.message import Joined, Message, counted, say, user_count
from loadstone.model.numbers import NOTHING, asked, count, digits
from loadstone.model.result import StepResult
from loadstone.model.search import Level as SearchLevel
from loadstone.model.search import SearchOutcome
from loadstone.report.names import cause_name, repeat_count, resource_name, step_count

HELD = 0.8
"""A ceiling limits a step whose rate is at least this share of it."""


def verdict(ladder: Sequence[Level], words: Language) -> str | None:
    """What a ladder shows in a sentence or two; `None` where it is a single closed step."""
    if rates := held(ladder):
        return held_sentence(rates, words)
    found = shape(ladder)
    return peak_sentence(found, words) if found else None


def held_sentence(rates: Held, words: Language) -> str:
    """The highest rate the server kept up with, and what happened at the lowest it did not."""
    kept = rates.kept
    said = (
        words(say("Kept up with {rate} events/s.", rate=_asked(kept)))
        if kept
        else words(say("Kept up with no rate that was tried."))
    )
    if rates.lost is None:
        return words.sentences(
            said, words(say("It is the highest that was tried: more may be possible."))
        )
    step = middle_step(rates.lost.steps)
    fields = {
        "asked": _asked(rates.lost),
        "done": digits(step.tps or 0.0),
        "waiting": count(step.waiting),
    }
    lost = words(
        say("Of {asked} events/s it did {done} a second: {waiting} waited at the end.", **fields)
    )
    if step.skipped:
        lost = words(
            say(
                "Of {asked} events/s it did {done} a second: {waiting} waited at the "
                "end, {skipped} were skipped.",
                **fields,
                skipped=Count(step.skipped),
            )
        )
    return words.sentences(said, lost)


def peak_sentence(found: Shape, words: Language) -> str:
    """Where the peak is, and from where on more users hardly help."""
    peak, knee = found.peak, found.knee
    fields: dict[str, Any] = {"rate": _rate(peak), "users": user_count(peak.concurrency)}
    said = say("Peak: {rate} at {users}.", **fields)
    if knee.concurrency < peak.concurrency and peak.tps:
        said = say(
            "Peak: {rate} at {users}; {knee} reach {share} of it already.",
            **fields,
            knee=user_count(knee.concurrency),
            share=Percent((knee.tps.mean if knee.tps else 0.0) / peak.tps.mean),
        )
    return words.sentences(words(said), _beyond(found, words), *map(words, _of_steal(found)))


def _rate(level: Level) -> Message:
    """`751 ± 40 tps (95 %, 3 repeats)`."""
    if level.tps is None:
        return say("{tps} tps", tps=Rate(None))
    fields = {"tps": digits(level.tps.mean)}
    if level.tps.half_width is None:
        return say("{tps} tps", **fields)
    fields["half"] = digits(level.tps.half_width)
    if level.tps.repeats < 2:
        return say("{tps} ± {half} tps (95 %, within the step)", **fields)
    repeats = repeat_count(level.tps.repeats)
    return say("{tps} ± {half} tps (95 %, {repeats})", **fields, repeats=repeats)


def _of_steal(found: Shape) -> Iterator[Message]:
    """Whether the hypervisor took cores, and what that means for the peak."""
    if found.peak.has_steal:
        yield say(
            "The hypervisor took {share} of the cores from it: the true peak may be higher.",
            share=Percent(max(map(steal, found.peak.steps))),
        )
    if found.left_out:
        yield counted(
            "1 level is left out of this, as the hypervisor took cores from it.",
            "{number} levels are left out of this, as the hypervisor took cores from them.",
            found.left_out,
        )


def _beyond(found: Shape, words: Language) -> str:
    match found.beyond:
        case "untried":
            return words(say("It is the highest level: the true peak may be higher."))
        case "level":
            return words(
                say("Near it the rate is level: differences of less than the noise are not a peak.")
            )
        case "falls":
            last = found.last.tps.mean if found.last.tps else 0.0
            users = words(user_count(found.last.concurrency))
            return words(say("With {users} it falls to {tps}.", users=users, tps=Rate(last)))
        case "unknown":
            return words(
                say("What more users bring is not known: the levels above gave no rate to quote.")
            )


def law_sentence(found: Usl | Refused, words: Language) -> str:
    """What the Universal Scalability Law says of a ladder, or why it says nothing."""
    if isinstance(found, Refused):
        return words(
            say("Universal Scalability Law not fitted: {reason}.", reason=words(found.reason))
        )
    return words.sentences(words(_law(found, words)), *map(words, _steal_in(found)))


def _law(found: Usl, words: Language) -> Message:
    fields = {
        "contention": f"{found.contention.value:.3g}",
        "coherency": f"{found.coherency.value:.3g}",
    }
    if found.peak is None:
        return say(
            "Universal Scalability Law: contention {contention}, coherency {coherency}; no peak "
            "within reach: {reason}.",
            **fields,
            reason=words(found.no_peak or ""),
        )
    users, rate = found.peak.users, found.peak.rate
    return say(
        "Universal Scalability Law: contention {contention}, coherency {coherency}; peak of {rate} "
        "events/s ({low} to {high}, {confidence}) at {users} users.",
        **fields,
        rate=Rate(rate.value),
        low=Rate(rate.interval.low),
        high=Rate(rate.interval.high),
        confidence=Percent(rate.interval.confidence),
        users=Rate(users.value),
    )


def _steal_in(found: Usl) -> Iterator[Message]:
    if found.steal_left_out:
        yield counted(
            "1 step with steal is left out.",
            "{number} steps with steal are left out.",
            found.steal_left_out,
        )
    if found.steal_within:
        yield counted(
            "It rests on 1 step with steal: too few others are there.",
            "It rests on {number} steps with steal: too few others are there.",
            found.steal_within,
        )


def held_by(step: StepCeilings, words: Language) -> str:
    """What holds a step back, in a few words."""
    lowest = step.lowest
    if lowest is None:
        return words(say("no ceiling could be evaluated"))
    used = lowest.used or 0.0
    fields = {"resource": resource_name(lowest.resource), "used": Percent(used)}
    if used >= HELD:
        return words(say("held by {resource}, used to {used}", **fields))
    return words(
        say("no ceiling explains it; the nearest, {resource}, is used to {used}", **fields)
    )


def answer(
    ladder: Sequence[Level], found: Diagnosis | None, lowest: StepCeilings | None, words: Language
) -> list[str]:
    """The peak and where; what holds it back and how sure that is; a doubt where there is one."""
    said = [_peak_of(ladder, words)]
    said += map(words, _held_back(found, lowest.lowest if lowest else None))
    findings = found.findings if found else ()
    if findings and findings[0].group == "validity":
        said.append(
            words(
                say(
                    "The figures are in doubt: {cause} ({confidence} sure).",
                    **_cause_fields(findings[0]),
                )
            )
        )
    return said


def _held_back(found: Diagnosis | None, ceiling: Ceiling | None) -> Iterator[Message]:
    """What holds the peak, with its lowest ceiling; then what makes the rate fall beyond it."""
    cause, beyond = (found.at_peak, found.beyond) if found else (None, None)
    if cause is None and found is not None:
        cause = next(filter(is_cause, found.findings), None)
    if cause:
        yield say("What holds it back: {cause} ({confidence} sure).", **_cause_fields(cause))
    if ceiling:
        yield say(
            "The lowest ceiling is {resource}, used to {used}.",
            resource=resource_name(ceiling.resource),
            used=Percent(ceiling.used),
        )
    if beyond and cause and beyond.cause != cause.cause:
        yield say(
            "Beyond the peak it falls because of {cause} ({confidence} sure).",
            **_cause_fields(beyond),
        )


def _cause_fields(finding: Finding) -> dict[str, Any]:
    return {"cause": cause_name(finding.cause), "confidence": Percent(finding.confidence)}


def _peak_of(ladder: Sequence[Level], words: Language) -> str:
    if rates := held(ladder):
        return held_sentence(rates, words)
    found = shape(ladder)
    level = found.peak if found else ladder[0]
    if level.tps is None:
        return words(say("No step has a rate that may be quoted."))
    fields = {"rate": _rate(level), "users": user_count(level.concurrency)}
    if found is None:
        return words(say("{rate} at {users}, the only level that was tried.", **fields))
    return words.sentences(words(_peak_and_beyond(found, fields)), *map(words, _of_steal(found)))


def _peak_and_beyond(found: Shape, fields: Mapping[str, Any]) -> Message:
    match found.beyond:
        case "untried":
            return say(
                "The peak is {rate} at {users}, the highest level that was tried: the true peak "
                "may be higher.",
                **fields,
            )
        case "level":
            return say("The peak is {rate} at {users}; near it the rate is level.", **fields)
        case "falls":
            last = found.last.tps.mean if found.last.tps else 0.0
            return say(
                "The peak is {rate} at {users}; with {more} it falls to {lower}.",
                **fields,
                more=user_count(found.last.concurrency),
                lower=Rate(last),
            )
        case "unknown":
            return say(
                "The peak is {rate} at {users}; what more users bring is not known.", **fields
            )


def search_sentences(
    found: SearchOutcome, steps: Sequence[StepResult], words: Language
) -> Iterator[str]:
    """What a search found, and how sure that is."""
    if found.concurrency and found.peak_tps:
        yield words(
            say(
                "Smallest concurrency at the peak: {users}, within a twentieth of {tps} "
                "tps ({sure}).",
                users=user_count(round(found.concurrency.value)),
                tps=Rate(found.peak_tps),
                sure=_sure(found.concurrency),
            )
        )
    if found.objective:
        yield words.sentences(_objective(found, words), *map(words, _whose_limit(found, steps)))
    if not found.complete:
        yield words(say("The search did not finish."))


def _objective(found: SearchOutcome, words: Language) -> str:
    what, beyond = f"{found.objective}", found.beyond
    if found.rate is None:
        if beyond is None:
            return words(
                say("{objective} did not hold, and no lower rate was tried.", objective=what)
            )
        return words(
            say(
                "{objective} did not hold at {rate} events/s ({sure}), and no lower rate "
                "was tried.",
                objective=what,
                rate=Rate(beyond.value),
                sure=_sure(beyond),
            )
        )
    return words.sentences(words(_holds(what, found.rate, beyond)), words(_closed(found)))


def _whose_limit(found: SearchOutcome, steps: Sequence[StepResult]) -> Iterator[Message]:
    """What else than the server may have been the limit beyond the rate that was found."""
    if found.objective is None:
        return
    closed = [step for step in steps if step.rate is None]
    limiting = steps_beyond(found, steps) or closed
    reasons = limits_in_doubt(limiting, found.objective, Variant())
    if "client-bound" in reasons:
        yield say(
            "Beyond that the load generator was the limit, not the server, which may do more: "
            "drive it from more cores or machines."
        )
    if others := reasons - {"client-bound"}:
        yield say(
            "Whether the server was the limit beyond that is in doubt: {reasons} disturbed those "
            "steps.",
            reasons=Joined(REASONS[reason] for reason in sorted(others)),
        )


def _holds(objective: str, rate: SearchLevel, beyond: SearchLevel | None) -> Message:
    fields = {"objective": objective, "rate": Rate(rate.value), "sure": _sure(rate)}
    if beyond is None:
        return say("{objective} holds up to {rate} events/s ({sure}).", **fields)
    return say(
        "{objective} holds up to {rate} events/s ({sure}); at {beyond} it does not "
        "({beyond_sure}).",
        beyond=Rate(beyond.value),
        beyond_sure=_sure(beyond),
        **fields,
    )


def _closed(found: SearchOutcome) -> str:
    if not found.closed_tps:
        return ""
    return say("In a closed loop the same users do {tps} tps.", tps=Rate(found.closed_tps))


def _sure(level: SearchLevel) -> Message:
    return say(
        "{good} of {steps}, {confidence} sure",
        good=level.good,
        steps=step_count(level.steps),
        confidence=Percent(level.confidence),
    )


def _asked(level: Level) -> str:
    return asked(level.rate) if level.rate else NOTHING
