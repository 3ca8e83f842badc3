"""Two recipes as a person runs them, shortened, against real throwaway servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

pytestmark = pytest.mark.server

SHORT = ("duration=1s", "warmup=0s", "tables=1", "rows=1k", "buffer_pool=64M")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return tmp_path


def run(name: str, home: Path, *given: str) -> tuple[str, list[dict[str, Any]]]:
    """What it prints, and the steps of its folder."""
    words = [word for each in (*SHORT, *given) for word in ("--set", each)]
    done = subprocess.run(
        [sys.executable, "-m", "loadstone.cli", "recipes", "run", name, "--quick", *words],
        capture_output=True,
        text=True,
        cwd=home,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    (folder,) = (home / "runs").iterdir()
    steps: list[dict[str, Any]] = json.loads((folder / "result.json").read_text())["steps"]
    return done.stdout, steps


def test_group_commit_counts_syncs_and_transactions_by_sync(home: Path) -> None:
    out, steps = run("group-commit", home, "users=1,16", "workload=oltp_update_non_index")
    assert [step["concurrency"] for step in steps] == [1, 16, 16, 1, 1, 16]
    assert all(step["server"]["transactions_per_sync"] > 0 for step in steps)
    assert "trans-" in out
    ladder = next(line for line in out.splitlines() if "transactions/sync: " in line)
    assert ladder.startswith(("here  shown: ", "here  not shown here: "))


def test_tls_is_asked_of_the_server(home: Path) -> None:
    out, steps = run("tls", home, "users=2", "repeats=4", "workload=oltp_point_select")
    encrypted = {step["variant"]: step["encrypted_users"] for step in steps}
    assert encrypted == {"tls=off": 0, "tls=on": 2}
    assert "tls=on against tls=off: " in out
    assert "field With TLS 3,748 TPS" in out
