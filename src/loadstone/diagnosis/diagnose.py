"""Runs the rules over each ladder of a run, and orders the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from loadstone.analyse.ceilings import ceilings
from loadstone.analyse.ladder import KNEE_SHARE, SAME_SHARE, Level, levels
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.context import Absent, Case, Missing, Seconds
from loadstone.diagnosis.no_trial import with_reason
from loadstone.diagnosis.order import causes_first
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trial_verdict import with_proofs
from loadstone.diagnosis.unexplained import NOT_OBSERVED, unexplained
from loadstone.model.ceilings import Limits, Resource
from loadstone.model.finding import Diagnosis, Finding, Group, NotEvaluated, Proof
from loadstone.model.message import Message
from loadstone.model.plan import WATCHED
from loadstone.model.result import Result, StepResult

ORDER: tuple[Group, ...] = ("validity", "ceiling", "wait", "setting", "note")

ROOT = 0.1
"""[P] Share of a resource's use from which an extra demand is the cause, and the full resource only
its symptom.
"""

MOST = 0.5
"""[P] Share of the users' time from which a wait is the bottleneck even if the cores are full: in a
closed loop users queue at the bottleneck, and these do not queue for a core.
"""

SURE = 0.8
"""[P] Confidence that such a finding needs."""

FIRM = 0.85
"""[P] Use of a ceiling that leaves little for others to explain."""

NAMED = 0.6
"""[P] Confidence that such a ceiling needs."""

LESSER = 0.5
"""[P] Share below which waits next to a firm ceiling are notes: users that wait for a core are seen
in the middle of any activity.
"""

SMALL = 0.03
"""[P] Weight below which a setting is a note: nobody would notice the difference."""

ANSWERS = ("few-users", "rate-met")
"""Notes that explain the result if nothing else does."""

WAITS_NOTED = ("commit-flush", "semi-sync-wait")
"""Notes that explain more than that, if users spend most of their time so."""


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
    variables = _variables(known.environment)
    of_step = {one.step: one for one in ceilings(result.steps, known.limits)}
    measured = [step for step in result.steps if step.seconds and step.workload != WATCHED]

    def place(level: Level) -> tuple[str, str]:
        return level.variant, level.workload

    for _, group in groupby(levels(measured), key=place):
        ladder = tuple(_middle(level.steps) for level in group)
        yield Case(
            step=ladder[-1],
            ladder=ladder,
            variables=variables,
            environment=known.environment,
            drive=(result.run.plan or {}).get("drive", {}),
            ceilings=of_step,
            seconds=known.seconds,
        )


def diagnosis_of(case: Case, proofs: Sequence[Proof] = ()) -> Diagnosis:
    """Apply all rules to the levels that need explaining, and add the results of earlier trials."""
    ladder = (case.step.variant, case.step.workload)
    proved = [one for one in proofs if one.ladder == ladder]
    judged = [_judged(rule, case) for rule in RULES_OF[case.family]]
    ordered = _in_order((_merged(group) for one in judged for group in one.by_cause()), proved)
    if not any(finding.group != "note" for finding in ordered) and not _says_why(ordered):
        ordered = [unexplained(case), *ordered]

    def holding(step: StepResult) -> Finding | None:
        at_step = (finding for one in judged for finding in one.at(step))
        found = next(filter(is_cause, _in_order(at_step, proved)), None)
        return found and with_reason(found)

    peak, last = _peak(case.ladder), case.ladder[-1]
    falls = (last.tps or 0.0) < (1 - SAME_SHARE) * (peak.tps or 0.0)
    at_peak = holding(peak)
    # A finding that is heaviest beyond the peak may have nothing to do with the peak itself.
    of_peak = at_peak and is_cause(ordered[0]) and at_peak.cause != ordered[0].cause
    return Diagnosis(
        variant=case.step.variant,
        workload=case.step.workload,
        answer=at_peak.sentence if at_peak and of_peak else ordered[0].sentence,
        findings=tuple(with_reason(finding) for finding in ordered),
        at_peak=at_peak,
        beyond=holding(last) if falls else None,
        not_evaluated=tuple(
            NotEvaluated(cause=one.cause, needs=one.needs) for one in judged if one.needs
        ),
        not_judged=tuple(share.target for share in case.step.targets[1:]),
    )


def _in_order(found: Iterable[Finding], proofs: Sequence[Proof]) -> list[Finding]:
    """The most important first."""
    return _without_idle_words(ranked(with_proofs(_noted(list(found)), proofs)))


def is_cause(finding: Finding) -> bool:
    """Whether it holds the load back: neither a doubt about the figures nor a remark."""
    if finding.group == "note":
        return finding.cause in (*ANSWERS, NOT_OBSERVED, "unexplained")
    return finding.group != "validity"


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


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by group and weight; what fills a resource comes before the resource."""
    found = list(findings)
    full = {one.acts_on for one in found if one.group == "ceiling" and one.acts_on}

    def place(finding: Finding) -> tuple[float, float]:
        group = float(ORDER.index(finding.group))
        if _is_root(finding, full):
            group = ORDER.index("ceiling") - 0.5
        if finding.cause in ANSWERS:
            group -= 0.5
        if finding.group == "note" and _is_where_the_users_are(finding):
            group -= 0.75
        if finding.is_refuted:
            group = float(len(ORDER))
        return group, -finding.weight

    return causes_first(sorted(found, key=place))


def _is_where_the_users_are(finding: Finding) -> bool:
    return finding.cause in WAITS_NOTED and (finding.share or 0.0) >= MOST


def _is_root(finding: Finding, full: set[Resource]) -> bool:
    """Whether it is why a resource is used up, or what users queue for in spite of full cores."""
    share = finding.share or 0.0
    if finding.group not in ("wait", "setting"):
        return False
    if finding.acts_on in full and share >= ROOT:
        return True
    return "server CPU" in full and share >= MOST and finding.confidence >= SURE


@dataclass(frozen=True)
class _Judged:
    """What a rule found: by level, or what it misses at all levels."""

    cause: str
    found: tuple[tuple[int, Finding], ...]
    """A step's number, and what the rule found there."""
    needs: Message | None

    def by_cause(self) -> Iterable[Sequence[tuple[int, Finding]]]:
        """A rule that knows several causes names each once."""
        groups: dict[str, list[tuple[int, Finding]]] = {}
        for number, finding in self.found:
            groups.setdefault(finding.cause, []).append((number, finding))
        return groups.values()

    def at(self, step: StepResult) -> Iterator[Finding]:
        """What was found at one level."""
        return (finding for number, finding in self.found if number == step.step)


def _judged(rule: Rule, case: Case) -> _Judged:
    steps = (case.ladder[-1],) if rule.last_only else levels_to_explain(case.ladder)
    found: list[tuple[int, Finding]] = []
    needs: list[Message] = []
    for step in steps:
        try:
            finding = rule.judge(case.at(step))
        except Absent:
            continue
        except Missing as missing:
            needs.append(missing.what)
            continue
        if finding:
            found.append((step.step, finding))
    misses = not found and needs and len(needs) == len(steps)
    return _Judged(rule.cause, tuple(found), needs[0] if misses else None)


def _merged(group: Sequence[tuple[int, Finding]]) -> Finding:
    best = max((finding for _, finding in group), key=lambda one: one.weight)
    return best.model_copy(update={"steps": tuple(number for number, _ in group)})


def _noted(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Turn small settings into notes, and lesser findings too if a resource explains nearly all."""
    firm = [one for one in findings if one.group == "ceiling" and _is_firm(one)]
    full = {one.acts_on for one in firm if one.acts_on}
    for finding in findings:
        if finding.group in ("wait", "setting") and _is_lesser(finding, full, bool(firm)):
            yield finding.model_copy(update={"group": "note"})
        else:
            yield finding


def _is_firm(ceiling: Finding) -> bool:
    """Whether it explains nearly all: a doubtful ceiling does not reduce others to notes."""
    return (ceiling.share or 0.0) >= FIRM and ceiling.confidence >= NAMED


def _is_lesser(finding: Finding, full: set[Resource], is_held: bool) -> bool:
    if finding.group == "setting" and finding.weight < SMALL:
        return True
    if not is_held or _is_root(finding, full):
        return False
    return (finding.share or 0.0) < LESSER


def _says_why(findings: Sequence[Finding]) -> bool:
    """Whether a note is a sufficient answer."""
    return any(
        not finding.is_refuted and (finding.cause in ANSWERS or _is_where_the_users_are(finding))
        for finding in findings
    )


def _middle(steps: Sequence[StepResult]) -> StepResult:
    """The repeat with the median rate."""
    return sorted(steps, key=lambda step: step.tps or 0.0)[len(steps) // 2]


def _variables(environment: Mapping[str, Any]) -> dict[str, str] | None:
    """The variables of the first target's server; `None` if they were not read."""
    targets = environment.get("targets") or [{}]
    found = targets[0].get("variables")
    return {str(name).lower(): str(value) for name, value in found.items()} if found else None
