"""What a ladder and its limits say in a sentence or two, in the words of a language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from loadstone.analyse.comparison import limits_in_doubt
from loadstone.analyse.ladder import Level, Shape, levels, middle_step, rate_of, rated, shape, steal
from loadstone.analyse.open_loop import Held, held, keeps_up, uncut
from loadstone.analyse.search import AT_PEAK, holds, limiting_steps
from loadstone.analyse.usl import Refused, Usl
from loadstone.analyse.verdict import REASONS
from loadstone.diagnosis.diagnose import is_cause
from loadstone.diagnosis.order import GENERATOR
from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.model.asked_rate import asked
from loadstone.model.ceilings import Ceiling, StepCeilings
from loadstone.model.experiment import Variant
from loadstone.model.figure import Count, Percent, Rate, Seconds
from loadstone.model.finding import Diagnosis, Finding
from loadstone.model.language import Language
from loadstone.model.message import Joined, Message, counted, say, user_count
from loadstone.model.numbers import NOTHING, count, digits
from loadstone.model.plan import REPLAY, WATCHED
from loadstone.model.result import CLIENT_LATE_SHARE, Result, StepResult
from loadstone.model.search import Level as SearchLevel
from loadstone.model.search import SearchOutcome
from loadstone.report.names import cause_name, repeat_count, resource_name, step_count
from loadstone.report.notes import own_share
from loadstone.runs.rate_interval import FEWEST_SECONDS

HELD = 0.8
"""A ceiling limits a step whose rate is at least this share of it."""


def verdict(ladder: Sequence[Level], words: Language) -> str | None:
    """What a ladder shows in a sentence or two; `None` where it is a single closed step."""
    if rates := held(ladder):
        return held_sentence(rates, words)
    found = shape(ladder)
    return peak_sentence(found, words) if found else None


def watched(result: Result) -> bool:
    """Whether the run only watched, without load of its own."""
    return bool(result.run.plan and result.run.plan["workload"]["name"] == WATCHED)


def warmup_of(plan: Mapping[str, Any]) -> float:
    """Seconds of load before the window; a replay sends nothing while its connections open."""
    script = plan["workload"].get("script") or {}
    lead_s = script.get("options", {}).get("lead_s") if plan["workload"]["name"] == REPLAY else None
    return max(float(plan["warmup"]["warmup_s"]) - float(lead_s or 0), 0.0)


def watched_sentences(result: Result, words: Language) -> Iterator[str]:
    """For how long a server was watched."""
    for window in (step.window for step in result.steps if step.window):
        seconds = Seconds(window.to_s - window.from_s)
        yield words(say("Watched for {duration}, without load of ours.", duration=seconds))


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
    late = [step for step in uncut(rates.lost.steps) if not keeps_up(step)]
    step = middle_step(late)
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
    if len(late) < len(rates.lost.steps):
        repeats = step_count(len(rates.lost.steps))
        some = say("It did not keep up in {late} of {steps}.", late=len(late), steps=repeats)
        return words.sentences(said, lost, words(some))
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
    tps, half, number = digits(level.tps.mean), level.tps.of_a_rate, level.tps.repeats
    repeats = repeat_count(number)
    if half is None:
        if number < 2:
            return say("{tps} tps", tps=tps)
        return say("{tps} tps ({repeats}: not enough for an interval)", tps=tps, repeats=repeats)
    if number < 2:
        return say("{tps} ± {half} tps (95 %, within the step)", tps=tps, half=digits(half))
    return say("{tps} ± {half} tps (95 %, {repeats})", tps=tps, half=digits(half), repeats=repeats)


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
        case "lower":
            last = found.last.tps.mean if found.last.tps else 0.0
            return words(
                say(
                    "With {users} it is {tps}, which may be noise: only repeats, or steps of "
                    "{seconds} s and more, have an interval.",
                    users=user_count(found.last.concurrency),
                    tps=Rate(last),
                    seconds=FEWEST_SECONDS,
                )
            )
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
        "contention": _parameter(found.contention.value),
        "coherency": _parameter(found.coherency.value),
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


def _parameter(value: float) -> str:
    """Three digits; what is lost when it is added to 1, as the law does, is 0."""
    return f"{value:.3g}" if 1.0 + value != 1.0 else "0"


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
    if (lowest.used or 0.0) >= HELD:
        return words(say("held by {ceiling}", ceiling=_reached(lowest)))
    return words(say("no ceiling explains it; the nearest is {ceiling}", ceiling=_reached(lowest)))


def _reached(ceiling: Ceiling) -> Message:
    """Which ceiling, and how much of it is used by whom."""
    fields = {"resource": resource_name(ceiling.resource), "used": Percent(ceiling.used)}
    if ceiling.resource == "concurrency":
        return say(
            "the number of users: they do {used} of what the shortest response time allows",
            **fields,
        )
    if ceiling.resource == "row locks":
        return say("{resource}: {used} of the writes found their row locked", **fields)
    if ceiling.others:
        return say("{resource}: the load uses {used} of what other programs leave", **fields)
    return say("{resource}, used to {used}", **fields)


def answer(
    ladder: Sequence[Level], found: Diagnosis | None, lowest: StepCeilings | None, words: Language
) -> list[str]:
    """The peak and where; what holds it back and how sure that is; a doubt where there is one."""
    said = [_peak_of(ladder, words)]
    shaped = shape(ladder)
    is_fall = shaped is not None and shaped.beyond == "falls"
    first = found.findings[0] if found and found.findings else None
    best = middle_step((shaped.peak if shaped else ladder[0]).steps)
    if had_outage(best):
        return said  # a drill is about its outage, which is what holds the rate back
    drives = first is not None and first.cause == GENERATOR
    is_generator = first is not None and drives and best.step in first.steps
    # Where the generator is the limit, nothing else holds the peak back.
    held = None if is_generator else found
    if first and first.group == "validity" and (is_generator or not drives):
        said.append(words(_doubt(first)))
    said += map(words, _held_back(held, lowest.lowest if lowest else None, is_fall=is_fall))
    return said


def had_outage(step: StepResult) -> bool:
    """Whether users were without a server, as in a drill."""
    return bool(step.timeline and step.timeline.outages)


def doubts_of(found: Iterable[Diagnosis]) -> Iterator[Message]:
    """What makes the figures of several ladders doubtful, each cause once."""
    firsts = (one.findings[0] for one in found if one.findings)
    in_doubt = [each for each in firsts if each.group == "validity" and each.cause != GENERATOR]
    surest = {each.cause: each for each in sorted(in_doubt, key=lambda each: each.confidence)}
    yield from map(_doubt, surest.values())


def _doubt(finding: Finding) -> Message:
    return say(
        "The figures are in doubt, do not compare them: {cause} ({confidence} sure).",
        **_cause_fields(finding),
    )


def _held_back(
    found: Diagnosis | None, ceiling: Ceiling | None, *, is_fall: bool
) -> Iterator[Message]:
    """What holds the peak, with its lowest ceiling; then what makes the rate fall beyond it."""
    cause, beyond = (found.at_peak, found.beyond) if found else (None, None)
    if cause is None and found is not None:
        cause = next(filter(is_cause, found.findings), None)
    if cause and cause.cause == NOT_OBSERVED:
        yield say("What holds it back is not known: {cause}.", cause=cause_name(cause.cause))
    elif cause:
        yield say("What holds it back: {cause} ({confidence} sure).", **_cause_fields(cause))
    if ceiling:
        yield say("The lowest ceiling is {ceiling}.", ceiling=_reached(ceiling))
    if beyond and is_fall and cause and beyond.cause != cause.cause:
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
        return words(say("{rate} at {users}, the only number of users that was tried.", **fields))
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
        case "lower":
            last = found.last.tps.mean if found.last.tps else 0.0
            return say(
                "The peak is {rate} at {users}; with {more} it is {lower}, which may be noise: "
                "only repeats, or steps of {seconds} s and more, have an interval.",
                **fields,
                more=user_count(found.last.concurrency),
                lower=Rate(last),
                seconds=FEWEST_SECONDS,
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
        tried = levels([step for step in steps if step.rate is None])
        fewest = _fewest_users(found.concurrency, found.peak_tps, tried)
        yield words.sentences(words(fewest), *map(words, _noise_at_peak(tried)))
    if found.objective:
        said = (_objective(found, steps), *_whose_limit(found, steps), *_closed(found))
        yield words.sentences(*map(words, said))
    if not found.complete:
        yield words(say("The search did not finish."))


def _fewest_users(level: SearchLevel, peak_tps: float, tried: Sequence[Level]) -> Message:
    """The fewest users at the peak, and how near to the highest rate they come."""
    mine = next((one for one in tried if one.concurrency == round(level.value)), None)
    tps = (rate_of(mine) if mine else None) or 0.0
    best = max(tried, key=lambda one: rate_of(one) or 0.0, default=None)
    fields = {"users": user_count(round(level.value)), "tps": Rate(tps), "sure": _sure(level)}
    if best is None or best is mine:
        return say(
            "Fewest users at the peak: {users} with {tps} tps, the highest rate ({sure}).", **fields
        )
    return say(
        "Fewest users at the peak: {users} with {tps} tps, within {share} of the highest, {peak} "
        "at {most} ({sure}).",
        share=Percent(1 - AT_PEAK),
        peak=Rate(peak_tps),
        most=user_count(best.concurrency),
        **fields,
    )


def _noise_at_peak(tried: Sequence[Level]) -> Iterator[Message]:
    """That the repeats of one level differ by more than what decides which one is at the peak."""
    spreads = [
        (max(rates) / (min(rates) or 1.0), level.concurrency, min(rates), max(rates))
        for level in tried
        if (rates := [step.tps for step in rated(level.steps) if step.tps is not None])
    ]
    worst, users, low, high = max(spreads, default=(1.0, 0, 0.0, 0.0))
    if worst * AT_PEAK > 1:
        yield say(
            "The repeats at {users} did {low} to {high} tps, which is more than the {share} that "
            "decides: where the peak is may be chance. Search again on a quieter machine, or with "
            "a longer --duration.",
            users=user_count(users),
            low=Rate(low),
            high=Rate(high),
            share=Percent(1 - AT_PEAK),
        )


def _objective(found: SearchOutcome, steps: Sequence[StepResult]) -> Message:
    what, beyond = f"{found.objective}", found.beyond
    if found.rate:
        return _holds(found, found.rate, steps)
    if beyond is None:
        return say("No verdict on {objective}: no rate was tried to the end.", objective=what)
    return say(
        "{objective} did not hold at {rate} events/s ({sure}), and no lower rate was tried.",
        objective=what,
        rate=Rate(beyond.value),
        sure=_held_in(beyond, found, steps),
    )


def _whose_limit(found: SearchOutcome, steps: Sequence[StepResult]) -> Iterator[Message]:
    """What else than the server may have been the limit at the rates that failed."""
    if found.objective is None or not (found.rate or found.beyond):
        return
    limiting = limiting_steps(found, steps)
    reasons = limits_in_doubt(limiting, found.objective, Variant())
    if "client-bound" in reasons:
        lost = [step for step in limiting if not (step.rate and holds(step, found.objective))]
        yield from _generators_limit(lost)
    if others := reasons - {"client-bound"}:
        yield say(
            "Whether the server was the limit there is in doubt: {reasons} disturbed those steps.",
            reasons=Joined(REASONS[reason] for reason in sorted(others)),
        )


def _generators_limit(lost: Sequence[StepResult]) -> Iterator[Message]:
    """That the generator was the limit of these steps, and how much of the p99 was its own."""
    shares = [own_share(step) or 0.0 for step in lost if step.generator.client_bound]
    worst = max(shares, default=0.0)
    if worst > CLIENT_LATE_SHARE:
        yield say(
            "There the load generator was the limit, not the server (up to {share} of the p99 was "
            "the generator's own lateness).",
            share=Percent(worst),
        )
    else:
        yield say("There the load generator was the limit, not the server.")
    yield say("The server may do more: drive it from more cores or machines.")


def _holds(found: SearchOutcome, rate: SearchLevel, steps: Sequence[StepResult]) -> Message:
    beyond = found.beyond
    fields = {
        "objective": f"{found.objective}",
        "rate": Rate(rate.value),
        "sure": _held_in(rate, found, steps),
    }
    if beyond is None:
        return say("{objective} holds up to {rate} events/s ({sure}).", **fields)
    return say(
        "{objective} holds up to {rate} events/s ({sure}); at {beyond} it does not "
        "({beyond_sure}).",
        beyond=Rate(beyond.value),
        beyond_sure=_held_in(beyond, found, steps),
        **fields,
    )


def _closed(found: SearchOutcome) -> Iterator[Message]:
    if found.rate and found.closed_tps:
        yield say("In a closed loop the same users do {tps} tps.", tps=Rate(found.closed_tps))


def _sure(level: SearchLevel) -> Message:
    return say(
        "{good} of {steps}, {confidence} sure",
        good=level.good,
        steps=step_count(level.steps),
        confidence=Percent(level.confidence),
    )


def _held_in(level: SearchLevel, found: SearchOutcome, steps: Sequence[StepResult]) -> Message:
    """In how many steps the objective held; where they differ, with their figures."""
    fields = {
        "good": level.good,
        "steps": step_count(level.steps),
        "confidence": Percent(level.confidence),
    }
    figures = [
        value
        for step in steps
        if found.objective
        and step.rate
        and step.rate.rate == level.value
        and (value := getattr(step.latency.response, found.objective.figure)) is not None
    ]
    if found.objective is None or level.good in (0, level.steps) or len(figures) < 2:
        return say("{good} of {steps} held, {confidence} sure", **fields)
    return say(
        "{good} of {steps} held, with a {figure} of {values} ms; {confidence} sure",
        figure=found.objective.figure,
        values=Joined(digits(value) for value in figures),
        **fields,
    )


def _asked(level: Level) -> str:
    return asked(level.rate) if level.rate else NOTHING
