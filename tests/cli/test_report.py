"""`loadstone report` from the command line."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.model.finding import Diagnosis
from loadstone.model.result import Result
from recorded import a_plan, recorded_run
from scripted_engine import Script


@pytest.fixture
def run(tmp_path: Path, script: Script) -> Path:
    return recorded_run(tmp_path, a_plan(ladder=(1, 4), name="x|y`<b>"))


def test_the_page_is_written_into_the_runs_folder(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["report", str(run)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"report  {run}/report.html (0.")
    assert err == ""
    page = (run / "report.html").read_bytes()
    assert page.startswith(b"<!doctype html>")
    assert exit_code_of(["report", str(run)]) == 0
    assert (run / "report.html").read_bytes() == page


def test_another_place_and_language_can_be_asked_for(run: Path, tmp_path: Path) -> None:
    place = tmp_path / "zh.html"
    assert exit_code_of(["report", str(run), "-o", str(place), "--lang", "zh"]) == 0
    assert '<html lang="zh-CN">' in place.read_text()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_who_may_read_a_report_that_is_handed_on_says_the_umask(
    umask: int, mode: int, run: Path, tmp_path: Path
) -> None:
    place = tmp_path / "shared.md"
    before = os.umask(umask)
    try:
        assert exit_code_of(["report", str(run), "--markdown", "-o", str(place)]) == 0
    finally:
        os.umask(before)
    assert place.stat().st_mode & 0o777 == mode


def test_markdown_has_answer_ladder_and_command(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["report", str(run), "--markdown"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("## x\\|y\\`\\<b\\>\n")
    assert "| users | TPS | ± | QPS | p95, ms | p99, ms | errors/s |" in out
    assert "\n| 4 | 40.0 | - | 800 |" in out
    assert "\n    loadstone run\n" in out


def test_csv_has_a_row_a_step(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["report", str(run), "--csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["concurrency"], row["tps"]) for row in rows] == [("1", "10.0"), ("4", "40.0")]


def test_json_is_all_that_the_report_stands_on(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "report.json"
    assert exit_code_of(["report", str(run), "--json", "-o", str(place)]) == 0
    found = json.loads(place.read_text())
    assert found["version"] == 1
    assert len(Result.model_validate(found["result"]).steps) == 2
    assert [Diagnosis.model_validate(one).variant for one in found["ladders"]] == ["default"]
    assert "ceilings" in found


def test_html_may_be_asked_for_by_name(run: Path) -> None:
    assert exit_code_of(["report", str(run), "--html"]) == 0
    assert (run / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--open", "--csv"], 2, "error: --open shows the page: leave --csv out"),
        (["--pdf", "--markdown"], 2, "error: give one of --pdf, --markdown"),
        (["--line", "--json"], 2, "error: give one of --line, --json"),
        (["--lang", "fr"], 2, "error: invalid value for '--lang'"),
        (["-o", "/proc/nothing/report.html"], 8, "error: cannot write /proc/nothing/report.html"),
    ],
)
def test_bad_input_is_one_line(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    assert exit_code_of(["report", str(run), *words]) == code
    assert capsys.readouterr().err.startswith(said)


def test_no_such_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["report", "nothing", "--out", str(tmp_path)]) == 8
    assert capsys.readouterr().err.startswith("error: there are no runs in ")


def test_a_run_that_was_killed_has_a_report(run: Path, script: Script) -> None:
    (run / "result.json").unlink()
    (run / "load.parquet").unlink()
    journal = (run / "journal.jsonl").read_bytes()
    (run / "journal.jsonl").write_bytes(journal[: 2 * len(journal) // 3])
    assert exit_code_of(["report", str(run)]) == 0
    assert "The run was interrupted" in (run / "report.html").read_text()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_line_for_a_chat_has_name_answer_and_no_control_characters(
    lang: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["--lang", lang, "report", str(run), "--line"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("x|y`<b>")
    assert {"en": "tps", "zh": "TPS"}[lang] in line or "tps" in line
    assert line.isprintable()


def test_without_a_browser_a_pdf_is_refused_in_one_line(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert exit_code_of(["report", str(run), "--pdf"]) == 14
    assert capsys.readouterr().err.splitlines() == [
        "error: a PDF is printed by a browser, and there is none here",
        "hint:  install one of chromium, chromium-browser, google-chrome, google-chrome-stable, "
        "chrome, chrome-headless-shell, microsoft-edge, or open the page in any browser and print"
        " it",
    ]
    assert not (run / "report.pdf").exists()
