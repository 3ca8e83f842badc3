"""A proof of a finding, as a run's folder keeps it, and findings that it belongs to."""

from __future__ import annotations

from pathlib import Path

from loadstone.diagnosis.of_run import findings_of
from loadstone.model.finding import Diagnosis, Proof, Setting, Trial
from loadstone.model.message import say
from loadstone.model.predicted import Foretold
from loadstone.model.result import Result


def a_proof(cause: str) -> Proof:
    setting = Setting(name="x", value="2", before="1")
    return Proof(
        variant="default", workload="oltp_read_write", cause=cause, users=4,
        trial=Trial(kind="dynamic", settings=(setting,), subject=say("x")),
        verdict="proven", sentence=say("It is faster."), change=0.5, change_low=0.4,
        change_high=0.6, cost=None, cost_low=None, cost_high=None, confidence=0.95, p_value=0.001,
        tps_before=400.0, tps_changed=600.0, units=8, left_out={}, more=None,
        at="2026-01-01T00:00:00+00:00", seconds=60.0, steps="proofs/x",
        foretold=Foretold(tps=600.0, low=500.0, high=700.0, now=400.0),
    )  # fmt: skip


def with_a_trial(run: Path, result: Result) -> list[Diagnosis]:
    """The run's findings, of which the first has a trial: no rule finds such a one in this engine.

    Its proof is the one in the run's folder.
    """
    (found,) = findings_of(run, result)
    first, *others = found.findings
    (proof, *_) = (*result.proofs, None)
    tried = first.model_copy(update={"trial": a_proof(first.cause).trial, "proof": proof})
    return [found.model_copy(update={"findings": (tried, *others)})]
