"""What a diagnosis says: named causes with their evidence, and what could not be judged."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from loadstone.model.ceilings import Resource
from loadstone.model.frozen import Frozen

Group = Literal["validity", "ceiling", "wait", "setting", "note"]
"""In the order of a diagnosis: whether the figures may be quoted, what is used up, what is waited
for, what is set unwisely, and what is worth knowing and no fault."""

TrialKind = Literal["client", "dynamic", "start", "users"]
"""An option of the load, a variable that can be set while the server runs, one of its start, or
another number of users."""


def _said(text: str) -> Any:
    return Field(description=text)


class Evidence(Frozen):
    """One figure that a finding rests on."""

    counter: str = _said("its name, as in docs/observing.md or docs/result.md")
    value: float = _said("what was measured")
    unit: str = _said("of the value; empty for a plain number")
    threshold: float | None = _said("what it was held against; null: it is told for itself")
    users: int = _said("the concurrency of the step that it is of")
    from_s: float | None = _said("begin of the seconds it is of, since the load's begin")
    to_s: float | None = _said("their end")


class Trial(Frozen):
    """What to change to prove a finding: if the finding is right, the rate changes."""

    kind: TrialKind = _said("client option, dynamic variable, start variable, number of users")
    name: str = _said("of the option or variable")
    value: str = _said("what to set it to")


class Finding(Frozen):
    """A named cause; a diagnosis has the most telling first."""

    cause: str = _said("name, as in docs/diagnosis.md")
    group: Group = _said("validity, ceiling, wait, setting or note")
    sentence: str = _said("for a person, with the figures")
    evidence: tuple[Evidence, ...] = _said("what it rests on")
    share: float | None = _said("of the time or the rate that it explains, 0 to 1; null: unknown")
    confidence: float = _said("how sure the name is, 0 to 1")
    remedy: str = _said("what to do about it")
    trial: Trial | None = Field(default=None, description="what would prove it; null: nothing safe")
    acts_on: Resource | None = Field(
        default=None, description="the resource of which it makes an event need more"
    )
    steps: tuple[int, ...] = Field(default=(), description="numbers of the steps that show it")

    @property
    def weight(self) -> float:
        """Share by confidence; an unknown share counts as a tenth."""
        return (0.1 if self.share is None else self.share) * self.confidence


class NotEvaluated(Frozen):
    """A cause that could be neither named nor ruled out."""

    cause: str = _said("name, as in docs/diagnosis.md")
    needs: str = _said("the figure that is missing")


class Diagnosis(Frozen):
    """What is said of one ladder: a variant and workload at all its levels."""

    variant: str = _said("combination of levels; `default` without factors")
    workload: str = _said("name of the workload")
    answer: str = _said("one sentence: why it is not faster")
    findings: tuple[Finding, ...] = _said("the most telling first")
    not_evaluated: tuple[NotEvaluated, ...] = _said("causes that could not be judged")
