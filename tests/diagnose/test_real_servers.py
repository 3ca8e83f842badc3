"""The diagnosis of what real servers report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.diagnosis.diagnose import Known, diagnose
from loadstone.diagnosis.frames import RunSeconds, environment_of
from loadstone.model.finding import Finding
from loadstone.model.result import StepResult
from loadstone.runs import run_folder
from pooled import Pool

pytestmark = [pytest.mark.server, pytest.mark.slow]

FEW, MANY = 1, 16


def diagnosed(out: Path) -> tuple[list[Finding], tuple[StepResult, ...]]:
    (run,) = out.iterdir()
    result = run_folder.load(run)
    (found,) = diagnose(result, Known(environment_of(run), RunSeconds(run)))
    return list(found.findings), result.steps


@pytest.mark.smoke
def test_commits_go_in_groups_and_the_sentence_has_the_server_s_figures(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case A of the field on a durable server: one user, then many, each with syncs of its own."""
    tables = ("--tables", "2", "--table-size", "2000", "--distribution", "uniform")
    levels = ("--concurrency", f"{FEW},{MANY}", "--duration", "2s", "--warmup", "500ms")
    out = tmp_path / "runs"
    with pool.schema(settings={}) as server:
        monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
        there = ("--target", server.tcp.target.url, *tables)
        called("prepare", *there, folder=tmp_path)
        run = ("run", "oltp_update_non_index", *there, *levels, "--out", str(out))
        called(*run, folder=tmp_path)
    findings, steps = diagnosed(out)
    carried = [step.server.transactions_per_sync if step.server else None for step in steps]
    rates = [step.tps or 0.0 for step in steps]
    assert carried[0] is not None
    assert carried[1] is not None
    # That is group commit: many users share what a single user's commit has for itself.
    assert carried[1] > carried[0]
    told = [one for one in findings if one.cause == "group-commit"]
    if rates[1] <= rates[0] or carried[0] > 0.8 * carried[1]:
        assert told == [], "nothing to explain: the rate does not rise, or groups hardly grow"
        return
    (note,) = told
    assert note.group == "note"
    said = re.search(r"carries ([\d.]+) transactions instead of ([\d.]+)", note.sentence)
    assert said is not None, note.sentence
    assert float(said[1]) == pytest.approx(carried[1], rel=0.01)
    assert float(said[2]) == pytest.approx(carried[0], rel=0.01)
