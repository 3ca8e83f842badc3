"""A run that was killed: whatever reached the disk is shown."""

from __future__ import annotations

import contextlib
import resource
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.model.message import plain
from loadstone.model.plan import WarmupSeconds
from loadstone.runs import atomic, run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import AppendOnly
from loadstone.runs.rebuild import read_log
from loadstone.runs.recorder import Recorder, read_asked
from recorded import a_plan, record_step, recorded_run, recorder_for, steps_of
from runs.cuts import cuts
from scripted_engine import Script


def test_a_journal_cut_anywhere_still_loads(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1, 2), duration_s=1.0, warmup=WarmupSeconds(warmup_s=0.0))
    run = recorded_run(tmp_path / "whole", plan)
    journal = (run / "journal.jsonl").read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    shutil.copy(run / "latency.hlog", cut)
    seconds = []
    for length in cuts(journal):
        (cut / "journal.jsonl").write_bytes(journal[:length])
        result = run_folder.load(cut)
        assert result.run.state == "interrupted"
        assert result.run.notes[-1].startswith("interrupted ")
        seconds.append(sum(step.seconds for step in result.steps))
    assert seconds == sorted(seconds), "a longer journal never tells less"
    assert seconds[-1] == 2.0


def test_a_latency_log_cut_anywhere_still_loads(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1,), duration_s=1.0, warmup=WarmupSeconds(warmup_s=0.0))
    script.tps = lambda users, second: 3
    run = recorded_run(tmp_path, plan)
    (run / "result.json").unlink()
    log = (run / "latency.hlog").read_bytes()
    whole = run_folder.load(run).steps[0].latency.response
    for length in range(0, len(log), 3):
        (run / "latency.hlog").write_bytes(log[:length])
        step = run_folder.load(run).steps[0]
        # Count and extremes stand in the journal and do not depend on the latency log.
        assert (step.latency.response.count, step.latency.response.max) == (whole.count, whole.max)


def test_a_killed_run_says_when_and_in_which_step(tmp_path: Path, script: Script) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    first, second = steps_of(plan)
    record_step(recorder, plan, first)
    recorder.begin_step(second)
    assert run_folder.load(recorder.folder).run.state == "running"
    recorder.close()
    result = run_folder.load(recorder.folder)
    assert result.run.state == "interrupted"
    assert result.run.notes[-1].startswith("interrupted at 20")
    assert result.run.notes[-1].endswith("step 2 not finished")
    assert [step.state for step in result.steps] == ["finished", "interrupted"]
    assert (result.run.steps_finished, result.run.steps_planned) == (1, 2)


def test_damage_in_the_middle_is_an_error_with_its_line(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    (run / "result.json").unlink()
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[3] = b'{"kind": "nonsense"}\n'
    (run / "journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(StoreError, match=r"journal\.jsonl:4 is not an entry of a journal"):
        run_folder.load(run)


def test_a_result_of_another_version_is_made_anew(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    whole = run_folder.load(run)
    (run / "result.json").write_text('{"version": 99}')
    assert run_folder.load(run) == whole


def test_the_disk_being_full_is_said_with_its_path(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    recorder.close()
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(recorder._journal, "file", full)
        with pytest.raises(StoreError, match=r"cannot write .*journal.jsonl: no space left"):
            recorder.note(plain("does not fit"))


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the kernel write a file's first bytes, and refuse the rest."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_of_a_line_that_does_not_fit_nothing_stays(tmp_path: Path) -> None:
    journal = AppendOnly(tmp_path / "journal.jsonl")
    journal.append(b"first\n")
    with files_of_at_most(10), pytest.raises(StoreError, match="file too large"):
        journal.append(b"is cut in its midst\n")
    journal.append(b"last\n")
    journal.close()
    assert (tmp_path / "journal.jsonl").read_bytes() == b"first\nlast\n"


def test_of_a_file_that_does_not_fit_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("old")
    with files_of_at_most(10), pytest.raises(StoreError, match=r"cannot write .*result.json"):
        atomic.write_bytes(tmp_path / "result.json", bytes(20))
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]
    assert (tmp_path / "result.json").read_text() == "old"


def test_a_run_that_is_given_up_says_why(tmp_path: Path, script: Script) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    recorder.begin_step(steps_of(plan)[0])
    recorder.give_up("the disk is full")
    recorder.close()
    result = run_folder.load(recorder.folder)
    assert (result.run.state, result.run.notes[-1]) == ("failed", "ended early: the disk is full")
    assert [step.state for step in result.steps] == ["interrupted"]


@pytest.mark.parametrize("moved", [True, False])
def test_a_folder_that_goes_away_is_noticed_within_a_second(
    tmp_path: Path, script: Script, moved: bool
) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    if moved:
        recorder.folder.rename(tmp_path / "elsewhere")
        recorder.folder.mkdir()
    else:
        shutil.rmtree(recorder.folder)
    with pytest.raises(StoreError, match="was removed or moved during the run"):
        record_step(recorder, plan, steps_of(plan)[0])
    recorder.give_up("gone")
    recorder.close()


def test_a_run_that_is_taken_up_with_its_clock_set_back_goes_on_after_its_last_second(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan()
    first, second = steps_of(plan)
    recorder = recorder_for(tmp_path, plan)
    record_step(recorder, plan, first)
    recorder.close()
    run = recorder.folder
    (run / ".load.parquet.4711").write_text("half of it")
    before = read_log(run)
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() - 3600)
    again = Recorder(run, read_asked(run), (), before=before.begin)
    record_step(again, plan, second)
    again.end_run("finished")
    steps = read_log(run).steps
    assert before.last_at_s <= steps[1].begin.at_s < before.last_at_s + 60
    assert [step.state for step in run_folder.load(run).steps] == ["finished", "finished"]
    assert not [each.name for each in run.iterdir() if each.name.startswith(".")]


def test_two_runs_in_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    made = [run_folder.create(tmp_path, "a run/with marks", 1_800_000_000.0).name for _ in range(3)]
    stem = "a-run-with-marks-20270115T080000Z"
    assert made == [stem, f"{stem}-2", f"{stem}-3"]


def test_a_file_in_the_way_of_the_runs_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(StoreError, match="cannot write to the folder .*: not a directory"):
        run_folder.check_writable(tmp_path / "runs" / "deeper")


def test_a_run_is_found_by_the_start_of_its_name(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    assert run_folder.find(tmp_path, "test-2027") == run
    assert run_folder.find(tmp_path, "last") == run
    (tmp_path / "test2-20270115T080000Z").mkdir()
    (tmp_path / "test2-20270115T080000Z" / run.joinpath("journal.jsonl").name).touch()
    assert run_folder.find(tmp_path, "test") == run
    with pytest.raises(StoreError, match="the names of 2 runs start with 'tes'") as both:
        run_folder.find(tmp_path, "tes")
    assert "last is the newest run" in (both.value.hint or "")
    with pytest.raises(StoreError, match="there is no run 'tset-") as missing:
        run_folder.find(tmp_path, "tset-20270115T080000Z")
    assert missing.value.hint == f"did you mean {run.name}?"


def test_of_many_runs_with_one_start_the_newest_are_named(tmp_path: Path) -> None:
    for second in range(7):
        name = f"mine-20270115T08000{second}Z"
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").touch()
    newest = [f"mine-20270115T08000{second}Z" for second in (6, 5, 4, 3, 2)]
    with pytest.raises(StoreError) as many:
        run_folder.find(tmp_path, "mine")
    assert str(many.value).endswith(f"start with 'mine': {', '.join(newest)} and 2 more")
