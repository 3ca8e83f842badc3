"""A run in one line: sentences that are separate, and what was measured."""

from __future__ import annotations

from pathlib import Path

from loadstone.report.chat_line import as_line
from loadstone.report.opened import Run
from recorded import a_plan, recorded_run
from scripted_engine import Script


def test_the_line_says_what_ran_and_ends_each_sentence(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 1000
    run = Run(recorded_run(tmp_path, a_plan(ladder=(4,))))
    step = run.result.steps[0]
    bound = step.model_copy(
        update={"generator": step.generator.model_copy(update={"client_bound": True})}
    )
    steps = (bound, bound.model_copy(update={"step": 2, "repeat": 2}))
    run.__dict__["result"] = run.result.model_copy(update={"steps": steps})
    line = as_line(run)
    assert line.startswith(
        "test (10.11.0-scripted), oltp_read_write, 2 tables × 100 rows, 4 s a step after 1 s "
        "warm-up: 1,000"
    )
    assert line.endswith("! client-bound: the generator was, or may have been, the limit.\n")
    assert "Student" not in line
