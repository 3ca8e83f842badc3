"""Experiments that search, from the command line to the folder, with the scripted engine."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import scripted_engine
from experiment.test_experiment import by_server, carried_out, result, undisturbed
from loadstone.cli.errors import exit_code_of
from scripted_engine import Script

__all__ = ["undisturbed"]

FILE = """\
name = "two"
duration = "1s"
warmup = "0s"
repeats = 2

[search]
peak = true
most_users = 2

[[workload]]
name = "oltp_point_select"
tables = 2
table_size = 100

[factor.server.a]
target = { url = "mysql://bench@127.0.0.1:3301/sbtest" }
[factor.server.b]
target = { url = "mysql://bench@127.0.0.1:3302/sbtest" }
"""
RATE = FILE.replace("peak = true\nmost_users = 2", 'objective = "p99<10ms"')


def capacities(script: Script, users: int = 2, **capacity: int) -> None:
    """Each server's events a second, which so many users reach."""
    by_server(script, lambda *_: 0)
    ports = {3301: capacity["a"], 3302: capacity["b"]}

    def tps(at_work: int, second: int) -> int:
        most = ports[scripted_engine.PLANS[-1]["targets"][0]["port"]]
        return min(most, most * at_work // users)

    script.tps = tps
    script.latency_ns = lambda users, second: 1_000_000


def test_variants_are_compared_by_their_peaks(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    capacities(script, a=200, b=100)
    assert carried_out(FILE) == 0
    out = capsys.readouterr().out
    found = result()
    assert found["run"]["steps_planned"] is None
    assert [(each["variant"][-1], each["repeat"]) for each in found["run"]["searches"]] == [
        ("a", 1), ("b", 1), ("b", 2), ("a", 2),
    ]  # fmt: skip
    assert [each["found"]["peak_tps"] for each in found["run"]["searches"]] == [200, 100, 100, 200]
    assert "searched for: the peak" in out
    assert "oltp_point_select, peak" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("server=")]
    assert [row[1:3] for row in rows[:2]] == [["2", "200"], ["2", "100"]]
    assert [row[-1] for row in rows[:2]] == ["2", "2"]
    assert "-50.0 %, 1 unit: too few for an interval" in out
    assert "run it again with repeats = 6 or more in its file" in " ".join(out.split())
    assert "an effect is the geometric mean of the ratios within each unit" in " ".join(out.split())


def test_a_plan_has_searches_in_turns(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.toml").write_text(RATE)
    assert exit_code_of(["experiment", "two.toml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "searched for: the highest rate with p99<10ms" in out
    assert "search  block  unit  variant   load" in out
    last = out.split("4 searches of")[0].split()[-5:]
    assert last == ["4", "1", "1", "server=a", "oltp_point_select"]
    assert "4 searches of at most 40 steps: 2 min 40 s at most" in out


@pytest.mark.slow
def test_a_search_that_was_stopped_is_taken_up_at_its_step(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    capacities(script, a=20, b=10)
    assert carried_out(FILE) == 0
    whole = list(scripted_engine.PLANS)
    scripted_engine.PLANS.clear()
    tps = script.tps

    def stopped(users: int, second: int) -> int:
        if len(scripted_engine.PLANS) == 12:
            os.kill(os.getpid(), signal.SIGINT)
        return tps(users, second)

    script.tps = stopped
    words = ("--out", "again")
    assert carried_out(FILE, *words) == 130
    assert exit_code_of(["resume", "last", "--no-observe", *words]) == 0
    sent = scripted_engine.PLANS
    assert [each["tag"] for each in sent] == [each["tag"] for each in whole[:12] + whole[11:]]
    assert [each["users"] for each in sent] == [each["users"] for each in whole[:12] + whole[11:]]


@pytest.mark.slow
def test_reports_have_what_was_found_and_what_was_missed(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    capacities(script, a=200, b=100)
    script.latency_ns = lambda *_: (
        20_000_000 if scripted_engine.PLANS[-1]["targets"][0]["port"] == 3302 else 1_000_000
    )
    assert carried_out(RATE, "--threshold", "tps>150") == 99
    said = capsys.readouterr()
    out = " ".join(said.out.split())
    assert "server=b: 2 of 2 searches found no rate with p99<10ms" in out
    assert "1 of 1 units left out: objective missed 1" in out
    assert "no rate held p99<10ms" in said.err
    for form, words in ((["--markdown"], "highest rate with p99"), ([], "found no rate with")):
        assert exit_code_of(["report", "last", *form, "-o", "report"]) == 0
        assert words in Path("report").read_text()
    assert exit_code_of(["report", "last", "--lang", "zh", "-o", "report"]) == 0
    assert "次搜索中有 2 次没有找到满足 p99&lt;10ms 的到达率" in Path("report").read_text()
    assert exit_code_of(["compare", "last"]) == 2
    assert "is a search: each search has levels of its own" in capsys.readouterr().err
