"""Folders written by earlier versions are opened, with the figures that those versions showed."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from polars.testing import assert_frame_equal

import loadstone
from called import called
from compatibility.figures import figures_of
from compatibility.older import RUNS, VERSIONS, Older, become_their_maker, ident, of_kind
from loadstone.model.exit_codes import ExitCode
from loadstone.model.result import Result
from loadstone.runs import vouched
from loadstone.runs.parquet import load_table
from loadstone.runs.signature import NotOurs, is_ours

KINDS = {
    "0.1": {"ladder", "open-loop", "search", "aborted", "mix", "tls", "experiment-killed"}
    | {"killed", "tpcc", "ledger"}
}
MADE_AT_THE_END = ("result.json", "load.parquet", "server.parquet", "host.parquet")
each_run = pytest.mark.parametrize("older", RUNS, ids=ident)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=ident)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state folder of a new user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path / "state"


def loadstone_says(home: Path, *words: str, code: int = 0) -> CompletedProcess[str]:
    return called(*words, folder=home, environment=os.environ, code=code)


def schema() -> dict[str, Any]:
    return dict(json.loads(files("loadstone.runs").joinpath("result.schema.json").read_text()))


def close_to(expected: Any) -> Any:
    """Equal except for the last digits, as sums may be taken in another order."""
    match expected:
        case dict():
            return {key: close_to(value) for key, value in expected.items()}
        case list():
            return [close_to(value) for value in expected]
        case float():
            return pytest.approx(expected, rel=1e-9)
    return expected


def bytes_of(run: Path) -> dict[str, bytes]:
    return {str(file.relative_to(run)): file.read_bytes() for file in run.iterdir()}


def test_each_version_left_all_kinds_of_runs() -> None:
    left = {
        version.name: {run.name for run in RUNS if run.version == version} for version in VERSIONS
    }
    assert left == KINDS


@each_run
def test_it_is_shown_with_the_figures_of_then(older: Older, state: Path, tmp_path: Path) -> None:
    run = older.copied(tmp_path)
    before = bytes_of(run)
    said = loadstone_says(tmp_path, "runs", "show", older.path.name, "--json").stdout
    document = json.loads(said)
    jsonschema.validate(document, schema())
    assert figures_of(document) == close_to(older.expected)
    table = loadstone_says(tmp_path, "runs", "show", older.path.name).stdout
    assert "users" in table and "tps" in table
    assert bytes_of(run) == before


@each_run
def test_its_journal_alone_has_the_same_figures(older: Older, state: Path, tmp_path: Path) -> None:
    run = older.copied(tmp_path)
    for name in MADE_AT_THE_END:
        (run / name).unlink(missing_ok=True)
    said = loadstone_says(tmp_path, "runs", "show", older.path.name, "--json").stdout
    assert figures_of(json.loads(said)) == close_to(older.expected)


@each_run
def test_its_result_is_read_as_it_stands(older: Older) -> None:
    # Otherwise it would be rebuilt from the journal each time, and nobody would notice.
    written = older.path / "result.json"
    if older.expected["run"]["state"] == "interrupted":
        assert not written.exists()
        return
    result = Result.model_validate_json(written.read_bytes())
    assert figures_of(json.loads(result.model_dump_json())) == close_to(older.expected)


@each_run
def test_python_opens_it(older: Older, state: Path, tmp_path: Path) -> None:
    run = loadstone.open_run(older.copied(tmp_path))
    expected = older.expected["steps"]
    assert run.asked is not None
    assert run.environment["generator"]["host"] == "example"
    assert run.steps["tps"].to_list() == close_to([step["tps"] for step in expected])
    assert run.steps["p99_ms"].to_list() == close_to([step["response"]["p99"] for step in expected])
    assert sorted(run.load["step"].unique()) == [step["step"] for step in expected]
    observed = any(step["server_commits_per_s"] is not None for step in expected)
    assert run.server.is_empty() != observed
    assert run.latencies([expected[0]["step"]])
    assert (run.comparison is not None) == (older.name in ("tls", "experiment-killed"))


@each_run
def test_its_report_is_made(older: Older, state: Path, tmp_path: Path) -> None:
    run = older.copied(tmp_path)
    loadstone_says(tmp_path, "report", str(run), "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert older.path.name in page and page.rstrip().endswith("</html>")


@each_run
def test_its_steps_and_seconds_are_exported(older: Older, state: Path, tmp_path: Path) -> None:
    run = str(older.copied(tmp_path))
    steps = list(
        csv.DictReader(io.StringIO(loadstone_says(tmp_path, "report", run, "--csv").stdout))
    )
    expected = older.expected["steps"]
    assert [float(row["tps"]) for row in steps] == close_to([step["tps"] for step in expected])
    said = loadstone_says(tmp_path, "runs", "export", run).stdout
    seconds = list(csv.DictReader(io.StringIO(said)))
    in_window = [int(row["events"]) for row in seconds if row["phase"] == "window"]
    if older.expected["run"]["state"] == "finished":
        assert sum(in_window) == sum(step["events"] for step in expected)
    assert sum(in_window) > 0


@each_run
def test_it_is_diagnosed(older: Older, state: Path, tmp_path: Path) -> None:
    run = str(older.copied(tmp_path))
    document = json.loads(loadstone_says(tmp_path, "diagnose", run, "--json").stdout)
    # Today's rules may find something else in it; that each ladder was judged does not change.
    judged = {(each["variant"], each["workload"]) for each in document["ladders"]}
    assert judged == {(step["variant"], step["workload"]) for step in older.expected["steps"]}
    assert all(each["answer"] and each["findings"] for each in document["ladders"])


@each_run
def test_it_is_compared_with_itself(older: Older, state: Path, tmp_path: Path) -> None:
    run = older.copied(tmp_path)
    twin = tmp_path / "twin"
    shutil.copytree(run, twin)
    words = ("compare", str(run), str(twin), "--json")
    document = json.loads(loadstone_says(tmp_path, *words).stdout)
    assert document["differences"] == []
    compared = set()
    for level in document["levels"]:
        one, other = level["sides"]
        assert (one["steps"], one["tps"], one["figures"]) == tuple(
            other[key] for key in ("steps", "tps", "figures")
        )
        compared |= set(one["steps"])
    assert compared == {step["step"] for step in older.expected["steps"]}


@each_version
def test_all_are_listed(version: Path, state: Path) -> None:
    said = loadstone_says(version, "runs", "list", "--out", str(version), "--json").stdout
    listed = {Path(each["run"]).name: each for each in json.loads(said)}
    runs = [run for run in RUNS if run.version == version]
    assert listed.keys() == {run.path.name for run in runs}
    assert {each["problem"] for each in listed.values()} == {None}
    for run in runs:
        assert listed[run.path.name]["info"]["state"] == run.expected["run"]["state"]


@each_run
def test_who_was_sent_it_does_not_carry_it_out(older: Older, state: Path, tmp_path: Path) -> None:
    run = older.copied(tmp_path)
    with pytest.raises(NotOurs, match="was not started by you"):
        vouched.read(run, trusted=False)
    assert vouched.read(run, trusted=True).asked.plan.name == older.name


@pytest.mark.parametrize("older", of_kind("experiment-killed"), ids=ident)
def test_resume_refuses_what_was_sent(older: Older, state: Path, tmp_path: Path) -> None:
    words = ("resume", str(older.copied(tmp_path)))
    said = loadstone_says(tmp_path, *words, code=ExitCode.GUARD).stderr
    assert "was not started by you on this machine" in said


@pytest.mark.parametrize("older", of_kind("ladder"), ids=ident)
def test_proving_refuses_what_was_sent(older: Older, state: Path, tmp_path: Path) -> None:
    words = ("diagnose", str(older.copied(tmp_path)), "--prove")
    said = loadstone_says(tmp_path, *words, code=ExitCode.GUARD).stderr
    assert "was not started by you on this machine" in said


@each_run
def test_its_maker_is_known_by_a_later_version(older: Older, state: Path, tmp_path: Path) -> None:
    become_their_maker(older.version, state)
    read = vouched.read(older.copied(tmp_path), trusted=False)
    assert read.asked.plan.name == older.name
    assert read.environment


@each_run
def test_its_makers_tables_are_read_from_parquet(older: Older, state: Path, tmp_path: Path) -> None:
    run = older.copied(tmp_path)
    from_journal = loadstone.open_run(run)
    anew = {name: getattr(from_journal, name) for name in ("load", "server", "host")}
    become_their_maker(older.version, state)
    for name, table in anew.items():
        written = run / f"{name}.parquet"
        if not written.exists():
            continue
        assert is_ours(run, written.name, written.read_bytes())
        then = load_table.from_parquet(written.read_bytes(), written)
        assert then.columns == table.columns[: len(then.columns)]
        assert_frame_equal(then, table.select(then.columns))
        assert getattr(loadstone.open_run(run), name).height == table.height


@pytest.mark.parametrize("older", of_kind("killed"), ids=ident)
def test_a_folder_of_a_later_version_is_refused_in_a_line(
    older: Older, state: Path, tmp_path: Path
) -> None:
    journal = older.copied(tmp_path) / "journal.jsonl"
    first, rest = journal.read_bytes().split(b"\n", 1)
    begin = json.loads(first) | {"of_a_later_version": 1}
    journal.write_bytes(json.dumps(begin).encode() + b"\n" + rest)
    said = loadstone_says(tmp_path, "runs", "show", "killed", code=ExitCode.STORE).stderr
    assert "journal.jsonl:1 is not an entry of a journal" in said
    assert "is from a newer Loadstone" in said
