"""Two recipes as a user runs them, shortened, against real throwaway servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

SHORT = ("duration=1s", "warmup=0s", "tables=1", "rows=1k", "buffer_pool=64M")


def run(name: str, home: Path, *given: str) -> tuple[str, list[dict[str, Any]]]:
    """Run a recipe; returns what it prints, and the steps of its folder."""
    need("mariadb")
    words = [word for each in (*SHORT, *given) for word in ("--set", each)]
    done = called("recipes", "run", name, "--quick", *words, folder=home)
    (folder,) = (home / "runs").iterdir()
    steps: list[dict[str, Any]] = json.loads((folder / "result.json").read_text())["steps"]
    return done.stdout, steps


def test_group_commit_counts_syncs_and_transactions_by_sync(tmp_path: Path) -> None:
    out, steps = run("group-commit", tmp_path, "users=1,16", "workload=oltp_update_non_index")
    assert [step["concurrency"] for step in steps] == [1, 16, 16, 1, 1, 16]
    found: dict[int, float] = {}
    for step in steps:
        users, grouped = step["concurrency"], step["server"]["transactions_per_sync"]
        found[users] = max(grouped or 0.0, found.get(users, 0.0))  # a disk may stand still for 1 s
    assert min(found.values()) > 0
    ladder = next(line for line in out.splitlines() if "transactions/sync: " in line)
    assert ladder.startswith(("here:   shown: ", "here:   not so here: "))


def test_tls_is_asked_of_the_server(tmp_path: Path) -> None:
    out, steps = run("tls", tmp_path, "users=2", "repeats=4", "workload=oltp_point_select")
    encrypted = {step["variant"]: step["encrypted_users"] for step in steps}
    assert encrypted == {"tls=off": 0, "tls=on": 2}
    assert "tls=on against tls=off: " in out
    assert "field:  With TLS 3,748 TPS" in out


def test_work_mem_is_that_of_the_loads_sessions(tmp_path: Path) -> None:
    need("postgresql")
    sizes = ("users=2", "repeats=2", "range=1k", "small=64K", "large=32M")
    out, steps = run("work-mem", tmp_path, *sizes)
    assert "work_mem=large against work_mem=small: " in out
    # A statement sorts 120 KB and more: with the smaller value that is written and read again.
    written = {"work_mem=small": False, "work_mem=large": False}
    for step in steps:
        figures = step["server"]["rates"]
        written[step["variant"]] |= figures["pg_stat_database.temp_bytes"] > 0
    assert written == {"work_mem=small": True, "work_mem=large": False}
