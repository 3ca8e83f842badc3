"""A step that is changed or ended from outside, on the scripted engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.watched import Remembers, drive, lab_for
from loadstone.lab.step import control
from loadstone.lab.step.loop import Outcome
from loadstone.model.control import AnyWish, SetRate, SetUsers, StopRun
from loadstone.model.plan import Drive, Open, Plan, Rate
from loadstone.runs import control_requests, run_folder
from loadstone.runs.parquet import load_table
from loadstone.runs.rebuild import read_log
from loadstone.runs.recorder import Recorder, read_asked
from recorded import a_plan
from scripted_engine import Script

Steer = Callable[..., tuple[Outcome, Path, Remembers]]


@pytest.fixture
def steer(tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> Steer:
    """Run a plan with a wish at a second of the step with `users`; each record looks for wishes."""
    monkeypatch.setattr(control, "LOOK_EVERY_S", 0.0)

    def carried_out(
        plan: Plan, asked: dict[tuple[int, int], AnyWish], *, may_change: bool = True
    ) -> tuple[Outcome, Path, Remembers]:
        lab, observer = lab_for(tmp_path, plan)
        run = lab.recorder.folder
        tps = script.tps

        def asks(users: int, second: int) -> int:
            if wish := asked.pop((users, second), None):
                control_requests.ask(run, wish)
            return tps(users, second)

        script.tps = asks
        lab = replace(lab, may_change=may_change)
        return drive(plan, lab), run, observer

    return carried_out


def test_a_wish_lies_there_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    asked: list[AnyWish] = [SetUsers(step=1, users=8), StopRun(), SetRate(step=1, rate=0.5)]
    for wish in asked:
        control_requests.ask(tmp_path, wish)
    lying = sorted((tmp_path / control_requests.FOLDER).iterdir())
    assert [file.stat().st_mode & 0o777 for file in lying] == [0o600] * 3
    assert (tmp_path / control_requests.FOLDER).stat().st_mode & 0o777 == 0o700
    assert control_requests.take(tmp_path) == asked
    assert control_requests.take(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"\xff\xfe",
        b'{"kind": "users", "step": 1, "users": 0}',
        b'{"kind": "users", "step": 1, "users": -3}',
        b'{"kind": "rate", "step": 1, "rate": NaN}',
        b'{"kind": "rate", "step": 1, "rate": 1e308}',
        b'{"kind": "stop", "signal": 9}',
    ],
)
def test_what_is_no_wish_is_thrown_away(tmp_path: Path, text: bytes) -> None:
    place = tmp_path / control_requests.FOLDER
    place.mkdir()
    (place / "0-bad.json").write_bytes(text)
    control_requests.ask(tmp_path, StopRun())
    assert control_requests.take(tmp_path) == [StopRun()]
    assert os.listdir(place) == []


def test_a_stop_ends_the_step_cleanly_and_says_so(steer: Steer) -> None:
    plan = a_plan(ladder=(4, 8), duration_s=30.0)
    outcome, run, _ = steer(plan, {(4, 3): StopRun()})
    assert outcome.result.run.state == "stopped"
    (step,) = outcome.result.steps
    assert step.state == "stopped"
    assert step.notes[0].startswith("stopped on request at ")
    assert run_folder.load(run) == outcome.result


def test_a_window_ends_before_the_load_is_changed(steer: Steer) -> None:
    """The row is for 8 users: seconds with 2 users are in none of its figures, and the next is
    whole."""
    plan = a_plan(ladder=(8, 16), duration_s=10.0)
    outcome, run, observer = steer(plan, {(8, 5): SetUsers(step=1, users=2)})
    changed, untouched = outcome.result.steps
    assert [(change.what, change.value) for change in changed.changes] == [("users", 2)]
    assert changed.state == "finished"
    assert changed.window is not None
    assert (changed.window.from_s, changed.window.to_s) == (1.0, 6.0)
    assert changed.tps == 80.0
    assert any("by hand" in note and "2 users" in note for note in changed.notes)
    assert any("users set to 2 by hand" in told for told in observer.told)
    assert (untouched.changes, untouched.tps) == ((), 160.0)
    table = load_table.frame(read_log(run)).filter(step=1)
    assert table["phase"].to_list() == ["warmup"] + ["window"] * 5 + ["changed"] * 5
    assert table["tps"].to_list() == [80.0] * 6 + [20.0] * 5


def test_a_change_in_the_warm_up_leaves_no_window(steer: Steer) -> None:
    plan = a_plan(ladder=(8,), duration_s=4.0)
    outcome, _, _ = steer(plan, {(8, 0): SetUsers(step=1, users=2)})
    (step,) = outcome.result.steps
    assert (step.window, step.tps) == (None, None)
    assert step.state == "finished"


def test_the_rate_of_an_open_loop_is_changed(steer: Steer, script: Script) -> None:
    script.tps = lambda users, second: 1000
    drive = Drive(arrival=Open())
    plan = a_plan(ladder=(8,), rates=(Rate(rate=100.0),), duration_s=6.0, drive=drive)
    outcome, run, _ = steer(plan, {(8, 3): SetRate(step=1, rate=40.0)})
    (step,) = outcome.result.steps
    assert [(change.what, change.value) for change in step.changes] == [("rate", 40.0)]
    assert step.tps == 100.0
    assert load_table.frame(read_log(run))["tps"].to_list() == [100.0] * 4 + [40.0] * 3


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (SetUsers(step=1, users=9), "users: 1 to 8 in this step"),
        (SetRate(step=1, rate=5.0), "a closed loop has none"),
        (SetUsers(step=7, users=2), "meant for step 7"),
    ],
)
def test_what_cannot_be_carried_out_is_said_and_changes_nothing(
    steer: Steer, wish: AnyWish, why: str
) -> None:
    plan = a_plan(ladder=(8,), duration_s=4.0)
    outcome, _, _ = steer(plan, {(8, 2): wish})
    (step,) = outcome.result.steps
    assert (step.changes, step.tps) == ((), 80.0)
    assert any("not changed" in note and why in note for note in step.notes)


def test_levels_that_are_compared_are_not_changed_by_hand(steer: Steer) -> None:
    plan = a_plan(ladder=(8,), duration_s=4.0)
    outcome, _, _ = steer(plan, {(8, 2): SetUsers(step=1, users=2)}, may_change=False)
    (step,) = outcome.result.steps
    assert step.changes == ()
    assert any("search or an experiment" in note for note in step.notes)


def test_a_wish_of_before_the_run_was_taken_up_again_is_nobodys(tmp_path: Path) -> None:
    lab, _ = lab_for(tmp_path, a_plan())
    run = lab.recorder.folder
    lab.recorder.close()
    control_requests.ask(run, StopRun())
    Recorder(run, read_asked(run), (), before=read_log(run).begin).close()
    assert control_requests.take(run) == []
