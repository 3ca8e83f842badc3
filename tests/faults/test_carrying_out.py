"""A real fault in a real server: injected, diagnosed, and removed without a trace."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benches.caps import GROUPS
from faults import leftovers, verdict
from faults.catalogue import CASES
from faults.drive import Asked, carry_out
from faults.ground import Ground
from loadstone.sandbox import SandboxError, find_server, list_sandboxes

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")


@pytest.mark.server
@pytest.mark.slow
def test_a_hot_row_is_injected_named_and_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        find_server("mariadb")
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
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
