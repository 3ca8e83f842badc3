"""A real fault in a real server: injected, diagnosed, and removed without a trace."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from benches.caps import GROUPS
from faults import leftovers, verdict
from faults.case import Fault, Load
from faults.catalogue import CASES
from faults.drawn import report
from faults.drawn.cost import ROUND
from faults.drawn.drawn import Drawn
from faults.drawn.judge import judge
from faults.drawn.measure import measure
from faults.drawn.setting import Setting, badly_set
from faults.drawn.starved import truth_of_variable
from faults.drive import Asked, carry_out
from faults.ground import Ground
from loadstone.sandbox import list_sandboxes
from pooled import need

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.nightly
def test_a_hot_row_is_injected_named_and_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("mariadb")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    hot = next(case for case in CASES if case.name == "hot-row")
    with Ground() as ground:
        carried = carry_out(ground, hot, "mariadb", Asked(7, 3.0, tmp_path / "runs"))
    assert carried.effect.bites, carried.effect.words
    assert verdict.outcome(carried) == "right", verdict.line(carried)
    assert carried.used is not None
    assert carried.used.busy > 0
    assert (tmp_path / "runs" / carried.run / "result.json").exists()
    assert list_sandboxes() == []


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.nightly
def test_a_drawn_fault_is_measured_with_and_without_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    setting = Setting("max_error_count", "64", "8", at_start=False)
    load = Load("oltp_point_select", (4,), warmup_s=0.5)
    fault = Fault((), setting.words, load, badly_set(setting))
    truth = truth_of_variable(setting.name, "mariadb")
    drawn = Drawn(1, "variable", setting.name, need("mariadb"), fault, truth, start={})
    with Ground() as ground:
        judged = judge(measure(ground, drawn, Asked(7, 3.0, tmp_path / "runs")))
    record = json.loads(json.dumps(report.as_record(judged)))
    runs = record["runs"]
    assert tuple(run["with_fault"] for run in runs[:4]) == ROUND
    assert [run["proof"] for run in runs[:2]] == ["", "max_error_count=8"]
    assert runs[0]["tps"] > 0
    assert runs[0]["places"]
    assert (tmp_path / "runs" / runs[1]["run"] / "result.json").exists()
    assert not record["counted"]
    assert list_sandboxes() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="not evaluated: only root may make a control group")
def test_what_a_killed_bench_left_is_removed() -> None:
    if not (CPU_GROUPS / "cgroup.procs").exists():
        pytest.skip("not evaluated: no control groups of version 1")
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = CPU_GROUPS / f"{GROUPS}{ended.pid}-1"
    ours = CPU_GROUPS / f"{GROUPS}{os.getpid()}-1"
    left.mkdir()
    ours.mkdir()
    try:
        with subprocess.Popen(["sleep", "60"]) as within:
            (left / "cgroup.procs").write_text(str(within.pid))
            assert str(left) in leftovers.remove()
            within.kill()
        assert not left.exists()
        assert ours.exists(), "its maker is still at work"
    finally:
        ours.rmdir()
