"""Peak and knee of ladders with known shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.analyse.ladder import levels, quotable, shape
from loadstone.model.result import OutageLine, StepResult
from loadstone.runs import run_folder
from recorded import a_plan, recorded_run
from scripted_engine import Script


def ladder_of(tmp_path: Path, script: Script, rates: dict[int, int]) -> tuple[StepResult, ...]:
    script.tps = lambda users, second: rates[users]
    return run_folder.load(recorded_run(tmp_path, a_plan(ladder=tuple(rates)))).steps


def test_peak_and_knee_of_a_ladder(tmp_path: Path, script: Script) -> None:
    steps = ladder_of(tmp_path, script, {1: 100, 4: 350, 16: 920, 64: 1000, 256: 700})
    found = shape(levels(steps))
    assert found is not None
    assert (found.peak.concurrency, found.knee.concurrency) == (64, 16)
    assert found.beyond == "falls"


def test_a_ladder_that_still_climbs_says_so(tmp_path: Path, script: Script) -> None:
    found = shape(levels(ladder_of(tmp_path, script, {1: 100, 4: 350, 16: 920})))
    assert found is not None
    assert found.beyond == "untried"


@pytest.mark.parametrize(
    "rates", [{1: 1000, 4: 999}, {1: 1000, 4: 1001}, {1: 500, 4: 1000, 8: 999, 16: 998}]
)
def test_noise_is_not_called_a_peak(tmp_path: Path, script: Script, rates: dict[int, int]) -> None:
    found = shape(levels(ladder_of(tmp_path, script, rates)))
    assert found is not None
    assert found.beyond == "level"


def test_a_level_that_a_dead_server_spoiled_is_no_fall(tmp_path: Path, script: Script) -> None:
    steps = list(ladder_of(tmp_path, script, {2: 1000, 4: 100}))
    outage = OutageLine(from_s=2.0, to_s=None, users=4, reason="2013 gone")
    steps[1] = steps[1].model_copy(update={"outages": (outage,)})
    assert not quotable(steps[1])
    assert shape(levels(steps)) is None
    steps.insert(0, steps[0].model_copy(update={"concurrency": 1, "tps": 500.0}))
    found = shape(levels(steps))
    assert found is not None
    assert found.beyond == "unknown"


def test_a_moment_without_one_of_many_users_spoils_no_rate(tmp_path: Path, script: Script) -> None:
    (step,) = ladder_of(tmp_path, script, {64: 1000})
    outage = OutageLine(from_s=2.0, to_s=2.01, users=1, reason="1927 killed")
    assert quotable(step.model_copy(update={"outages": (outage,)}))


def test_one_level_has_no_shape(tmp_path: Path, script: Script) -> None:
    assert shape(levels(ladder_of(tmp_path, script, {8: 100}))) is None


def test_repeats_become_one_level_with_an_interval(tmp_path: Path, script: Script) -> None:
    steps = ladder_of(tmp_path, script, {8: 100})
    again = steps[0].model_copy(update={"repeat": 2, "tps": 120.0})
    (level,) = levels([*steps, again])
    assert level.tps is not None
    assert level.tps.mean == pytest.approx(110)
    assert level.tps.half_width == pytest.approx(12.706 * 10, rel=1e-3)


def test_a_step_that_never_settled_is_not_averaged(tmp_path: Path, script: Script) -> None:
    steps = ladder_of(tmp_path, script, {8: 100})
    unsteady = steps[0].model_copy(update={"repeat": 2, "tps": 500.0, "steady": False})
    (level,) = levels([*steps, unsteady])
    assert level.tps is not None
    assert (level.tps.mean, level.tps.repeats) == (100.0, 1)
