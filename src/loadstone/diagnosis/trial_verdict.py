"""What the steps of a trial say of the finding that asked for it. Steps in, words out.

A trial is a comparison of the load as it was (A) with the load under the change (B), and is judged
as one (`analyse.verdict`): B faster proves the finding, no difference that matters or a slower B
refutes it, and anything else is not enough evidence. All trials of a run are one table: the chance
of even one false word among them is that of the table.

What cannot be had back (a pool that was cold) has no turns: then A is the run's own window, by
parts, and B the windows after it, compared as two samples that have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from loadstone.analyse.comparison import good_pairs, observed, takes_turns_in_blocks
from loadstone.analyse.effects import Effect
from loadstone.analyse.experimental_units import Contrast, Observed, contrasts, sides
from loadstone.analyse.verdict import Sides, Spoiled, Unit, Unpaired, Verdict, verdicts
from loadstone.model.experiment import Experiment, Rules
from loadstone.model.finding import Finding, Proof, ProofVerdict, Trial
from loadstone.model.numbers import num, pct, signed, users
from loadstone.model.result import StepResult

RULES = Rules()
"""The chance of a false word and the smallest difference that matters, as experiments have them."""

PROVEN = 0.95
"""How sure a name is whose trial had the effect."""

REFUTED = 0.05
"""How sure a name is whose trial had no effect."""

SENSIBLE = 100
"""[P] units that somebody may be ready to wait for."""

_TO_VERDICT: Mapping[str, ProofVerdict] = {
    "faster": "proven",
    "slower": "refuted",
    "no difference": "refuted",
    "not enough evidence": "not enough evidence",
}


@dataclass(frozen=True)
class Tried:
    """A trial that was carried out."""

    finding: Finding
    trial: Trial
    ladder: tuple[str, str]
    """Variant and workload of the run that the finding is of."""
    users: int
    experiment: Experiment
    steps: tuple[StepResult, ...]
    at: str
    """When: UTC, ISO 8601."""
    seconds: float
    folder: str
    """Folder of the trial's steps, within the run's folder."""
    before: tuple[float, ...] = ()
    """Of a load that is driven once more: its rates in the run itself, by parts of the window."""


Cell = Sequence[Sides] | Unpaired


def parts_of(seconds: Sequence[float], parts: int) -> tuple[float, ...]:
    """Means of so many stretches of a window, as even as they can be; fewer where it is short."""
    count, whole = min(parts, len(seconds)), len(seconds)
    return tuple(
        fmean(seconds[part * whole // count : (part + 1) * whole // count]) for part in range(count)
    )


def proofs_of(tried: Sequence[Tried]) -> tuple[Proof, ...]:
    """What they say together, in the order given."""
    cells = [units_of(each) for each in tried]
    words = verdicts(cells, RULES)
    return tuple(
        _proof(one, cell, verdict) for one, cell, verdict in zip(tried, cells, words, strict=True)
    )


def units_of(tried: Tried) -> Cell:
    """Rounds or blocks, the load as it was beside the load under the change; or windows."""
    if tried.trial.kind == "again":
        seen = observed(tried.experiment, tried.steps)
        after = tuple(Unit(step.rate, step.spoiled) for step in seen)
        return Unpaired(tuple(Unit(rate) for rate in tried.before), after)
    steps, contrast = _observed(tried)
    found = sides(steps, contrast)
    return next(iter(found.values()), ())


def _observed(tried: Tried) -> tuple[list[Observed], Contrast]:
    """The steps by their side; that the generator is the limit is what its own trial is about."""
    seen = observed(tried.experiment, tried.steps)
    if tried.trial.settings[0].name == "shards":
        bound: Spoiled = "client-bound"
        seen = [replace(step, spoiled=step.spoiled - {bound}) for step in seen]
    if tried.trial.kind != "users":
        return seen, contrasts(tried.experiment)[0]
    # The numbers of users are cells of their own there: here they are the two sides of one.
    by_users = [
        replace(step, variant=str(step.cell[1]), cell=(step.cell[0], 0, None)) for step in seen
    ]
    few, many = (str(level) for level in tried.experiment.ladder)
    return by_users, Contrast("users", few, many)


Rates = tuple[Sequence[float], Sequence[float]]
"""Rates of the units that count: the load as it was, and under the change."""


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
    )


def cost_of(change: float | None) -> float | None:
    """The share that is missing from the rate with the change: 1 of 1.45 is 31 % less."""
    return None if change is None else 1 - 1 / (1 + change)


def _sentence(tried: Tried, verdict: Verdict, good: Rates) -> str:
    trial, effect = tried.trial, verdict.effect
    if effect is None:
        return f"{_nothing_left(verdict)}."
    measured = _measured(effect, tried)
    match verdict.word:
        case "faster":
            kept = f" Kept so, {trial.costs}." if trial.costs else ""
            return f"{_costs(trial, effect)}: {_rates(tried, good)} ({measured}).{kept}"
        case "slower":
            return f"with {trial.change} the rate falls ({measured}).{_stands(trial)}"
        case "no difference":
            within = f"{100 * verdict.margin:g} %"
            return f"{trial.change} has no effect within {within} ({measured}).{_stands(trial)}"
    return f"{trial.change} may change the rate or not ({measured}{_wanted(verdict, tried)})."


def _wanted(verdict: Verdict, tried: Tried) -> str:
    """What would do: more of the same, or less noise."""
    if verdict.more is None:
        return ""
    if verdict.more > SENSIBLE:
        return "; they differ too much among each other: a quieter machine"
    return f"; {_units(verdict.more, tried)} more would do"


def _stands(trial: Trial) -> str:
    """A remedy may be none, and the cause still be the right one."""
    return "" if trial.refutes else " That is no remedy; the cause stands."


def _costs(trial: Trial, effect: Effect) -> str:
    """`TLS costs 31 % ± 4 % of the rate`."""
    cost = cost_of(effect.relative) or 0.0
    half = ""
    if effect.interval:
        low, high = cost_of(effect.interval.low), cost_of(effect.interval.high)
        half = f" ± {pct(((high or 0.0) - (low or 0.0)) / 2)}"
    return f"{trial.subject[:1].upper()}{trial.subject[1:]} costs {pct(cost)}{half} of the rate"


def _rates(tried: Tried, good: Rates) -> str:
    before, changed = (fmean(side) for side in good)
    who = "" if tried.trial.kind == "users" else f"{users(tried.users)} do "
    doing = f"{num(changed)} events a second rather than {num(before)}"
    return f"with {tried.trial.change} {who or 'there are '}{doing}"


def _measured(effect: Effect, tried: Tried) -> str:
    units = _units(effect.units, tried)
    if tried.trial.kind == "again":
        units = f"{_units(len(tried.steps), tried)} after the run's own, not by turns"
    if effect.interval is None:
        return f"{signed(effect.relative)}, {units}"
    low, high = signed(effect.interval.low), signed(effect.interval.high)
    sure = f"{100 * effect.interval.confidence:g} %"
    return f"{signed(effect.relative)}; {sure}: {low} to {high}, {units}"


def _units(count: int, tried: Tried) -> str:
    one, many = "round", "rounds"
    if tried.trial.kind == "again":
        one, many = "window", "windows"
    elif takes_turns_in_blocks(tried.experiment):
        one, many = "pair of blocks", "pairs of blocks"
    return f"{count:,} {one if count == 1 else many}"


def _nothing_left(verdict: Verdict) -> str:
    if not verdict.left_out:
        return "nothing was measured by turns to its end"
    why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(verdict.left_out.items()))
    return f"no unit counts ({why})"


def with_proofs(findings: Iterable[Finding], proofs: Iterable[Proof]) -> list[Finding]:
    """The findings with what their trials showed: a name that was refuted is a note at most."""
    by_cause = {proof.cause: proof for proof in proofs}
    return [_with_proof(finding, by_cause.get(finding.cause)) for finding in findings]


def _with_proof(finding: Finding, proof: Proof | None) -> Finding:
    """A trial of another change (the rule has been altered since) says nothing of this one."""
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
    """Whether both change the same things; by how much may differ."""
    names = [[setting.name for setting in trial.settings] for trial in (proved, asked)]
    return (proved.kind, names[0]) == (asked.kind, names[1])
