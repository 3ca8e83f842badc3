"""Peak and knee of ladders with known shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyse.made import a_step
from loadstone.analyse.ladder import levels, middle_step, quotable, shape
from loadstone.model.plan import Rate
from loadstone.model.result import OutageLine, StepResult
from loadstone.runs import run_folder
from recorded import a_plan, recorded_run
from scripted_engine import Script


def ladder_of(tmp_path: Path, script: Script, rates: dict[int, int]) -> tuple[StepResult, ...]:
    script.tps = lambda users, second: rates[users]
    plan = a_plan(ladder=tuple(rates), duration_s=10.0)
    return run_folder.load(recorded_run(tmp_path, plan)).steps


def test_peak_and_knee_of_a_ladder(tmp_path: Path, script: Script) -> None:
    steps = ladder_of(tmp_path, script, {1: 100, 4: 350, 16: 920, 64: 1000, 256: 700})
    found = shape(levels(steps))
    assert found is not None
    assert (found.peak.concurrency, found.knee.concurrency) == (64, 16)
    assert found.beyond == "falls"


def test_a_lower_rate_of_a_step_without_an_interval_is_not_called_a_fall(
    tmp_path: Path, script: Script
) -> None:
    script.tps = lambda users, second: {4: 262, 8: 200}[users]
    plan = a_plan(ladder=(4, 8), duration_s=4.0)
    found = shape(levels(run_folder.load(recorded_run(tmp_path, plan)).steps))
    assert found is not None
    assert found.beyond == "lower"


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


def test_of_an_even_number_the_middle_repeat_is_the_slower() -> None:
    fast, slow = a_step(tps=120.0, p99_ms=9.0), a_step(tps=80.0, p99_ms=36.0, repeat=2)
    assert middle_step([fast, slow]) is slow
    assert middle_step([fast, slow, a_step(tps=100.0)]).tps == 100.0


def test_in_an_open_loop_the_response_time_finds_the_middle() -> None:
    due = Rate(rate=100.0)
    times = (5.0, 90.0, 7.0)
    steps = [a_step(rate=due, tps=100.0 + at, p99_ms=ms) for at, ms in enumerate(times)]
    assert middle_step(steps).latency.response.p99 == 7.0


def test_a_repeat_that_may_not_be_quoted_is_not_the_middle_one() -> None:
    good, unsteady = a_step(tps=120.0), a_step(tps=80.0, steady=False, repeat=2)
    assert middle_step([good, unsteady]) is good
    assert middle_step([unsteady]) is unsteady


def test_both_rates_of_a_level_are_of_the_same_repeats() -> None:
    steps = [a_step(tps=tps, qps=16 * tps, repeat=at) for at, tps in enumerate((700.0, 300.0), 1)]
    unsteady = a_step(tps=10.0, qps=160.0, steady=False, repeat=3)
    (level,) = levels([*steps, unsteady])
    assert level.tps is not None
    assert (level.tps.mean, level.qps) == (500.0, 8000.0)
