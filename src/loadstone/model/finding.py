"""A diagnosis: named causes with their evidence, and what could not be judged."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from loadstone.model.account import Place
from loadstone.model.ceilings import Resource
from loadstone.model.error_codes import MYSQL
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, listed, plain, say
from loadstone.model.plan import Rate
from loadstone.model.predicted import Foretold
from loadstone.model.with_messages import WithMessages

Group = Literal["validity", "ceiling", "wait", "setting", "note"]
"""In the order of a diagnosis: whether the figures may be quoted, exhausted resources, waits of
users, unwise settings, and what is worth knowing but not a fault."""

TrialKind = Literal["client", "dynamic", "start", "users", "again", "pooler"]
"""What a trial changes: a client option, variables that can be set at run time, variables that
need a restart, the number of users, nothing (the same load again, because the server itself has
changed), or the connection pooler between the load and the server."""

POOLER = "pooler"
"""First of the settings of a trial that puts a pooler where the run had none."""


def _said(text: str) -> Any:
    return Field(description=text)


class Evidence(WithMessages):
    """One figure that a finding rests on."""

    counter: Message = _said("its name, as in docs/observing.md or docs/result.md")
    value: float = _said("the measured value")
    unit: Message = _said("unit of the value; empty for a plain number")
    threshold: float | None = _said("the value that it was compared with; null: none")
    users: int = _said("the concurrency of its step")
    from_s: float | None = _said("start of its time range, seconds since the load's start")
    to_s: float | None = _said("end of its time range")


class Setting(Frozen):
    """One thing that a trial changes."""

    name: str = _said("name of the option or variable")
    before: str | None = _said("its value in the run; null: unknown")
    value: str = _said("its new value")

    @property
    def change(self) -> Message:
        """The change for a person: `tls=disabled in place of TLSv1.3`."""
        setting = f"{self.name}={self.value}"
        if not self.before:
            return plain(setting)
        return say("{setting} in place of {before}", setting=setting, before=self.before)


class Trial(WithMessages):
    """The change that proves a finding: if the finding is right, the rate rises."""

    kind: TrialKind = _said(
        "client option, dynamic variable, start variable, number of users, the load again, or "
        "settings of a connection pooler"
    )
    settings: Annotated[tuple[Setting, ...], Field(min_length=1)] = _said(
        "in the order in which they are set"
    )
    subject: Message = _said("the cause of the cost, as the subject of a sentence")
    costs: Message | None = Field(default=None, description="the price of keeping the change")
    settles_s: float = Field(default=1.0, description="seconds until the change has full effect")
    refutes: bool = Field(
        default=True,
        description="whether the finding is wrong if the change has no effect; else only this "
        "remedy is",
    )
    risks_commits: bool = Field(
        default=False,
        description="whether commits made under the change may be lost: only on throwaway servers",
    )
    family: str = Field(
        default=MYSQL, description="family of the servers whose variables it changes"
    )

    @property
    def change(self) -> Message:
        """The change for a person: `tls=disabled in place of TLSv1.3`."""
        return listed(*(one.change for one in self.settings))


ProofVerdict = Literal["proven", "refuted", "not enough evidence"]


class Proof(WithMessages):
    """The outcome of a trial: the run's load, alternating without and with the change.

    Proven: the change makes it faster. Refuted: it makes it slower, or no relevant difference.
    """

    variant: str = _said("variant of the finding's ladder")
    workload: str = _said("name of the workload")
    cause: str = _said("the cause that was tried")
    users: int = _said("virtual users that drove it, without the change")
    trial: Trial = _said("what was changed")
    verdict: ProofVerdict = _said("proven, refuted, or not enough evidence for either")
    sentence: Message = _said("for a person, with the figures")
    change: float | None = _said("ratio of the rates with and without the change, minus 1")
    change_low: float | None = _said("lower bound of `change`; null: too few units")
    change_high: float | None = _said("upper bound of `change`")
    cost: float | None = _said("share of the rate lost without the change; negative: gained")
    cost_low: float | None = _said("lower bound of `cost`")
    cost_high: float | None = _said("upper bound of `cost`")
    confidence: float = _said("confidence of the intervals")
    p_value: float | None = _said("p-value of no difference, corrected for all trials of the run")
    tps_before: float | None = _said("mean events a second without the change")
    tps_changed: float | None = _said("mean events a second with the change")
    units: int = _said("rounds, or pairs of blocks, that count")
    left_out: dict[str, int] = _said("units that do not count, by reason")
    more: int | None = _said("units still needed if the evidence is not enough; null: unknown")
    at: str = _said("when it was tried: UTC, ISO 8601")
    seconds: float = _said("how long the trial took")
    steps: str = _said("folder of its steps, within the run's folder")
    foretold: Foretold | None = Field(
        default=None,
        description="the rate with the change as predicted before the trial; null: not predicted",
    )

    @property
    def ladder(self) -> tuple[str, str]:
        """The variant and the workload of its ladder."""
        return self.variant, self.workload


class NotTried(WithMessages):
    """A finding whose trial was not run."""

    cause: str = _said("the cause that was not tried")
    why: Message = _said("for a person, with what to do about it")


class Claim(Frozen):
    """What a cause holds of a place of its step's account; claims of a place do not overlap."""

    place: Place = _said("the place, as in docs/account.md")
    share: float = _said("share of all users' time that they spend there because of it, 0 to 1")


class Finding(WithMessages):
    """A named cause; a diagnosis has the most important first."""

    cause: str = _said("name, as in docs/diagnosis.md")
    group: Group = _said("validity, ceiling, wait, setting or note")
    sentence: Message = _said("for a person, with the figures")
    evidence: tuple[Evidence, ...] = _said("the evidence for it")
    share: float | None = _said(
        "share of the users' time that it holds, 0 to 1; without `claims` what its rule says; "
        "null: unknown"
    )
    confidence: float = _said("how certain the cause is, 0 to 1")
    remedy: Message = _said("what to do about it")
    trial: Trial | None = Field(default=None, description="a trial to prove it; null: none is safe")
    untried: Message | None = Field(
        default=None, description="without a trial: why there is none, and what to do by hand"
    )
    claims: tuple[Claim, ...] = Field(
        default=(), description="the users' time that it holds, by place; empty: no account"
    )
    foretold: Foretold | None = Field(
        default=None,
        description="the predicted rate at its step with the remedy; null: not predicted",
    )
    acts_on: Resource | None = Field(
        default=None, description="the resource of which it makes an event need more"
    )
    steps: tuple[int, ...] = Field(default=(), description="numbers of the steps that show it")
    proof: Proof | None = Field(
        default=None, description="what its trial showed; null: it was not tried"
    )

    @property
    def weight(self) -> float:
        """Share times confidence; an unknown share counts as a tenth."""
        return (0.1 if self.share is None else self.share) * self.confidence

    @property
    def is_refuted(self) -> bool:
        """Whether its own trial refuted it."""
        proof = self.proof
        return proof is not None and proof.verdict == "refuted" and proof.trial.refutes

    @property
    def users(self) -> int | None:
        """The concurrency with the strongest evidence; `None` if it has no evidence."""
        return self.evidence[0].users if self.evidence else None


class NotEvaluated(WithMessages):
    """A cause that could be neither named nor ruled out."""

    cause: str = _said("name, as in docs/diagnosis.md")
    needs: Message = _said("the figure that is missing")


class WithoutEffect(Frozen):
    """A setting that `loadstone check` advises against, of which the run shows no effect."""

    variable: str = _said("the server's variable")
    value: str = _said("its value, as the advice has it")
    cause: str = _said("the cause that its effect would be; it was evaluated, and not found")


class LevelCause(Frozen):
    """What holds one level of a ladder back, judged by its own step alone."""

    step: int = _said("number of the step")
    users: int = _said("virtual users")
    rate: Rate | None = _said("events a second asked for in an open loop; null in a closed one")
    tps: float | None = _said("events a second; null: not measured")
    cause: str | None = _said("the first cause found there; null: none")
    share: float | None = _said("share of the users' time that it holds there; null: unknown")


class Diagnosis(WithMessages):
    """The diagnosis of one ladder: a variant and workload at all its levels."""

    variant: str = _said("combination of levels; `default` without factors")
    workload: str = _said("name of the workload")
    answer: Message = _said("one sentence: why it is not faster")
    findings: tuple[Finding, ...] = _said("the most important first")
    at_peak: Finding | None = Field(
        default=None,
        description="what holds the step with the highest rate back, judged by that step alone; "
        "null: nothing was found there",
    )
    beyond: Finding | None = Field(
        default=None,
        description="where the rate falls behind the peak, what holds the last step back, judged "
        "by that step alone; null: it does not fall, or nothing was found there",
    )
    levels: tuple[LevelCause, ...] = Field(
        default=(), description="what holds each level from the knee on, in the order of levels"
    )
    without_effect: tuple[WithoutEffect, ...] = Field(
        default=(),
        description="settings that `loadstone check` advises against, whose causes were evaluated "
        "at all levels from the knee on and found at none",
    )
    not_evaluated: tuple[NotEvaluated, ...] = _said("causes that could not be judged")
    not_judged: tuple[str, ...] = Field(
        default=(),
        description="the run's targets after the first, whose counters and hosts were not judged",
    )
