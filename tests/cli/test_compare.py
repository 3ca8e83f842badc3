"""`compare`, `runs trend` and gates from the command line, on runs of the engine's double."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.test_run_scripted import SHORT, made_up
from loadstone.cli.errors import exit_code_of
from loadstone.runs import run_folder
from scripted_engine import Script

RUN = ("run", "oltp_read_write", *SHORT)


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("loadstone.runner.run.inspect_target", made_up)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def does(script: Script, tps: int) -> None:
    """A server that does this many events in every other second, and one more in those between."""
    script.tps = lambda users, second: tps + (second % 2)


def a_run(script: Script, name: str, tps: int, *more: str) -> Path:
    """A run at 8 users."""
    does(script, tps)
    assert exit_code_of([*RUN, "--concurrency", "8", "--name", name, *more]) == 0
    (found,) = Path("runs").glob(f"{name}-*")
    return found


def test_two_runs_are_set_beside_each_other(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = a_run(script, "before", 100, "--repeats", "3"), a_run(script, "after", 80)
    settings = json.loads((b / "environment.json").read_text())
    settings["targets"][0]["variables"]["max_connections"] = "10"
    (b / "environment.json").write_text(json.dumps(settings))
    capsys.readouterr()
    assert exit_code_of(["compare", a.name, str(b)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"A {a.name}: mysql://bench@127.0.0.1:3306/sbtest" in out
    what, matrix = out.split("oltp_read_write", 1)
    assert "max_connections: A 100000, B 10\n" in what
    assert "speed: more connections than that are refused" in what
    assert "0.8" in matrix
    assert "some levels have too few steps for an interval" in " ".join(matrix.split())
    assert "one step a side: no interval" in matrix


def test_each_form_has_the_same_figures(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = a_run(script, "before", 100), a_run(script, "after", 80)
    capsys.readouterr()
    assert exit_code_of(["compare", str(a), str(b), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (level,) = document["levels"]
    change = level["against_first"][0]["changes"]["tps"]
    assert change["relative"] == pytest.approx(-0.2, abs=0.01)
    assert change["interval"] is None
    assert [side["figures"]["tps"] for side in level["sides"]] == pytest.approx([100.5, 80.5])
    assert exit_code_of(["compare", str(a), str(b), "--markdown"]) == 0
    markdown = capsys.readouterr().out
    assert "| users | side | tps |" in markdown
    page = tmp_path / "page.html"
    assert exit_code_of(["compare", str(a), str(b), "--html", "-o", str(page)]) == 0
    assert "What differs" in page.read_text()
    assert "<script src" not in page.read_text()


def test_a_folder_that_was_copied_without_its_settings_is_compared_all_the_same(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = a_run(script, "before", 100), a_run(script, "after", 80)
    elsewhere = tmp_path / "host b" / a.name
    elsewhere.mkdir(parents=True)
    for name in ("journal.jsonl", "latency.hlog"):
        shutil.copy(b / name, elsewhere / name)
    capsys.readouterr()
    assert exit_code_of(["compare", str(a), str(elsewhere)]) == 0
    out = capsys.readouterr().out
    assert "not evaluated: settings" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["compare", "last"], 2, "nothing to compare"),
        (["compare", "last", "last"], 2, "named twice"),
        (["compare", "last", "nosuch"], 8, "no run 'nosuch'"),
        (["compare"], 2, "missing argument"),
        (["compare", "last", "last", "--fail-on", "tsp<-5%"], 2, "no figure 'tsp'"),
        (["compare", "last", "last", "--fail-on", "tps<-5"], 2, "in percent"),
        (
            ["compare", "last", "last", "--junit", "x.xml"],
            2,
            "--junit needs --threshold or --fail-on",
        ),
        (["runs", "trend"], 2, "a trend needs several runs"),
        (["runs", "trend", "--metric", "p9"], 2, "no figure 'p9'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    script: Script, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    a_run(script, "only", 100)
    capsys.readouterr()
    assert exit_code_of(words) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") <= 2


def test_the_gate_of_a_trend_is_undecided_on_the_first_night(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run(script, "nightly", 100)
    capsys.readouterr()
    assert exit_code_of(["runs", "trend", "nightly", "--fail-on", "tps<-5%"]) == 0
    assert "tps<-5% not decided" in capsys.readouterr().out


@pytest.mark.parametrize("limit", ["p9<20ms", "p99<20", "p99<20mb", "tps"])
def test_a_misspelt_threshold_starts_nothing(
    capsys: pytest.CaptureFixture[str], limit: str
) -> None:
    assert exit_code_of([*RUN, "--threshold", limit]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not Path("runs").exists()


def test_a_file_that_cannot_be_written_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of([*RUN, "--threshold", "tps>1", "--junit", "none/x.xml"]) == 8
    assert "there is no folder none" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_a_broken_threshold_is_exit_code_99_and_its_line(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--threshold", "tps>50", "--threshold", "p99<5ms", "--junit", "gates.xml"]
    assert exit_code_of([*RUN, "--concurrency", "1,8", *limits]) == 99
    out, err = capsys.readouterr()
    broken = [line for line in err.splitlines() if line.startswith("error: ")]
    assert broken == [
        "error: tps>50 failed: tps 10.0/s at oltp_read_write, 1 user",
        "error: p99<5ms failed: p99 8.08 ms at oltp_read_write, 8 users",
    ]
    assert "gate  tps>50 held at 1 of 2 levels" in out
    suite = ElementTree.parse("gates.xml").getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("4", "2")


def test_thresholds_that_hold_are_told_and_leave_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of([*RUN, "--threshold", "p99<5s", "--json"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert "gate" not in out + err


def test_a_search_is_asked_at_what_it_found(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script.tps = lambda users, second: 1000
    script.latency_ns = lambda users, second: 2_000_000
    words = [*RUN, "--slo", "p99<10ms", "--junit", "gates.xml", "--threshold"]
    assert exit_code_of([*words, "tps>800"]) == 0
    assert "gate  tps>800 held at 1 level" in capsys.readouterr().out
    assert exit_code_of([*words, "tps>1200"]) == 99
    assert "error: tps>1200 failed: tps " in capsys.readouterr().err
    script.latency_ns = lambda users, second: 20_000_000
    assert exit_code_of([*words, "tps>1"]) == 99
    said = capsys.readouterr().err
    assert "error: tps>1 no evidence: the search (no rate held p99<10ms)" in said
    assert ElementTree.parse("gates.xml").getroot().attrib["failures"] == "1"


def test_a_climb_is_asked_at_the_peak(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    script.tps = lambda users, second: min(users * 100, 800)
    climb = [*RUN, "--concurrency", "auto", "--threshold"]
    assert exit_code_of([*climb, "tps>700"]) == 0
    assert exit_code_of([*climb, "tps>900"]) == 99
    assert "at oltp_read_write, 8 users" in capsys.readouterr().err


def test_a_run_that_was_cut_short_does_not_hold_its_threshold(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    script.before_connect = lambda plan: (
        os.kill(os.getpid(), signal.SIGINT) if plan["users"] == 8 else None
    )
    words = ["--concurrency", "1,8,64", "--threshold", "tps>1", "--junit", "gates.xml"]
    assert exit_code_of([*RUN, *words]) == 130
    suite = ElementTree.parse("gates.xml").getroot()[0]
    assert int(suite.attrib["failures"]) >= 1
    assert "no evidence" in capsys.readouterr().err


def test_a_change_against_the_first_run_is_exit_code_99(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = a_run(script, "before", 100), a_run(script, "after", 80)
    capsys.readouterr()
    assert exit_code_of(["compare", str(a), str(b), "--fail-on", "tps<-25%"]) == 0
    assert exit_code_of(["compare", str(a), str(b), "--fail-on", "tps<-5%", "--json"]) == 99
    out, err = capsys.readouterr()
    assert "error: tps<-5% failed: tps -19.9 % at oltp_read_write, 8 users" in err
    assert exit_code_of(["compare", str(a), str(b), "--threshold", "tps>90"]) == 99
    assert f"oltp_read_write, 8 users, {b.name}" in capsys.readouterr().err


def nightly(script: Script, rates: list[int]) -> list[Path]:
    """Runs of one name, in chronological order."""
    for tps in rates:
        does(script, tps)
        assert exit_code_of([*RUN, "--concurrency", "8", "--name", "nightly"]) == 0
    return sorted(Path("runs").iterdir(), key=lambda run: run_folder.load(run).run.started_at or "")


def test_a_trend_tells_from_which_run_on_the_level_changed(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = nightly(script, [100, 101, 100, 99, 100, 90, 91, 90, 89, 90])
    capsys.readouterr()
    assert exit_code_of(["runs", "trend", "nightly"]) == 0
    out = capsys.readouterr().out
    assert f"% (worse) from {runs[5].name} on" in " ".join(out.split())
    assert "•" in out
    words = ["runs", "trend", "nightly", "--json", "--fail-on", "tps<-5%", "--junit", "t.xml"]
    assert exit_code_of(words) == 99
    out, err = capsys.readouterr()
    tps, _ = json.loads(out)["series"]
    assert [change["run"] for change in tps["changes"]] == [runs[5].name]
    assert tps["changes"][0]["relative"] == pytest.approx(-0.1, abs=0.01)
    assert "tps<-5% failed" in err
    assert ElementTree.parse("t.xml").getroot().attrib["failures"] == "1"
