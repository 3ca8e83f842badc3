"""A run says where its wall time went if much of it was not the load."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.model.language import in_language
from loadstone.model.result import WallTime
from loadstone.report.notes import run_notes
from loadstone.report.opened import Run
from loadstone.report.text import as_text
from loadstone.report.wall_time import wall_time_notes
from loadstone.report.wrapping import UNLIMITED
from loadstone.runner.finished import Finished
from loadstone.runs import run_folder
from recorded import a_plan, recorded_run
from scripted_engine import Script

BUSY = WallTime(
    preparing_s=15.0,
    connecting_s=12.0,
    warmup_s=4.0,
    window_s=20.0,
    closing_s=6.0,
    evaluating_s=36.0,
)
SAID = (
    "the run took 93 s, of which 24 s under load: preparing 15 s, connecting 12 s, "
    "warm-up 4 s, windows 20 s, closing steps 6 s, evaluating and clearing up 36 s"
)


def test_all_phases_are_in_one_line() -> None:
    (said,) = wall_time_notes(BUSY)
    assert said == SAID
    quick = BUSY.model_copy(update={"connecting_s": 0.1, "warmup_s": 0.0})
    assert "connecting" not in next(wall_time_notes(quick))
    assert "测试共用时" in in_language("zh")(said)


@pytest.mark.parametrize(
    ("besides_s", "load_s", "is_said"),
    [(9.0, 1.0, False), (11.0, 60.0, False), (11.0, 21.0, True), (31.0, 60.0, True)],
)
def test_it_is_said_from_ten_seconds_and_a_third_of_the_time_on(
    besides_s: float, load_s: float, is_said: bool
) -> None:
    none = dict.fromkeys(WallTime.model_fields, 0.0)
    wall = WallTime.model_validate(none | {"evaluating_s": besides_s, "window_s": load_s})
    assert bool(list(wall_time_notes(wall))) == is_said


def test_of_an_earlier_version_nothing_is_said() -> None:
    assert list(wall_time_notes(None)) == []


def test_the_text_and_the_report_have_the_line(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded_run(tmp_path, a_plan())
    result = run_folder.load(run)
    slow = result.model_copy(update={"run": result.run.model_copy(update={"wall_time": BUSY})})
    assert SAID in list(run_notes(slow.run))
    assert f"note  {SAID}\n" in as_text(slow, UNLIMITED)
    monkeypatch.setattr(Run, "result", slow)
    page = run / "x.html"
    assert exit_code_of(["report", str(run), "-o", str(page)]) == 0
    assert SAID in page.read_text()


def test_a_run_that_has_just_ended_counts_what_came_after_its_end(
    tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path, a_plan())
    result = run_folder.load(run)
    assert result.run.wall_time
    stored_s = result.run.wall_time.evaluating_s
    ended = time.monotonic() - 40.0
    now = Finished(result, run, ended=ended).result_until_now.run.wall_time
    assert now
    assert stored_s + 40.0 <= now.evaluating_s < stored_s + 100.0
    assert Finished(result, run).result_until_now == result
