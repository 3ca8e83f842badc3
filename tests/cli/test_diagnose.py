"""`loadstone diagnose`, with folders of runs and against a real throwaway server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.person import Person, set_globally
from loadstone.cli.errors import exit_code_of
from loadstone.model.finding import Diagnosis
from loadstone.sandbox import Sandbox
from recorded import recorded_run
from scripted_engine import Script


def test_a_run_that_was_not_observed_says_so(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded_run(tmp_path)
    assert exit_code_of(["diagnose", str(run)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Not evaluated: neither the server nor its host was observed.\n")
    assert "\nnot evaluated (" in out
    assert err == ""


def test_json_is_a_document_of_ladders(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded_run(tmp_path)
    assert exit_code_of(["diagnose", run.name, "--out", str(run.parent), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    (ladder,) = (Diagnosis.model_validate(one) for one in document["ladders"])
    assert ladder.findings[0].cause == "not-observed"


def test_no_such_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["diagnose", "nothing", "--out", str(tmp_path)]) == 8
    assert capsys.readouterr().err.startswith("error: there are no runs in ")


@pytest.mark.server
@pytest.mark.slow
def test_a_log_of_all_statements_is_found_on_a_real_server(
    own_schema: Sandbox, tmp_path: Path
) -> None:
    person = Person(tmp_path, own_schema, careful=False)
    where = person.target
    with set_globally(own_schema, general_log=1):
        person.loadstone("prepare", *where, "--tables", "2", "--table-size", "1000")
        times = ("--concurrency", "4", "--duration", "3s", "--warmup", "1s")
        done = person.loadstone("run", "oltp_read_only", *where, *times)
    assert "\nwhy   " in done.stdout
    (found,) = person.result("diagnose")["ladders"]
    ladder = Diagnosis.model_validate(found)
    assert "general-log" in [finding.cause for finding in ladder.findings]


def test_the_text_is_chinese_where_that_is_asked_for_and_json_is_not(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded_run(tmp_path)
    assert exit_code_of(["diagnose", str(run), "--lang", "zh"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("未评估：服务器及其主机都没有被观察。\n")
    assert "\n未评估（缺少" in out
    assert exit_code_of(["diagnose", str(run), "--lang", "zh", "--json"]) == 0
    ladder = json.loads(capsys.readouterr().out)["ladders"][0]
    assert ladder["answer"] == "Not evaluated: neither the server nor its host was observed."
