"""Runs the rules over each ladder of a run, and orders the findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from loadstone.analyse.ceilings import ceilings
from loadstone.analyse.environment_diff import target_of
from loadstone.analyse.ladder import KNEE_SHARE, SAME_SHARE, Level, levels, middle_step
from loadstone.diagnosis.all_rules import COMMON_RULES, RULES_OF
from loadstone.diagnosis.claims import Held, claimed
from loadstone.diagnosis.context import Absent, Case, Missing, Seconds
from loadstone.diagnosis.foretelling import with_foretold
from loadstone.diagnosis.holds import Holds
from loadstone.diagnosis.no_trial import with_reason
from loadstone.diagnosis.not_default import with_changed_settings
from loadstone.diagnosis.order import (
    ANSWERS,
    EXPLAINS,
    GENERATOR,
    in_order,
    noted,
    says_where_users_are,
)
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trial_verdict import with_proofs
from loadstone.diagnosis.unexplained import NOT_OBSERVED, unexplained
from loadstone.diagnosis.without_effect import without_effect
from loadstone.model.ceilings import Limits
from loadstone.model.figure import Seconds as Time
from loadstone.model.finding import Diagnosis, Finding, LevelCause, NotEvaluated, Proof
from loadstone.model.message import Message, say, sentences
from loadstone.model.plan import WATCHED
from loadstone.model.result import Result, StepResult


@dataclass(frozen=True)
class Known:
    """What is known about a run besides its result."""

    environment: Mapping[str, Any] = field(default_factory=dict)
    seconds: Seconds | None = None
    limits: Limits = field(default_factory=Limits)
    proofs: tuple[Proof, ...] = ()
    """The results of the trials of its findings."""


def diagnose(result: Result, known: Known) -> list[Diagnosis]:
    """One diagnosis per variant and workload; the rates of an open loop are levels, too."""
    return [diagnosis_of(case, known.proofs) for case in cases_of(result, known)]


def cases_of(result: Result, known: Known) -> Iterator[Case]:
    """One case per ladder, at its last level."""
    of_step = {one.step: one for one in ceilings(result.steps, known.limits)}
    measured = [step for step in result.steps if step.seconds and step.workload != WATCHED]

    def place(level: Level) -> tuple[str, str]:
        return level.variant, level.workload

    for _, group in groupby(levels(measured), key=place):
        ladder = tuple(middle_step(level.steps) for level in group)
        yield Case(
            step=ladder[-1],
            ladder=ladder,
            variables=_variables(known.environment, ladder[-1]),
            environment=known.environment,
            drive=(result.run.plan or {}).get("drive", {}),
            is_scripted=bool((result.run.plan or {}).get("workload", {}).get("script")),
            ceilings=of_step,
            limits=known.limits,
            seconds=known.seconds,
        )


def diagnosis_of(case: Case, proofs: Sequence[Proof] = ()) -> Diagnosis:
    """Apply all rules to the levels that need explaining, and add the results of earlier trials."""
    ladder = (case.step.variant, case.step.workload)
    proved = [one for one in proofs if one.ladder == ladder]
    judged = [_judged(rule, case) for rule in RULES_OF[case.family]]
    held = {step.step: _held_at(case.at(step), judged) for step in case.ladder}
    ordered = _in_order(_merged(held), proved)
    if not any(finding.group != "note" for finding in ordered) and not _says_why(ordered):
        ordered = [unexplained(case), *ordered]
    ordered = [with_changed_settings(ordered[0], case), *ordered[1:]]

    def holding(step: StepResult) -> Finding | None:
        found = next(filter(is_cause, _in_order(held[step.step], proved)), None)
        return found and with_reason(found)

    peak, last = _peak(case.ladder), case.ladder[-1]
    falls = (last.tps or 0.0) < (1 - SAME_SHARE) * (peak.tps or 0.0)
    at_peak = holding(peak)
    # A finding that is heaviest beyond the peak may have nothing to do with the peak itself, nor
    # does a generator that was the limit at other levels only.
    first = ordered[0]
    elsewhere = first.cause == GENERATOR and peak.step not in first.steps
    of_peak = at_peak and (is_cause(first) or elsewhere) and at_peak.cause != first.cause
    return Diagnosis(
        variant=case.step.variant,
        workload=case.step.workload,
        answer=at_peak.sentence if at_peak and of_peak else ordered[0].sentence,
        findings=tuple(with_reason(finding) for finding in ordered),
        at_peak=at_peak,
        beyond=holding(last) if falls else None,
        levels=tuple(_level(step, holding(step)) for step in levels_to_explain(case.ladder)),
        without_effect=without_effect(case, {one.rule.cause for one in judged if one.is_silent}),
        not_evaluated=tuple(
            NotEvaluated(cause=one.rule.cause, needs=one.needs) for one in judged if one.needs
        ),
        not_judged=tuple(share.target for share in case.step.targets[1:]),
    )


def _held_at(case: Case, judged: Iterable[_Judged]) -> list[Held]:
    """What was found at a step, with the users' time that each cause holds there."""
    found = [
        (finding, one.holds_of(finding, case)) for one in judged for finding in one.at(case.step)
    ]
    held = claimed(found, case)
    return [_with_foretold(one, held, case) for one in held]


def _with_foretold(one: Held, held: Iterable[Held], case: Case) -> Held:
    """With the rate that its remedy is predicted to bring, which ends its symptoms as well."""
    symptoms = [
        other for other in held if other.finding.cause in EXPLAINS.get(one.finding.cause, ())
    ]
    return one.of(
        with_foretold(
            one.finding,
            case,
            one.follows,
            [claim for other in symptoms for claim in other.finding.claims],
            is_priced=any(each.holds.is_priced for each in (one, *symptoms)),
        )
    )


def _merged(held: Mapping[int, Sequence[Held]]) -> list[Held]:
    """Each cause once, as the step shows it that shows it most, with the numbers of all."""
    by_cause: dict[str, list[tuple[int, Held]]] = {}
    for number, found in held.items():
        for one in found:
            by_cause.setdefault(one.finding.cause, []).append((number, one))
    return [_strongest(group) for group in by_cause.values()]


def _strongest(group: Sequence[tuple[int, Held]]) -> Held:
    level, best = max(group, key=lambda one: one[1].weight)
    steps = tuple(number for number, _ in group)
    return replace(best.of(best.finding.model_copy(update={"steps": steps})), level=level)


def _in_order(held: Sequence[Held], proofs: Sequence[Proof]) -> list[Finding]:
    """The most important first."""
    proved = with_proofs((one.finding for one in held), proofs)
    shown = [one.of(finding) for one, finding in zip(held, proved, strict=True)]
    return _without_idle_words(in_order(noted(shown)))


def is_cause(finding: Finding) -> bool:
    """Whether it holds the load back: neither a doubt about the figures nor a remark."""
    if finding.group == "note":
        return finding.cause in (*ANSWERS, NOT_OBSERVED, "unexplained")
    return finding.group != "validity"


def _level(step: StepResult, cause: Finding | None) -> LevelCause:
    return LevelCause(
        step=step.step,
        users=step.concurrency,
        rate=step.rate,
        tps=step.tps,
        cause=cause.cause if cause else None,
        share=cause.share if cause else None,
    )


def _peak(ladder: Sequence[StepResult]) -> StepResult:
    return max(ladder, key=lambda step: step.tps or 0.0)


def _without_idle_words(findings: list[Finding]) -> list[Finding]:
    """The findings without "nothing is used up", unless that is true."""
    if all(finding.group == "note" for finding in findings):
        return findings
    return [finding for finding in findings if finding.cause not in ANSWERS]


def levels_to_explain(ladder: Sequence[StepResult]) -> tuple[StepResult, ...]:
    """The levels from the knee on: below it more users bring more, so only they limit the rate."""
    best = max((step.tps or 0.0 for step in ladder), default=0.0)
    if not best:
        return tuple(ladder)
    knee = next(at for at, step in enumerate(ladder) if (step.tps or 0.0) >= KNEE_SHARE * best)
    return tuple(ladder[knee:])


@dataclass(frozen=True)
class _Judged:
    """What a rule found: by level, or what it misses at all levels."""

    rule: Rule
    found: tuple[tuple[int, Finding], ...]
    """A step's number, and what the rule found there."""
    needs: Message | None
    is_silent: bool
    """Whether it was evaluated at all levels, and found nothing."""

    def at(self, step: StepResult) -> Iterator[Finding]:
        """What was found at one level."""
        return (finding for number, finding in self.found if number == step.step)

    def holds_of(self, finding: Finding, case: Case) -> Holds:
        """The users' time that the cause of one of them takes in a step."""
        return self.rule.holds_of(finding.cause, case)


def _judged(rule: Rule, case: Case) -> _Judged:
    if lacking := _lacking(rule, case):
        return _Judged(rule, (), lacking, is_silent=False)
    steps = (case.ladder[-1],) if rule.last_only else levels_to_explain(case.ladder)
    found: list[tuple[int, Finding]] = []
    needs: list[Message] = []
    evaluated = 0
    for step in steps:
        at = replace(case.at(step), means_s=set())
        try:
            finding = rule.judge(at)
            evaluated += 1
        except Absent:
            continue
        except Missing as missing:
            needs.append(missing.what)
            continue
        if finding:
            found.append((step.step, _with_granularity(finding, at.means_s)))
    misses = not found and needs and len(needs) == len(steps)
    silent = not found and evaluated == len(steps)
    return _Judged(rule, tuple(found), needs[0] if misses else None, is_silent=silent)


def _with_granularity(finding: Finding, means_s: Collection[float]) -> Finding:
    """The finding, which says if figures that the rule used are no figures of seconds."""
    if not means_s:
        return finding
    said = say(
        "The figures of the server's host are means of {time}, attached to the run.",
        time=Time(max(means_s)),
    )
    return finding.model_copy(update={"sentence": sentences(finding.sentence, said)})


def _lacking(rule: Rule, case: Case) -> Message | None:
    """What a compatible server does not have, without which the rule means nothing there.

    Such servers show counters and variables under the names of those that they do not have.
    """
    server = case.compatible
    if server is None or rule in COMMON_RULES or rule.reads == "client":
        return None
    if not server.has_counters:
        return say("MySQL's or MariaDB's own counters (this is {server})", server=server.name)
    if rule.reads == "files":
        return say(
            "a log and data files on a disk of the server's own (this is {server})",
            server=server.name,
        )
    return None


def _says_why(findings: Sequence[Finding]) -> bool:
    """Whether a note is a sufficient answer."""
    return any(
        not finding.is_refuted and (finding.cause in ANSWERS or says_where_users_are(finding))
        for finding in findings
    )


def _variables(environment: Mapping[str, Any], step: StepResult) -> dict[str, str] | None:
    """The variables of the first target's server, or of the variant's; `None`: not read."""
    found = target_of(environment, step.variant, [step]).get("variables")
    return {str(name).lower(): str(value) for name, value in found.items()} if found else None
