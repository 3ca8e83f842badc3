"""Where a run's wall time went is counted from the clocks in its journal."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cluster.made import a_sample
from loadstone.model.plan import WATCHED, Step
from loadstone.model.records import Connected, Phase
from loadstone.model.result import WallTime
from loadstone.runs import run_folder
from loadstone.runs.journal import EngineEntry, Entry, RunEnd, Settled, StepBegin, StepEnd
from loadstone.runs.rebuild import read_log
from loadstone.runs.recorder import Recorder, read_asked
from loadstone.runs.wall_time import WallClock
from recorded import a_plan, record_step, recorded_run, recorder_for, steps_of
from scripted_engine import Script


def begin(at_s: float, prepared_s: float | None, evaluated_s: float = 0.0) -> StepBegin:
    step = Step(number=1, workload="oltp_read_only", concurrency=4)
    return StepBegin(
        at_s=at_s,
        step=step,
        journal_from=0,
        hlog_from=0,
        prepared_s=prepared_s,
        evaluated_s=evaluated_s,
    )


def connected(at_s: float, seconds: float) -> EngineEntry:
    record = Connected(seconds=seconds, users=4, encrypted_users=0)
    return EngineEntry(at_s=at_s, step=1, record=record)


def second(phase: Phase, to_s: float) -> EngineEntry:
    record = a_sample(0, 10).model_copy(update={"phase": phase, "to_s": to_s})
    return EngineEntry(at_s=0.0, step=1, record=record)


def end(at_s: float, settled: Settled | None = None) -> StepEnd:
    return StepEnd(at_s=at_s, step=1, state="finished", settled=settled)


def counted(*entries: Entry) -> WallTime | None:
    clock = WallClock()
    for entry in entries:
        clock.add(entry)
    return clock.wall_time


LOAD = (second("warmup", 2.0), second("window", 12.0), second("drain", 12.5))


def test_each_second_of_two_steps_is_in_one_phase() -> None:
    found = counted(
        begin(1.0, prepared_s=9.0),  # eight of them before the folder was made
        connected(5.0, seconds=3.0),
        *LOAD,
        end(20.0),
        begin(22.0, prepared_s=0.5, evaluated_s=1.5),
        connected(24.0, seconds=2.0),
        *LOAD,
        end(37.0),
        RunEnd(at_s=41.0, state="finished", evaluated_s=4.0),
    )
    assert found == WallTime(
        preparing_s=9.0 + 1.0 + 0.5,
        connecting_s=3.0 + 2.0,
        warmup_s=4.0,
        window_s=20.0,
        closing_s=3.0 + 1.0,
        evaluating_s=1.5 + 4.0,
    )
    assert found.total_s == pytest.approx(41.0 + 8.0)
    assert found.load_s == pytest.approx(24.0)


def test_a_window_that_a_rule_chose_is_the_window() -> None:
    settled = Settled(from_s=7.0, to_s=12.0, steady=True, method="mser-5")
    found = counted(
        begin(0.0, prepared_s=0.0), connected(0.0, seconds=0.0), *LOAD[1:], end(13.0, settled)
    )
    assert found
    assert (found.warmup_s, found.window_s, found.closing_s) == (7.0, 5.0, 1.0)


def test_a_step_that_never_connected_was_connecting() -> None:
    found = counted(begin(1.0, prepared_s=1.0), end(31.0))
    assert found
    assert (found.connecting_s, found.load_s) == (30.0, 0.0)


def test_the_time_between_a_crash_and_the_continuation_is_nobody_s() -> None:
    found = counted(
        begin(0.0, prepared_s=1.0),
        connected(0.0, seconds=0.0),
        *LOAD[:2],
        # Killed here, and continued an hour later by a process that prepared for two seconds.
        begin(3600.0, prepared_s=2.0),
        connected(3600.0, seconds=0.0),
        *LOAD[:2],
        end(3612.0),
        RunEnd(at_s=3612.0, state="finished"),
    )
    assert found
    assert found.total_s == pytest.approx(1.0 + 12.0 + 2.0 + 12.0)


def test_of_an_earlier_version_and_of_a_watched_server_nothing_is_known() -> None:
    assert counted(begin(0.0, prepared_s=None), end(1.0)) is None
    watched = Step(number=1, workload=WATCHED, concurrency=1)
    assert counted(begin(0.0, prepared_s=0.0).model_copy(update={"step": watched})) is None
    assert counted(RunEnd(at_s=1.0, state="stopped", evaluated_s=1.0)) is None


def test_a_run_counts_from_its_command_and_a_copy_of_its_journal_says_the_same(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    recorder.prepared_since(time.monotonic() - 100)
    for step in steps_of(plan):
        record_step(recorder, plan, step)
    written = recorder.end_run("finished").run.wall_time
    assert written
    assert 100 <= written.preparing_s < 160
    assert written.load_s == pytest.approx(10.0)
    (recorder.folder / "result.json").unlink()
    assert run_folder.load(recorder.folder).run.wall_time == written


def test_a_run_that_is_killed_has_none_and_a_continued_one_leaves_the_pause_out(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan()
    first, last = steps_of(plan)
    recorder = recorder_for(tmp_path, plan)
    record_step(recorder, plan, first)
    recorder.close()
    run = recorder.folder
    assert run_folder.load(run).run.wall_time is None
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() + 3600)
    again = Recorder(run, read_asked(run), (), before=read_log(run).begin)
    record_step(again, plan, last)
    found = again.end_run("finished").run.wall_time
    assert found
    assert found.besides_load_s < 600


def test_a_run_whose_steps_took_no_time_has_phases_too(tmp_path: Path, script: Script) -> None:
    found = run_folder.load(recorded_run(tmp_path)).run.wall_time
    assert found
    assert found.load_s == pytest.approx(10.0)
