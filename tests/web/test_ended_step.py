"""Rows of ended steps that another process computes are those that this one would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from loadstone.runs import run_folder
from loadstone.runs.rebuild import replay
from loadstone.web import feed
from loadstone.web.live_run import row
from web.served import served

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

REAL = Path(__file__).parents[1] / "compatibility/folders/0.1/ladder-20261124T084358Z"


@pytest.mark.slow  # a process is started for each step
def test_the_rows_of_long_steps_are_those_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(REAL, run)
    (run / run_folder.RESULT).unlink()
    rows = json.loads(json.dumps([row(step) for step in replay(run).steps]))
    monkeypatch.setattr(feed, "MOST_BYTES_HERE", 0)
    monkeypatch.delattr(feed, "step_result")
    with served(tmp_path) as server:
        stream = server.stream(run.name)
        assert stream.until("snapshot").data["rows"] == rows
        stream.close()
    assert len(rows) > 1
