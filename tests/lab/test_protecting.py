"""A run that is ended, or held back, before it does harm: on the scripted engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import scripted_engine
from lab.watched import drive, lab_for
from loadstone.lab.protection.protector import Protector
from loadstone.model.language import in_language
from loadstone.model.plan import Plan
from loadstone.model.protection import ConditionError, Protection, condition
from loadstone.model.result import Result
from loadstone.model.target import Endpoint, Target
from loadstone.report.notes import step_notes
from loadstone.runs import run_folder
from loadstone.runs.parquet import load_table
from loadstone.runs.rebuild import read_log
from recorded import a_plan, record_step, recorder_for
from recorded import steps_of as recorded_steps
from scripted_engine import Script


def unreached(target: Target) -> Endpoint:
    raise AssertionError("nobody asked for a replica")


def carried_out(tmp_path: Path, plan: Plan, *conditions: str) -> tuple[Result, list[str], Path]:
    """Run a plan with these conditions, which the load itself can judge."""
    lab, observer = lab_for(tmp_path, plan)
    asked = Protection(abort_if=tuple(map(condition, conditions)), defaults=False)
    lab = replace(lab, protector=Protector(asked, unreached))
    outcome = drive(plan, lab)
    assert outcome.error is None
    return outcome.result, observer.told, lab.recorder.folder


def test_the_run_ends_cleanly_is_kept_and_says_why(tmp_path: Path, script: Script) -> None:
    script.latency_ns = lambda users, second: 300_000_000 if second >= 3 else 1_000_000
    plan = a_plan(ladder=(4, 8), duration_s=30.0)
    result, told, run = carried_out(tmp_path, plan, "p99>200ms for 2s")
    assert result.run.state == "stopped"
    (step,) = result.steps
    assert (step.state, step.tally_balances) == ("stopped", True)
    found = result.run.aborted
    assert found is not None
    assert (found.condition, found.figure, found.place) == ("p99>200ms for 2s", "p99", "the load")
    assert (found.step, found.is_default, found.limit) == (1, False, 0.2)
    assert found.value == pytest.approx(0.3, rel=0.01)
    assert run_folder.load(run) == result
    said = next(note for note in step.notes if note.startswith("aborted at "))
    assert said.endswith("by the condition 'p99>200ms for 2s': the load had 300 ms")
    assert f"note {said}" in told
    (chinese,) = [note for note in map(in_language("zh"), step_notes(step)) if "p99>200ms" in note]
    assert "中止" in chinese and "负载" in chinese and "300 ms" in chinese


def test_a_run_that_meets_nothing_goes_on(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(4,), duration_s=5.0)
    result, _, _ = carried_out(tmp_path, plan, "p99>200ms", "errors>1%", "tps<10")
    assert (result.run.state, result.run.aborted) == ("finished", None)


@pytest.mark.parametrize("asked", ["errors>1%", "tps<1000", "qps<20000", "max>1ms"])
def test_all_that_the_load_tells_can_end_it(tmp_path: Path, script: Script, asked: str) -> None:
    script.errors = {"1213": 3}
    result, _, _ = carried_out(tmp_path, a_plan(ladder=(4,), duration_s=30.0), asked)
    assert result.run.aborted and result.run.aborted.condition == asked


def test_a_disk_that_nobody_reads_is_told_before_the_load(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(4,))
    lab, _ = lab_for(tmp_path, plan)
    asked = Protection(abort_if=(condition("disk_free<5%"),), defaults=False)
    outcome = drive(plan, replace(lab, protector=Protector(asked, unreached)))
    assert isinstance(outcome.error, ConditionError)
    assert "the disk of db1:3306 is not observed" in outcome.error.message
    assert scripted_engine.PLANS == []


def test_seconds_in_which_a_load_was_held_back_are_in_no_figure(
    tmp_path: Path, script: Script
) -> None:
    """Seven seconds of the window; a part of the third to the fifth was held back."""
    script.tps = lambda users, second: 0 if second in (3, 4) else 5 if second == 5 else 40
    script.latency_ns = lambda users, second: 9_000_000 if second == 5 else 1_000_000
    plan = a_plan(ladder=(4,), duration_s=7.0)
    recorder = recorder_for(tmp_path, plan)
    (step,) = recorded_steps(plan)
    end_step = recorder.end_step

    def with_a_hold(*arguments: object) -> object:
        recorder.hold_begins(step, 3.0, "threads_running>10", 12.0)
        recorder.hold_ends(step, 5.1)
        return end_step(*arguments)  # type: ignore[arg-type]

    recorder.end_step = with_a_hold  # type: ignore[method-assign, assignment]
    record_step(recorder, plan, step)
    (found,) = recorder.end_run("finished").steps
    assert [(one.from_s, one.to_s, one.condition) for one in found.held] == [
        (3.0, 5.1, "threads_running>10")
    ]
    assert found.window is not None
    assert found.window.held[0] == pytest.approx((3.0, 5.3))
    assert (found.seconds, found.tps) == (4.0, 40.0)
    assert found.latency.response.max == pytest.approx(1.04, abs=0.05)
    assert found.latency.response.count == 160
    (note,) = found.notes
    assert note.startswith("held back for 2 s of the load by --max-load 'threads_running>10': ")
    (chinese,) = [
        one for one in map(in_language("zh"), step_notes(found)) if "threads_running" in one
    ]
    assert "暂停 2 秒" in chinese
    phases = load_table.frame(read_log(recorder.folder))["phase"].to_list()
    assert phases == ["warmup", "window", "window", "held", "held", "held", "window", "window"]
