"""Plans that run on the scripted engine."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import scripted_engine
from lab.watched import drive, lab_for
from loadstone import engine
from loadstone.engine import EngineError, Steerable
from loadstone.lab.step.loop import MOST_REPEATS
from loadstone.lab.step.runner import Start
from loadstone.model.cluster import GENERATOR_LOST
from loadstone.model.exit_codes import ExitCode
from loadstone.model.plan import WarmupAuto, WorkloadSpec
from loadstone.model.result import StepResult
from loadstone.model.target import Target
from loadstone.report.notes import step_notes
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.ledger import read_books
from recorded import SECRET, a_plan
from scripted_engine import Script


def test_the_observer_is_told_of_everything_in_order(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(4,), duration_s=2.0)
    lab, observer = lab_for(tmp_path, plan)
    drive(plan, lab)
    assert observer.told == [
        "begin 1",
        "connected 4",
        "warmup 1",
        "window 2",
        "window 3",
        "end 1 finished",
    ]


def test_the_step_that_is_shown_is_the_one_that_is_kept(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1, 8))
    lab, observer = lab_for(tmp_path, plan)
    outcome = drive(plan, lab)
    assert tuple(observer.results) == outcome.result.steps
    assert run_folder.load(lab.recorder.folder) == outcome.result


def test_checks_and_a_slow_start_of_the_engine_are_time_of_preparing(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan(ladder=(1, 8))
    lab, _ = lab_for(tmp_path, plan)

    def confirm() -> tuple[()]:
        time.sleep(0.1)
        return ()

    def start(document: str) -> Steerable:
        time.sleep(0.3)
        return engine.start(document)

    found = drive(plan, replace(lab, confirm=confirm, start=start)).result.run.wall_time
    assert found
    # The scripted engine says that it connected for a tenth of a second.
    assert found.preparing_s >= 2 * (0.1 + 0.3 - 0.1)
    assert found.connecting_s == pytest.approx(0.2)
    assert found.load_s == pytest.approx(2 * 5.0)


def test_a_step_within_which_the_machine_slept_is_marked(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept_s = 0.0

    def clock(number: int, read: Callable[[int], float] = time.clock_gettime) -> float:
        return read(number) + (slept_s if number == time.CLOCK_BOOTTIME else 0.0)

    def sleeps(document: str, start: Start = engine.start) -> Steerable:
        nonlocal slept_s
        slept_s = 7.5
        return start(document)

    plan = a_plan(ladder=(1,))
    lab, _ = lab_for(tmp_path, plan)
    monkeypatch.setattr(time, "clock_gettime", clock)
    outcome = drive(plan, replace(lab, start=sleeps))
    (step,) = outcome.result.steps
    assert "this machine was suspended for 7.5 s: do not compare this step" in step.notes


def test_a_ledger_that_cannot_be_compared_is_a_note_with_the_command_for_later(
    tmp_path: Path, script: Script
) -> None:
    spec = WorkloadSpec(name="ledger", tables=1, table_size=1, book=1 << 20)
    nobody = Target(host="127.0.0.1", port=1, user="bench", database="sbtest")
    plan = a_plan(workload=spec, targets=(nobody,), ladder=(4,), duration_s=2.0)
    lab, _ = lab_for(tmp_path, plan)
    (step,) = drive(plan, lab).result.steps
    assert (step.state, step.ledger) == ("finished", ())
    (said,) = step.notes
    assert said.startswith("the ledger was not compared: ")
    assert said.endswith(f": loadstone ledger check {lab.recorder.folder} --target URL")
    assert read_books(lab.recorder.folder)[1].is_complete


def test_the_password_goes_to_the_engine_and_nowhere_else(tmp_path: Path, script: Script) -> None:
    plan = a_plan()
    lab, _ = lab_for(tmp_path, plan)
    drive(plan, lab)
    assert scripted_engine.PLANS[0]["targets"][0]["password"] == SECRET
    for file in lab.recorder.folder.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name


def test_each_step_draws_other_keys_and_a_run_again_the_same(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan(ladder=(1, 4, 16))
    for _ in range(2):
        lab, _ = lab_for(tmp_path, plan)
        drive(plan, lab)
    assert [sent["seed"] for sent in scripted_engine.PLANS] == [0, 1, 2] * 2


def test_a_step_that_was_lost_is_measured_anew_under_its_number(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan(ladder=(1, 4))
    lab, observer = lab_for(tmp_path, plan)
    script.fail_at_s = 2
    script.end_error = {"kind": GENERATOR_LOST, "message": "generator 1 on b was lost"}

    def once(step: StepResult) -> bool:
        lost, script.fail_at_s = script.fail_at_s is not None, None
        return lost

    outcome = drive(plan, replace(lab, drives_again=once))
    rows = [(step.step, step.concurrency, step.state) for step in outcome.result.steps]
    assert rows == [(1, 1, "finished"), (2, 4, "finished")]
    assert (outcome.result.run.state, outcome.error) == ("finished", None)
    assert "note step 1 is measured again: generator 1 on b was lost" in observer.told


def test_a_step_is_not_driven_again_for_ever(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1, 4))
    lab, _ = lab_for(tmp_path, plan)
    script.fail_at_s = 2
    script.end_error = {"kind": GENERATOR_LOST, "message": "generator 1 on b was lost"}
    again = replace(lab, drives_again=lambda step: True)
    outcome = drive(plan, again)
    assert [(step.step, step.state) for step in outcome.result.steps] == [(1, "failed")]
    assert len(scripted_engine.PLANS) == 1 + MOST_REPEATS
    assert outcome.error and outcome.error.exit_code == ExitCode.CLUSTER


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_step_cleanly_and_the_rest_is_left(
    tmp_path: Path, script: Script, number: signal.Signals
) -> None:
    def at_second_two(users: int, second: int) -> int:
        if second == 2:
            os.kill(os.getpid(), number)
        return 10

    script.tps = at_second_two
    plan = a_plan(ladder=(1, 8, 64), duration_s=30.0)
    lab, observer = lab_for(tmp_path, plan)
    with lab.interrupts:
        outcome = drive(plan, lab)
    assert outcome.result.run.state == "stopped"
    assert outcome.error is None
    (step,) = outcome.result.steps
    assert step.state == "stopped"
    assert 2 <= step.seconds <= 4
    assert observer.told[-1] == "end 1 stopped"


def test_a_second_signal_does_not_wait_for_the_engine(tmp_path: Path, script: Script) -> None:
    def never_ends(drive: scripted_engine.Drive, timeout_s: float) -> str | None:
        if len(observer.told) > 4:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            return None
        return original(drive, timeout_s)

    original = scripted_engine.Drive.next
    plan = a_plan(ladder=(1, 8))
    lab, observer = lab_for(tmp_path, plan)
    with pytest.MonkeyPatch.context() as patch, lab.interrupts:
        patch.setattr(scripted_engine.Drive, "next", never_ends)
        began = time.monotonic()
        outcome = drive(plan, lab)
    assert time.monotonic() - began < 30
    assert outcome.result.run.state == "stopped"
    assert run_folder.load(lab.recorder.folder) == outcome.result


def test_a_step_that_fails_is_the_last_one_and_says_why(tmp_path: Path, script: Script) -> None:
    def refuse(plan: dict[str, object]) -> dict[str, object] | None:
        if plan["users"] != 8:
            return None
        message = "the server takes no more connections"
        return {
            "kind": "too_many_connections",
            "family": "mysql",
            "code": "1040",
            "sql_state": "08004",
        } | {
            "message": message,
            "target": 0,
            "statement": None,
        }

    script.before_connect = refuse
    plan = a_plan(ladder=(1, 8, 64))
    lab, _ = lab_for(tmp_path, plan)
    outcome = drive(plan, lab)
    assert [step.state for step in outcome.result.steps] == ["finished", "failed"]
    assert outcome.error is not None
    said = outcome.error.message
    assert said == "db1:3306: the server takes no more connections (1040, 08004)"
    assert outcome.error.hint is not None
    assert "max_connections" in outcome.error.hint
    assert outcome.result.steps[1].tps is None


def test_an_engine_that_ends_without_a_word_is_noticed(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1,))
    lab, _ = lab_for(tmp_path, plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripted_engine.Drive, "next", lambda drive, timeout_s: None)
        outcome = drive(plan, lab)
    assert isinstance(outcome.error, EngineError)
    assert "the engine ended without its last record" in outcome.error.message
    assert outcome.result.run.state == "failed"


def test_an_automatic_warm_up_chooses_the_window(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 10 + 9 * second if second < 10 else 100 + second % 3
    plan = a_plan(ladder=(1,), duration_s=60.0, warmup=WarmupAuto())
    lab, _ = lab_for(tmp_path, plan)
    (step,) = drive(plan, lab).result.steps
    assert step.steady is True
    assert step.window is not None
    assert (step.window.from_s, step.window.to_s, step.window.method) == (10.0, 60.0, "MSER-5")
    assert step.tps == pytest.approx(101, abs=0.1)


def test_a_step_that_never_settles_is_marked(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 100 + 10 * second
    plan = a_plan(ladder=(1,), duration_s=60.0, warmup=WarmupAuto())
    lab, _ = lab_for(tmp_path, plan)
    (step,) = drive(plan, lab).result.steps
    assert step.steady is False


def test_too_short_a_step_says_that_it_was_not_judged(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1,), duration_s=3.0, warmup=WarmupAuto())
    lab, _ = lab_for(tmp_path, plan)
    (step,) = drive(plan, lab).result.steps
    assert "whether it settled was not evaluated: too short for MSER-5" in list(step_notes(step))


def test_a_full_disk_ends_the_load_and_keeps_what_there_is(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(ladder=(1,))
    lab, _ = lab_for(tmp_path, plan)
    stopped: list[bool] = []
    monkeypatch.setattr(scripted_engine.Drive, "stop", lambda drive: stopped.append(True))
    record = lab.recorder.record
    seen = 0

    def full_at_the_third(*arguments: object) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            raise StoreError.from_os("write", tmp_path, OSError(errno.ENOSPC, "No space left"))
        record(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(lab.recorder, "record", full_at_the_third)
    with pytest.raises(StoreError, match="no space left"):
        drive(plan, lab)
    assert stopped == [True]
    info = run_folder.load(lab.recorder.folder).run
    assert info.state == "failed"
    assert info.notes[-1] == f"ended early: cannot write {tmp_path}: no space left"
