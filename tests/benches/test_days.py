"""Runs of a day, made for the bench: any reader takes them for runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.days import a_day, many
from loadstone.runs import run_folder
from loadstone.runs.rebuild import JOURNAL, replay

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")


@pytest.mark.slow  # the tables of three runs are written
def test_a_run_of_a_day_is_a_run(tmp_path: Path) -> None:
    run = a_day(tmp_path / "one", seconds=120, steps=2)
    result = run_folder.load(run)
    assert result.run.state == "finished"
    assert [step.window.to_s for step in result.steps if step.window] == [60.0, 60.0]
    assert replay(run).steps == result.steps
    assert all(step.tps and step.latency.response.p99 for step in result.steps)
    assert [step.observing is not None for step in result.steps] == [True, True]
    runs = many(tmp_path / "many", 3, seconds=30)
    assert len({one.name for one in runs}) == 3
    assert len({(one / JOURNAL).stat().st_ino for one in runs}) == 1
    assert [listed.result is not None for listed in run_folder.list_runs(tmp_path / "many")] == [
        True,
        True,
        True,
    ]
