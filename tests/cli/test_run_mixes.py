"""`run` with mixes, phases, idle connections and reconnects: what it refuses, what it plans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import scripted_engine
from cli.test_run_scripted import SHORT, URL, made_up
from loadstone.cli.errors import exit_code_of
from loadstone.lab.tables.load import together
from loadstone.model.engine_plan import Layout
from scripted_engine import Script

MIX = ("oltp_point_select:weight=3", "oltp_read_write:as=report,users=2,think=1s,range_size=1000")
PHASES = ("--phases", "warm 1s 2, ramp 2s 2..8, spike 1s 16")
AT = ("--target", URL, "--shards", "1", "--no-observe")


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("loadstone.runner.run.inspect_target", made_up)
    yield


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*MIX, "--slo", "p99<10ms"], "--slo cannot search with several workloads at once"),
        ([*MIX, "--concurrency", "auto"], "--concurrency auto cannot search"),
        ([*MIX, "--point-selects", "5"], "write it with the workload that it is for"),
        ([*MIX, "hot_row:as=report"], "report occurs twice"),
        (["oltp_read_write", "hot_rows"], "there is no workload 'hot_rows'"),
        (["oltp_read_write:colour=red"], "oltp_read_write has no option colour"),
        (["hot_row:users=1", "--rate", "100"], "an open loop needs a workload without users"),
        (["hot_row:users=1", *PHASES], "--phases needs a workload without users of its own"),
        (["hot_row:users=1", "--concurrency", "8"], "--concurrency is for workloads without users"),
        (["hot_row", *PHASES, "--duration", "5s"], "--duration: --phases already defines it"),
        (["hot_row", *PHASES, "--warmup", "auto"], "--warmup: --phases already defines it"),
        (["hot_row", *PHASES, "--rate", "5"], "--rate: --phases already defines it"),
        (
            ["hot_row", *PHASES, "--concurrency", "4"],
            "--concurrency: --phases already defines the users",
        ),
        (["hot_row", "--phases", "a 5s x"], "phase 1, 'a 5s x'"),
        (
            ["hot_row", "hot_row:as=sale,users=1", "--distribution", "uniform"],
            "--distribution: only the workloads of sysbench's tables draw keys by it",
        ),
        (["hot_row", "--reconnect", "0"], "--reconnect"),
        (["hot_row", "--idle", "-1"], "--idle"),
    ],
)
def test_what_cannot_be_combined_is_refused_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["run", *words, *AT]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.startswith("error: ")
    assert scripted_engine.PLANS == []


def test_a_mix_reaches_the_engine_with_all_that_is_each_ones_own() -> None:
    words = [*MIX, *SHORT, "--concurrency", "2,4", "--tables", "3", "--think-time", "5ms"]
    assert exit_code_of(["run", *words, "--reconnect", "10", "--idle", "50"]) == 0
    first, second = scripted_engine.PLANS
    assert (first["users"], second["users"]) == (4, 6)
    assert (first["reconnect_after"], first["idle"]) == (10, 50)
    assert "workload" not in first
    drawn, report = first["members"]
    assert (drawn["name"], drawn["weight"], drawn["users"]) == ("oltp_point_select", 3.0, None)
    assert (report["name"], report["users"], report["think_s"]) == ("report", 2, 1.0)
    assert report["workload"]["options"] == {"range_size": 1000}
    assert drawn["workload"]["tables"] == report["workload"]["tables"] == 3


def test_phases_reach_the_engine_as_stretches(tmp_path: Path) -> None:
    assert exit_code_of(["run", "oltp_read_write", *AT, *PHASES]) == 0
    (sent,) = scripted_engine.PLANS
    assert sent["users"] == 16
    assert sent["stop"] == {"kind": "time", "warmup_s": 1.0, "duration_s": 3.0}
    assert sent["phases"] == [
        {"seconds": 1, "from": 2, "to": 2},
        {"seconds": 2, "from": 2, "to": 8},
        {"seconds": 1, "from": 16, "to": 16},
    ]
    (run,) = (tmp_path / "runs").iterdir()
    (step,) = json.loads((run / "result.json").read_text())["steps"]
    assert [phase["name"] for phase in step["phases"]] == ["warm", "ramp", "spike"]
    assert [phase["to_s"] - phase["from_s"] for phase in step["phases"]] == [1, 2, 1]
    # The warm-up has a line of its own, and counts in no other figure.
    assert sum(phase["events"] for phase in step["phases"][1:]) == step["events"]


def test_phases_of_a_rate_are_an_open_loop() -> None:
    words = ["oltp_read_write", *AT, "--phases", "a 1s 10/s, b 2s 10..40/s", "--concurrency", "7"]
    assert exit_code_of(["run", *words]) == 0
    (sent,) = scripted_engine.PLANS
    assert sent["users"] == 7
    assert (sent["arrival"]["kind"], sent["arrival"]["rate"]) == ("open", 40.0)
    assert sent["phases"][1] == {"seconds": 2, "from": 10.0, "to": 40.0}


def test_workloads_that_share_tables_get_the_most_that_any_of_them_wants() -> None:
    small, large = Layout(tables=2, table_size=5000), Layout(tables=4, table_size=100)
    sale = Layout(kind="hot", tables=1, table_size=100)
    assert together([small, sale, large]) == [Layout(tables=4, table_size=5000), sale]
