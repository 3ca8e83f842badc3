"""`run` from the command line to the folder, with the scripted engine and a made-up server."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import scripted_engine
from loadstone.cli.errors import exit_code_of
from loadstone.lab.tables.discover import Data, Wanted
from loadstone.lab.tables.inspect import InspectedTarget
from loadstone.model.target import Endpoint
from loadstone.servers.facts import ServerFacts
from loadstone.web.listing import RunList
from scripted_engine import Script

URL = "mysql://bench:geheim@127.0.0.1:3306/sbtest"
SHORT = ("--duration", "2s", "--warmup", "1s", "--target", URL, "--shards", "1", "--no-observe")


def made_up(endpoint: Endpoint, wanted: Wanted, timeout_s: float) -> InspectedTarget:
    facts = ServerFacts(
        version="10.11.0-MariaDB",
        flavour="mariadb",
        comment="",
        variables={"max_connections": "100000"},
        connected=1,
        cipher="",
        max_connections=100_000,
    )
    data = Data(tables=wanted.tables or 3, table_size=wanted.table_size or 500)
    return InspectedTarget(endpoint=endpoint, facts=facts, data=data)


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("loadstone.runner.run.inspect_target", made_up)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def only_run(tmp_path: Path) -> Path:
    (run,) = (tmp_path / "runs").iterdir()
    return run


def test_the_table_is_on_stdout_and_the_progress_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--concurrency", "1,8"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("oltp_read_write, 3 tables × 500 rows, prepared statements, 2 s a step")
    assert "Peak: 80.0 tps at 8 users" in out
    assert out.splitlines()[-1] == f"saved  runs/{only_run(tmp_path).name}"
    told = [line for line in err.splitlines() if "is not watched for harm" not in line]
    assert told == [
        "2 steps of 2 s: 6 s with warm-up, plus connecting and evaluating",
        "step 1 of 2, 1 user: connecting",
        "step 1 of 2, 1 user: finished, 10.0 tps, 200 qps, p95 1.01 ms, p99 1.01 ms, 0 errors",
        "step 2 of 2, 8 users: connecting",
        "step 2 of 2, 8 users: finished, 80.0 tps, 1,600 qps, p95 8.07 ms, p99 8.08 ms, 0 errors",
    ]


def test_what_came_before_the_folder_is_in_the_run_s_wall_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(endpoint: Endpoint, wanted: Wanted, timeout_s: float) -> InspectedTarget:
        time.sleep(0.3)
        return made_up(endpoint, wanted, timeout_s)

    monkeypatch.setattr("loadstone.runner.run.inspect_target", slowly)
    assert exit_code_of(["run", "oltp_read_write", *SHORT]) == 0
    found = json.loads((only_run(tmp_path) / "result.json").read_text())["run"]["wall_time"]
    assert found["preparing_s"] >= 0.3
    assert (found["warmup_s"], found["window_s"]) == (1.0, 2.0)


def test_stated_limits_are_kept_with_the_run_and_used_for_its_ceilings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ("--limit", "net_mbit=0.1", "--limit", "disk_write_iops=3k")
    assert exit_code_of(["run", "oltp_read_write", *SHORT, *limits]) == 0
    environment = json.loads((only_run(tmp_path) / "environment.json").read_text())
    assert environment["limits"] == {"line_bytes_per_s": 12_500, "disk_write_iops": 3000}
    capsys.readouterr()
    assert exit_code_of(["ceilings", "last", "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    (line,) = [one for one in step["ceilings"] if one["resource"] == "network from the server"]
    assert line["by_hand"]
    assert line["how"].endswith("(limit stated by hand)")
    assert exit_code_of(["ceilings", "last", "--json", "--if", "net_mbit=100"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert not any(one["by_hand"] for one in step["ceilings"])


def test_a_misspelt_limit_is_refused_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--limit", "disk_iop=3000"]) == 2
    assert "there is no limit 'disk_iop': did you mean disk_iops?" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "pauses_s", "longest_s", "on_error"),
    [
        ((), None, 1.0, "restart"),
        (("--timeline",), 1.0, 0.1, "continue"),
        (("--timeline", "--on-error", "stop"), 1.0, 0.1, "stop"),
    ],
)
def test_a_drill_tells_users_apart_connects_in_a_hurry_and_goes_on(
    words: tuple[str, ...], pauses_s: float | None, longest_s: float, on_error: str
) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, *words]) == 0
    (plan,) = scripted_engine.PLANS
    assert (plan["pauses_s"], plan["on_error"]) == (pauses_s, on_error)
    assert plan["connect"]["longest_backoff_s"] == longest_s


def test_a_drill_without_trouble_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--timeline"]) == 0
    assert "No outage in step 1: no user waited for a second." in capsys.readouterr().out


def test_json_is_all_that_stdout_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == (only_run(tmp_path) / "result.json").read_text()
    assert json.loads(out)["steps"][0]["tps"] == 10.0
    assert err == ""


def test_a_run_shown_again_reads_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(["run", "oltp_read_write", *SHORT])
    at_once = capsys.readouterr().out
    assert exit_code_of(["runs", "show", "last"]) == 0
    assert capsys.readouterr().out == at_once


def test_no_file_holds_the_password(tmp_path: Path) -> None:
    exit_code_of(["run", "oltp_read_write", *SHORT])
    assert scripted_engine.PLANS[0]["targets"][0]["password"] == "geheim"
    files = list(only_run(tmp_path).iterdir())
    assert {file.name for file in files} == {
        "run.json",
        "environment.json",
        "journal.jsonl",
        "latency.hlog",
        "load.parquet",
        "result.json",
        "seals",
    }
    assert [file.name for file in files if b"geheim" in file.read_bytes()] == []


def test_options_reach_the_engine(tmp_path: Path) -> None:
    line = "--text --seed 7 --tables 2 --table-size 1k --point-selects 5 --skip-trx"
    more = "--isolation read-committed --init-sql SET --on-error stop --connect-retries 0"
    distribution = ["--distribution", "zipfian:exponent=1.2", "--tls", "disabled"]
    distribution += ["--compression", "zstd,zlib"]
    words = [*line.split(), *more.split(), *distribution, "--think-time", "5ms"]
    assert exit_code_of(["run", "oltp_read_write", *SHORT, *words]) == 0
    (sent,) = scripted_engine.PLANS
    assert sent["protocol"] == "text"
    assert sent["seed"] == 7
    assert sent["workload"] == {
        "name": "oltp_read_write",
        "tables": 2,
        "table_size": 1000,
        "options": {"point_selects": 5, "skip_trx": True},
        "distribution": {"kind": "zipfian", "exponent": 1.2},
        "warehouses": 0,
        "template": None,
        "book": 0,
    }
    assert sent["arrival"] == {"kind": "closed", "think_s": 0.005}
    assert sent["stop"] == {"kind": "time", "warmup_s": 1.0, "duration_s": 2.0}
    assert sent["session"]["isolation"] == "read-committed"
    assert sent["session"]["init_sql"] == ["SET"]
    assert (sent["on_error"], sent["connect"]["retries"]) == ("stop", 0)
    assert sent["targets"][0]["tls"]["mode"] == "disabled"
    assert sent["targets"][0]["compression"] == ["zstd", "zlib"]


def test_several_targets_share_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    second = "mysql://bench@127.0.0.1:3307/sbtest"
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--target", second, "--json"]) == 0
    (sent,) = scripted_engine.PLANS
    assert [target["port"] for target in sent["targets"]] == [3306, 3307]
    shares = json.loads(capsys.readouterr().out)["steps"][0]["targets"]
    assert [share["target"] for share in shares] == [
        "mysql://bench@127.0.0.1:3306/sbtest",
        "mysql://bench@127.0.0.1:3307/sbtest",
    ]


def test_ctrl_c_ends_with_130_and_a_saved_run(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_second_three(users: int, second: int) -> int:
        if second == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return 10

    script.tps = at_second_three
    arguments = ["run", "oltp_read_write", *SHORT, "--duration", "1h", "--concurrency", "1,8"]
    assert exit_code_of(arguments) == 130
    out, err = capsys.readouterr()
    assert "stopped on request after" in out
    folder = only_run(tmp_path)
    assert err.splitlines()[-2:] == [
        "error: interrupted with 0 of 2 steps finished; what was measured is kept in"
        f" runs/{folder.name}",
        f"hint:  loadstone runs show {folder.name} shows it",
    ]
    assert "- ms" not in err
    result = json.loads((only_run(tmp_path) / "result.json").read_text())
    assert result["run"]["state"] == "stopped"
    assert (result["run"]["steps_planned"], len(result["steps"])) == (2, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_load_ends_it_even_where_a_shell_had_it_ignored(
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(endpoint: Endpoint, wanted: Wanted, timeout_s: float) -> InspectedTarget:
        os.kill(os.getpid(), number)
        return made_up(endpoint, wanted, timeout_s)

    signal.signal(number, signal.SIG_IGN)
    monkeypatch.setattr("loadstone.runner.run.inspect_target", interrupted)
    assert exit_code_of(["run", "oltp_read_write", *SHORT]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "error: interrupted while the run was prepared",
        "hint:  nothing was measured, and nothing is kept",
    ]
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_step_that_fails_says_so_after_the_table(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script.fail_at_s = 2
    script.end_error = {
        "kind": "statement_failed",
        "family": "mysql",
        "code": "1146",
        "sql_state": "42S02",
        "message": "Table 'sbtest.sbtest2' doesn't exist",
        "target": 0,
        "statement": "SELECT 1",
    }
    assert exit_code_of(["run", "oltp_read_write", *SHORT]) == 3
    out, err = capsys.readouterr()
    assert "1 user: failed: Table 'sbtest.sbtest2' doesn't exist" in " ".join(out.split())
    assert err.splitlines()[-2:] == [
        "error: 127.0.0.1:3306: Table 'sbtest.sbtest2' doesn't exist (1146, 42S02)",
        "hint:  loadstone prepare makes the tables",
    ]
    assert json.loads((only_run(tmp_path) / "result.json").read_text())["run"]["state"] == "failed"


def test_strict_refuses_figures_of_a_saturated_generator(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script.tps = lambda users, second: 9_000
    arguments = ["run", "oltp_read_write", *SHORT, "--duration", "1s"]
    assert exit_code_of(arguments) == 0
    assert "client-bound" in capsys.readouterr().out
    assert exit_code_of([*arguments, "--strict"]) == 5


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_the_load_is_exported(kind: str, tmp_path: Path) -> None:
    exit_code_of(["run", "oltp_read_write", *SHORT])
    to = tmp_path / f"load.{kind}"
    assert exit_code_of(["runs", "export", "last", "--format", kind, "--to", str(to)]) == 0
    content = to.read_bytes()
    if kind == "csv":
        assert content.startswith(b"step,variant,workload,concurrency,rate,repeat,phase,second,")
        assert len(content.splitlines()) == 4
    elif kind == "json":
        assert [row["phase"] for row in json.loads(content)] == ["warmup", "window", "window"]
    else:
        assert content[:4] == b"PAR1"


def test_runs_are_listed_with_their_best_rate(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(["run", "oltp_read_write", *SHORT, "--concurrency", "1,8", "--name", "first"])
    exit_code_of(["run", "hot_row", *SHORT, "--name", "second"])
    capsys.readouterr()
    assert exit_code_of(["runs", "list"]) == 0
    listed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0].partition("-")[0] for line in listed[2:]] == ["first", "second"]
    assert listed[2][1:] == [
        "finished",
        "oltp_read_write",
        "2/2",
        "80.0",
        "tps",
        "at",
        "8",
        "users",
    ]


def test_a_ladder_of_rates_says_which_was_kept_up_with(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script.tps = lambda users, second: 300
    words = ["--rate", "100,200,1k", "--arrivals", "uniform", "--max-backlog", "50"]
    assert exit_code_of(["run", "oltp_read_write", *SHORT, *words]) == 0
    out = capsys.readouterr().out
    assert "Kept up with 200 events/s. Of 1,000 events/s it did 300 a second" in out
    assert [sent["users"] for sent in scripted_engine.PLANS] == [64, 64, 64]
    assert scripted_engine.PLANS[2]["arrival"] == {
        "kind": "open",
        "rate": 1000.0,
        "gaps": "uniform",
        "max_backlog": 50,
    }


def test_a_ramp_reaches_the_engine(script: Script) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--rate", "10..80/2s"]) == 0
    arrival = scripted_engine.PLANS[0]["arrival"]
    assert (arrival["rate"], arrival["ramp"]) == (10.0, {"to": 80.0, "over_s": 2.0})


def test_the_highest_rate_within_an_objective_is_said_and_kept(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script.tps = lambda users, second: 1000
    script.latency_ns = lambda users, second: 2_000_000
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--slo", "p99<10ms"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    found = json.loads((only_run(tmp_path) / "result.json").read_text())["run"]
    assert found["steps_planned"] is None
    assert found["search"]["rate"]["value"] == pytest.approx(1000, rel=0.06)
    assert found["search"]["complete"]
    assert "p99<10ms holds up to" in out
    assert "(3 of 3 steps held, 94 % sure)" in out
    assert "In a closed loop the same users do 1,000 tps." in out
    assert exit_code_of(["report", "last", "--markdown"]) == 0
    assert "p99<10ms holds up to" in capsys.readouterr().out.replace("\\<", "<")


@pytest.mark.parametrize("latency_ms", [2, 20])
def test_a_search_is_listed_with_its_answer(
    latency_ms: int, tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `runs list` and for the live page alike."""
    script.tps = lambda users, second: 1000
    script.latency_ns = lambda users, second: latency_ms * 1_000_000
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--slo", "p99<10ms"]) == 0
    capsys.readouterr()
    assert exit_code_of(["runs", "list"]) == 0
    listed = capsys.readouterr().out
    runs = RunList(tmp_path / "runs")
    runs.look()
    (line,) = runs.lines
    assert line["objective"] == "p99<10ms"
    if latency_ms < 10:
        assert line["objective_rate"] == pytest.approx(1000, rel=0.06)
        assert f"p99<10ms up to {line['objective_rate']:,.0f} events/s" in listed
    else:
        assert line["objective_rate"] is None
        assert "p99<10ms at no rate that was tried" in listed


def test_the_fewest_users_at_the_peak_are_said(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.tps = lambda users, second: min(users * 100, 800)
    assert exit_code_of(["run", "oltp_read_write", *SHORT, "--concurrency", "auto"]) == 0
    said = "Fewest users at the peak: 8 users with 800 tps"
    printed = capsys.readouterr()
    assert said in printed.out
    # 1 to 1,024 users or as many as the server accepts, then levels in between, and repeats.
    (before,) = re.findall(r"^a search: at most (\d+) steps of 2 s if repeats", printed.err, re.M)
    (run,) = (tmp_path / "runs").iterdir()
    assert len(json.loads((run / "result.json").read_text())["steps"]) <= int(before) <= 19
    assert exit_code_of(["runs", "list"]) == 0
    assert "peak from 8 users: 800 tps" in capsys.readouterr().out
    runs = RunList(tmp_path / "runs")
    runs.look()
    (line,) = runs.lines
    assert (line["at_peak"], line["best_users"], line["best_tps"]) == (True, 8, 800)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--rate", "fast"], '"fast" is not a rate: write 1000, or "1000..8000/60s"'),
        (["--rate", "0"], '"0": a rate is above 0 and at most 10,000,000 events a second'),
        (
            ["--rate", "5,5"],
            "5 is there twice: leave one out: repeats says how often",
        ),
        (["--rate", "5..10"], '"5..10" is not a rate'),
        (["--rate", "5", "--think-time", "1s"], "--think-time is for a closed loop"),
        (
            ["--rate", "5", "--slo", "p99<1s"],
            "--slo searches for the rate itself: leave --rate out",
        ),
        (["--arrivals", "uniform"], "--arrivals is for an open loop: add --rate"),
        (["--slo", "p99"], '"p99" is not an objective: write "p99<10ms"'),
        (["--slo", "p99<10"], '"p99<10": p99 needs a unit: write "p99<10ms"; units: us, µs, ms, s'),
        (["--slo", "p98<1s"], '"p98" is not one of min, mean, p50, p90, p95, p99, p999, max'),
        (["--slo", "p99<1s", "--repeats", "3"], "a search chooses levels and repeats steps itself"),
    ],
)
def test_rates_that_make_no_sense_are_one_line(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["run", "oltp_read_write", *SHORT, *words]) == 2
    err = capsys.readouterr().err
    assert line in err
    assert "Traceback" not in err
