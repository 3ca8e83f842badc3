"""Loads of other shapes than closed loops at some levels, on a real PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from postgres.server import Server
from postgres.test_commands import url

pytestmark = [pytest.mark.server, pytest.mark.slow]

TABLES = ("--tables", "2", "--table-size", "1000")


def ran(folder: Path, target: str, *words: str) -> dict[str, Any]:
    """The result of a run on tables that are made first."""
    called("prepare", "--target", target, *TABLES, folder=folder)
    said = called("run", *words, "--target", target, "--json", folder=folder)
    result: dict[str, Any] = json.loads(said.stdout)
    return result


def test_an_open_loop_keeps_its_rate_and_its_schedule(
    server: Server, database: str, tmp_path: Path
) -> None:
    words = ("--rate", "50,100", "--concurrency", "8", "--duration", "3s", "--warmup", "0s")
    result = ran(tmp_path, url(server, database), "oltp_read_write", *words)
    assert [step["rate"]["rate"] for step in result["steps"]] == [50, 100]
    for step in result["steps"]:
        # Arrivals are random: of 150, a third is five standard deviations.
        assert step["tally"]["due"] == pytest.approx(3 * step["rate"]["rate"], rel=0.35)
        assert step["tally_balances"]


def test_phases_have_the_users_that_they_name(
    server: Server, database: str, tmp_path: Path
) -> None:
    words = ("--phases", "warm 1s 2, low 2s 1, ramp 2s 1..4, high 2s 4")
    result = ran(tmp_path, url(server, database), "oltp_point_select", *words)
    (step,) = result["steps"]
    phases = {phase["name"]: phase for phase in step["phases"]}
    assert list(phases) == ["warm", "low", "ramp", "high"]
    assert all(phase["tps"] > 0 for phase in phases.values())
    assert step["users"] == 4


def test_a_mix_drives_each_of_its_workloads(server: Server, database: str, tmp_path: Path) -> None:
    target = url(server, database)
    called("prepare", "hot_row", "--target", target, folder=tmp_path)
    mix = ("oltp_read_write:weight=3", "hot_row:weight=1", "oltp_read_only:as=report,users=1")
    words = ("--concurrency", "4", "--duration", "3s", "--warmup", "0s")
    (step,) = ran(tmp_path, target, *mix, *words)["steps"]
    members = {member["name"]: member for member in step["members"]}
    assert set(members) == {"oltp_read_write", "hot_row", "report"}
    assert all(member["events"] > 0 for member in members.values())
    assert sum(member["events"] for member in members.values()) == step["events"]
    assert step["users"] == 5


def test_the_highest_rate_that_meets_an_objective_is_found(
    server: Server, database: str, tmp_path: Path
) -> None:
    words = ("--slo", "p99<2s", "--concurrency", "4", "--duration", "1s", "--warmup", "0s")
    result = ran(tmp_path, url(server, database), "oltp_point_select", *words)
    found = result["run"]["search"]
    assert found["complete"]
    assert 0 < found["rate"]["value"] <= 1.2 * max(step["tps"] for step in result["steps"])


def test_bulk_insert_s_rows_are_there(server: Server, database: str, tmp_path: Path) -> None:
    folder, port = str(server.folder), str(server.port)
    login = (
        "--db-driver=pgsql", f"--pgsql-host={folder}", f"--pgsql-port={port}",
        "--pgsql-user=postgres", f"--pgsql-db={database}",
    )  # fmt: skip
    words = ("bulk_insert", *login, "--threads=2", "--events=2000", "--time=0")
    called("sysbench", *words, "prepare", folder=tmp_path)
    said = called("sysbench", *words, "run", folder=tmp_path)
    assert "total number of events:              2000" in said.stdout
    rows = [
        int(server.asked(f"SELECT count(*) FROM sbtest{number}", database)[0][0])
        for number in (1, 2)
    ]
    assert sum(rows) == 2000
    called("sysbench", *words, "cleanup", folder=tmp_path)
    left = server.asked("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database)
    assert left == [["0"]]
