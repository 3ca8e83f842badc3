"""What the steps of a trial show about the finding that asked for it: steps in, a proof out.

A trial compares the unchanged load (A) with the load under the change (B), and is judged like any
comparison (`analyse.verdict`): a faster B proves the finding, no relevant difference or a slower B
refutes it, anything else is not enough evidence. All trials of a run form one table, so the chance
of one false verdict among them is that of the table.

A state that cannot be restored (a cold pool) cannot alternate: then A is the parts of the run's own
window and B the windows after it, compared as two independent samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from loadstone.analyse.comparison import good_pairs, observed, takes_turns_in_blocks
from loadstone.analyse.effects import Effect
from loadstone.analyse.experimental_units import Contrast, Observed, contrasts, sides
from loadstone.analyse.verdict import Sides, Spoiled, Unit, Unpaired, Verdict, verdicts
from loadstone.model.experiment import Experiment, Rules
from loadstone.model.figure import Change, Count, General, Number, Percent
from loadstone.model.finding import Finding, Proof, ProofVerdict, Trial
from loadstone.model.message import Joined, Message, counted, say, sentences, user_count
from loadstone.model.predicted import Foretold
from loadstone.model.result import StepResult

RULES = Rules()
"""The chance of a false verdict and the smallest relevant difference, as in experiments."""

PROVEN = 0.95
"""Confidence in a finding whose trial had the effect."""

REFUTED = 0.05
"""Confidence in a finding whose trial had no effect."""

SENSIBLE = 100
"""[P] More units than this are not worth the wait."""

_TO_VERDICT: Mapping[str, ProofVerdict] = {
    "faster": "proven",
    "slower": "refuted",
    "no difference": "refuted",
    "not enough evidence": "not enough evidence",
}


@dataclass(frozen=True)
class Tried:
    """A trial that was run."""

    finding: Finding
    trial: Trial
    ladder: tuple[str, str]
    """The finding's variant and workload."""
    users: int
    experiment: Experiment
    steps: tuple[StepResult, ...]
    at: str
    """When: UTC, ISO 8601."""
    seconds: float
    folder: str
    """Folder of the trial's steps, within the run's folder."""
    before: tuple[float, ...] = ()
    """For a load that is driven once more: its rates in the run itself, by parts of the window."""
    planned: int = 0
    """Steps that its time was planned for; it may have ended earlier."""


Cell = Sequence[Sides] | Unpaired


def parts_of(seconds: Sequence[float], parts: int) -> tuple[float, ...]:
    """Means of that many parts of a window, as even as possible; fewer where it is short."""
    count, whole = min(parts, len(seconds)), len(seconds)
    return tuple(
        fmean(seconds[part * whole // count : (part + 1) * whole // count]) for part in range(count)
    )


def proofs_of(tried: Sequence[Tried]) -> tuple[Proof, ...]:
    """The proofs of the trials, judged together, in the given order."""
    cells = [units_of(each) for each in tried]
    words = verdicts(cells, RULES)
    return tuple(
        _proof(one, cell, verdict) for one, cell, verdict in zip(tried, cells, words, strict=True)
    )


def units_of(tried: Tried) -> Cell:
    """Rounds or blocks with the unchanged load next to the load under the change; or windows."""
    if tried.trial.kind == "again":
        seen = observed(tried.experiment, tried.steps)
        after = tuple(Unit(step.rate, step.spoiled) for step in seen)
        return Unpaired(tuple(Unit(rate) for rate in tried.before), after)
    steps, contrast = _observed(tried)
    found = sides(steps, contrast)
    return next(iter(found.values()), ())


def _observed(tried: Tried) -> tuple[list[Observed], Contrast]:
    """The steps by side. For a trial of the generator, client-bound steps are included."""
    seen = observed(tried.experiment, tried.steps)
    if tried.trial.settings[0].name == "shards":
        bound: Spoiled = "client-bound"
        seen = [replace(step, spoiled=step.spoiled - {bound}) for step in seen]
    if tried.trial.kind != "users":
        return seen, contrasts(tried.experiment)[0]
    # An experiment compares within a number of users; here the two numbers are the two sides.
    by_users = [
        replace(step, variant=str(step.cell[1]), cell=(step.cell[0], 0, None)) for step in seen
    ]
    few, many = (str(level) for level in tried.experiment.ladder)
    return by_users, Contrast("users", few, many)


Rates = tuple[Sequence[float], Sequence[float]]
"""Rates of the valid units: of the unchanged load, and under the change."""


def _rates_of(cell: Cell) -> Rates:
    if isinstance(cell, Unpaired):
        before, after = (
            [unit.rate for unit in side if unit.rate and not unit.spoiled]
            for side in (cell.a, cell.b)
        )
        return before, after
    good = good_pairs(cell)
    return [pair.a for pair in good], [pair.b for pair in good]


def _proof(tried: Tried, cell: Cell, verdict: Verdict) -> Proof:
    effect = verdict.effect
    interval = effect.interval if effect else None
    change = effect.relative if effect else None
    low, high = (interval.low, interval.high) if interval else (None, None)
    before, changed = good = _rates_of(cell)
    return Proof(
        variant=tried.ladder[0],
        workload=tried.ladder[1],
        cause=tried.finding.cause,
        users=tried.users,
        trial=tried.trial,
        verdict=_TO_VERDICT[verdict.word],
        sentence=_sentence(tried, verdict, good),
        change=change,
        change_low=low,
        change_high=high,
        cost=cost_of(change),
        cost_low=cost_of(low),
        cost_high=cost_of(high),
        confidence=1 - RULES.level,
        p_value=verdict.p_difference,
        tps_before=fmean(before) if before else None,
        tps_changed=fmean(changed) if changed else None,
        units=effect.units if effect else 0,
        left_out={str(why): count for why, count in sorted(verdict.left_out.items())},
        more=verdict.more,
        at=tried.at,
        seconds=tried.seconds,
        steps=tried.folder,
        foretold=_foretold(tried.finding, before),
    )


def _foretold(finding: Finding, before: Sequence[float]) -> Foretold | None:
    """What was predicted, from the rate that the trial itself had without the change."""
    if finding.foretold is None or not before:
        return finding.foretold
    return finding.foretold.from_rate(fmean(before))


def cost_of(change: float | None) -> float | None:
    """The share that the rate lacks without the change: 1 is 31 % less than 1.45."""
    return None if change is None else 1 - 1 / (1 + change)


def _sentence(tried: Tried, verdict: Verdict, good: Rates) -> Message:
    trial, effect = tried.trial, verdict.effect
    if effect is None:
        return _nothing_left(verdict)
    measured = _measured(effect, tried)
    match verdict.word:
        case "faster":
            cost = _cost(tried, effect, good)
            return (
                sentences(cost, say("If kept, {costs}.", costs=trial.costs))
                if trial.costs
                else cost
            )
        case "slower":
            return _stands(
                trial,
                say(
                    "with {change} the rate falls ({measured}).",
                    change=trial.change,
                    measured=measured,
                ),
            )
        case "no difference":
            return _stands(
                trial,
                say(
                    "{change} has no effect within {margin} ({measured}).",
                    change=trial.change,
                    margin=Percent(verdict.margin),
                    measured=measured,
                ),
            )
    return say(
        "{change} may or may not change the rate ({measured}).",
        change=trial.change,
        measured=Joined((measured, *_needed(verdict, tried)), "clauses"),
    )


def _needed(verdict: Verdict, tried: Tried) -> Iterator[Message]:
    """What would be enough: more units, or less noise."""
    steps = [step for step in tried.steps if step.state == "finished"]
    if len(steps) < tried.planned:
        yield say(
            "it ended after {done} of {planned} steps: a longer --prove-time runs them all",
            done=len(steps),
            planned=tried.planned,
        )
    if verdict.more is None:
        return
    if verdict.more > SENSIBLE:
        yield say("they differ too much from each other: use a quieter machine")
    else:
        yield say("{units} more would be enough", units=_units(verdict.more, tried))


def _stands(trial: Trial, sentence: Message) -> Message:
    """A sentence for a remedy that does not help although the cause may still be right."""
    if trial.refutes:
        return sentence
    return sentences(sentence, say("That is no remedy; the cause stands."))


def _cost(tried: Tried, effect: Effect, good: Rates) -> Message:
    """The cost in words: `TLS costs 31 % ± 4 % of the rate`, and both rates."""
    before, changed = (Number(fmean(side)) for side in good)
    values = {
        "subject": tried.trial.subject,
        "cost": _share_lost(effect),
        "change": tried.trial.change,
        "changed": changed,
        "before": before,
        "measured": _measured(effect, tried),
    }
    if tried.trial.kind == "users":
        return say(
            "{subject} costs {cost} of the rate: with {change} there are {changed} events a second "
            "rather than {before} ({measured}).",
            **values,
        )
    return say(
        "{subject} costs {cost} of the rate: with {change}, {users} do {changed} events a second "
        "rather than {before} ({measured}).",
        users=user_count(tried.users),
        **values,
    )


def _share_lost(effect: Effect) -> Percent | Message:
    """The lost share with its uncertainty: `31 % ± 4 %`."""
    cost = Percent(cost_of(effect.relative))
    if effect.interval is None:
        return cost
    low, high = cost_of(effect.interval.low), cost_of(effect.interval.high)
    return say("{share} ± {half}", share=cost, half=Percent(((high or 0.0) - (low or 0.0)) / 2))


def _measured(effect: Effect, tried: Tried) -> Message:
    units = _units(effect.units, tried)
    if tried.trial.kind == "again":
        after = _units(len(tried.steps), tried)
        units = say("{units} after the run's own, not alternating", units=after)
    change = Change(effect.relative)
    if effect.interval is None:
        return say("{change}, {units}", change=change, units=units)
    return say(
        "{change}; {confidence} %: {low} to {high}, {units}",
        change=change,
        confidence=General(100 * effect.interval.confidence),
        low=Change(effect.interval.low),
        high=Change(effect.interval.high),
        units=units,
    )


def _units(number: int, tried: Tried) -> Message:
    if tried.trial.kind == "again":
        return counted("1 window", "{number} windows", number)
    if takes_turns_in_blocks(tried.experiment):
        return counted("1 pair of blocks", "{number} pairs of blocks", number)
    return counted("1 round", "{number} rounds", number)


_REASONS: Mapping[Spoiled, Message] = {
    "client-bound": say("client-bound"),
    "steal": say("steal"),
    "throttled": say("throttled"),
    "unsteady": say("unsteady"),
    "incomplete": say("incomplete"),
    "nothing done": say("nothing done"),
    "objective missed": say("objective missed"),
}
"""Why units are left out."""


def _nothing_left(verdict: Verdict) -> Message:
    if not verdict.left_out:
        return say("no alternating measurement came to its end.")
    why = [
        say("{number} {reason}", number=Count(number), reason=_REASONS[reason])
        for reason, number in sorted(verdict.left_out.items())
    ]
    return say("no unit counts ({why}).", why=Joined(why))


def with_proofs(findings: Iterable[Finding], proofs: Iterable[Proof]) -> list[Finding]:
    """Add the results of trials to the findings; a refuted one becomes a note."""
    by_cause = {proof.cause: proof for proof in proofs}
    return [_with_proof(finding, by_cause.get(finding.cause)) for finding in findings]


def _with_proof(finding: Finding, proof: Proof | None) -> Finding:
    """Ignores a trial of another change (from before the rule was altered): it says nothing."""
    if proof is None or finding.trial is None or not _is_of(proof.trial, finding.trial):
        return finding
    proved = finding.model_copy(update={"proof": proof})
    if proved.is_refuted:
        sure = min(finding.confidence, REFUTED)
        return proved.model_copy(update={"group": "note", "confidence": sure})
    if proof.verdict == "proven":
        return proved.model_copy(update={"confidence": max(finding.confidence, PROVEN)})
    return proved


def _is_of(proved: Trial, asked: Trial) -> bool:
    """Whether both change the same things, even by different amounts."""
    names = [[setting.name for setting in trial.settings] for trial in (proved, asked)]
    return (proved.kind, names[0]) == (asked.kind, names[1])
