"""The proof of a finding is shown with it, in each form of the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.diagnosis.no_trial import WHY
from loadstone.diagnosis.trials import client
from loadstone.model.finding import Diagnosis, Finding, Proof, ProofVerdict
from loadstone.model.message import plain
from loadstone.report.opened import Run
from recorded import a_plan, recorded_run
from scripted_engine import Script

TLS = client("tls", "disabled", "TLSv1.3", plain("TLS"))
SAID: dict[str, tuple[ProofVerdict, str]] = {
    "tls": ("proven", "TLS costs 31 % ± 4 % of the rate."),
    "line-full": ("refuted", "compression=zlib has no effect within 3 %."),
    "far-away": ("not enough evidence", "it may change the rate or not; 4 rounds more would do."),
}


def a_finding(cause: str) -> Finding:
    finding = Finding(
        cause=cause,
        group="setting",
        sentence=plain(f"It is {cause}."),
        evidence=(),
        share=0.3,
        confidence=0.6,
        remedy=plain("Change it."),
    )
    if cause not in SAID:
        return finding.model_copy(update={"untried": WHY[cause]})
    return finding.model_copy(update={"trial": TLS, "proof": a_proof(cause)})


def a_proof(cause: str) -> Proof:
    verdict, sentence = SAID[cause]
    figures = dict.fromkeys(
        ["change", "change_low", "change_high", "cost", "cost_low", "cost_high"]
        + ["p_value", "tps_before", "tps_changed", "more"]
    )
    told = {"cause": cause, "verdict": verdict, "sentence": sentence, "trial": TLS}
    where = {"variant": "default", "workload": "oltp_read_write", "users": 4, "steps": "proofs/x"}
    rest = {"confidence": 0.95, "units": 4, "left_out": {}, "seconds": 50.0}
    at = {"at": "2026-01-02T03:04:05+00:00"}
    return Proof.model_validate({**figures, **told, **where, **rest, **at})


@pytest.fixture
def run(tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> Path:
    causes = (*SAID, "missing-index")
    found = Diagnosis(
        variant="default",
        workload="oltp_read_write",
        answer=plain("It is."),
        findings=tuple(map(a_finding, causes)),
        not_evaluated=(),
    )
    monkeypatch.setattr(Run, "diagnoses", [found])
    return recorded_run(tmp_path, a_plan(ladder=(1, 4)))


@pytest.mark.parametrize("kind", ["html", "markdown", "json"])
def test_effect_refutation_and_lack_of_evidence_are_shown_with_the_finding(
    run: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"html": ["-o", str(run / "x.html")], "markdown": ["--markdown"], "json": ["--json"]}
    assert exit_code_of(["report", str(run), *options[kind]]) == 0
    told = capsys.readouterr().out
    if kind == "html":
        told = (run / "x.html").read_text()
    if kind == "json":
        findings = json.loads(told)["ladders"][0]["findings"]
        assert [each["proof"] and each["proof"]["verdict"] for each in findings] == [
            *(verdict for verdict, _ in SAID.values()),
            None,
        ]
        assert findings[-1]["untried"] == WHY["missing-index"]
        return
    places = [told.index(f"It is {cause}.") for cause in SAID]
    for (verdict, sentence), begin, end in zip(
        SAID.values(), places, [*places[1:], len(told)], strict=True
    ):
        assert begin < told.index(f"{verdict}: {sentence.split(';')[0]}") < end
    if kind == "html":
        assert "create the index by hand" in told[places[-1] :]
