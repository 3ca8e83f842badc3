"""The settings of which a run shows no effect are in each form of its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.model.finding import Diagnosis, Finding, WithoutEffect
from loadstone.model.message import plain
from loadstone.report.opened import Run
from recorded import a_plan, recorded_run
from scripted_engine import Script

POOL = WithoutEffect(variable="innodb_buffer_pool_size", value="128M", cause="working-set")
CACHE = WithoutEffect(variable="query_cache_type", value="ON", cause="query-cache")
FEW = Finding(
    cause="few-users",
    group="note",
    sentence=plain("Nothing is used up."),
    evidence=(),
    share=None,
    confidence=0.6,
    remedy=plain("More users."),
)


@pytest.mark.parametrize("kind", ["html", "markdown", "json"])
def test_they_are_shown_with_the_causes_that_were_looked_for(
    tmp_path: Path,
    script: Script,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = Diagnosis(
        variant="default",
        workload="oltp_read_write",
        answer=plain("Nothing."),
        findings=(FEW,),
        without_effect=(POOL, CACHE),
        not_evaluated=(),
    )
    monkeypatch.setattr(Run, "diagnoses", [found])
    run = recorded_run(tmp_path, a_plan(ladder=(1, 4)))
    options = {"html": ["-o", str(run / "x.html")], "markdown": ["--markdown"], "json": ["--json"]}
    assert exit_code_of(["report", str(run), *options[kind]]) == 0
    told = capsys.readouterr().out
    if kind == "json":
        ladder = json.loads(told)["ladders"][0]
        assert ladder["without_effect"] == [POOL.model_dump(), CACHE.model_dump()]
    elif kind == "markdown":
        (line,) = (one for one in told.splitlines() if "no effect seen" in one)
        assert line.replace("\\", "") == (
            "- checked, no effect seen of what loadstone check advises against: "
            "innodb_buffer_pool_size = 128M (working-set), query_cache_type = ON (query-cache)"
        )
    else:
        page = (run / "x.html").read_text()
        assert "no effect seen of what loadstone check advises against: 2" in page
        assert "innodb_buffer_pool_size = 128M: the working set does not fit" in page
