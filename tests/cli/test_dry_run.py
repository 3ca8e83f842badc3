"""`--dry-run`: what a run or a proof would do is listed, and nothing of it is done."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from cli.person import Person
from loadstone.sandbox import Sandbox, list_sandboxes
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "2", "--table-size", "100")
TIMES = ("--duration", "1s", "--warmup", "0s", "--shards", "1")


@pytest.fixture
def person(own_schema: Sandbox, tmp_path: Path) -> Person:
    return Person(tmp_path, own_schema, careful=False)


def of(person: Person) -> dict[str, int]:
    """The rows of each table of the schema."""
    names = [str(name) for (name,) in person.rows("SHOW TABLES")]
    return {name: int(person.rows(f"SELECT count(*) FROM {name}")[0][0]) for name in names}


def test_a_run_on_a_server_is_listed_and_not_done(person: Person) -> None:
    person.loadstone("prepare", *person.target, *SIZES)
    before = of(person)
    words = ("run", "oltp_read_write", *person.target, "--concurrency", "1,3", *TIMES)
    said = person.loadstone(*words, "--dry-run").stdout
    assert "oltp_read_write reads rows of sbtest1, sbtest2, and adds, changes or deletes" in said
    assert "password: LOADSTONE_PASSWORD" in said
    assert "up to 3 connections for the load" in said
    assert "changes no setting of the server" in said
    assert "2 steps of 1 s" in said
    assert of(person) == before
    assert not (person.folder / "runs").exists() or not list((person.folder / "runs").iterdir())
    reads = person.loadstone("run", "oltp_read_only", *person.target, "--dry-run").stdout
    assert "oltp_read_only reads rows of sbtest1, sbtest2\n" in reads


def test_trials_that_need_consent_are_said_to_be_left_out(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.loadstone("prepare", *person.target, *SIZES)
    words = ("run", "oltp_read_write", *person.target, "--prove", "--dry-run")
    # With the person's own state folder the server is no sandbox: somebody's, on this machine.
    said = person.loadstone(*words).stdout
    assert "leaves out trials that would set variables for all on" in said and "--yes" in said
    agreed = person.loadstone(*words, "--yes").stdout
    assert "then proves its findings" in agreed and "leaves out" not in agreed
    assert "leaves out" not in person.loadstone(*words[:-2], "--dry-run").stdout
    # With that of the tests it is one, and needs no consent.
    monkeypatch.setenv("LOADSTONE_PASSWORD", person.environment["LOADSTONE_PASSWORD"])
    ours = called(*words, folder=person.folder).stdout
    assert "then proves its findings" in ours and "leaves out" not in ours


def test_what_the_run_would_be_refused_for_refuses_the_dry_run(person: Person) -> None:
    words = ("run", "oltp_read_write", *person.target, "--dry-run")
    assert "loadstone prepare" in person.loadstone(*words, code=3).stderr
    person.loadstone("prepare", *person.target, *SIZES)
    person.rows("CREATE TABLE orders (id INT)")
    refused = person.loadstone(*words, code=7).stderr
    assert "orders" in refused and "--yes" in refused
    agreed = person.loadstone(*words, "--yes").stdout
    assert "adds, changes or deletes" in agreed


def test_a_throwaway_server_is_listed_and_not_started(tmp_path: Path) -> None:
    need("mariadb")
    person = Person(tmp_path, careful=False)
    before = [one.name for one in list_sandboxes()]
    said = person.loadstone("run", "tpcc", "--concurrency", "4", "--dry-run", "--prove").stdout
    assert "starts a throwaway server" in said
    assert "customer" in said and "no other server is reached" in said
    assert "then proves its findings" in said
    assert [one.name for one in list_sandboxes()] == before
    assert list(tmp_path.glob("runs/*")) == []
    refused = person.loadstone("run", "tpcc", "--dry-run", "--json", code=2).stderr
    assert "leave --json out" in refused


def test_the_folder_of_a_run_is_written_where_scripts_want_it(person: Person) -> None:
    person.loadstone("prepare", *person.target, *SIZES)
    told = person.folder / "told"
    words = ("run", "oltp_point_select", *person.target, *TIMES, "--folder-to", str(told))
    person.loadstone(*words)
    (run,) = (person.folder / "runs").iterdir()
    assert Path(told.read_text().rstrip("\n")) == run


def test_the_trials_of_a_proof_are_listed_and_not_driven(person: Person) -> None:
    person.loadstone("prepare", *person.target, *SIZES)
    # A flush of the log for each commit is a finding that a variable remedies.
    words = ("run", "oltp_update_non_index", *person.target, "--concurrency", "8", *TIMES)
    person.loadstone(*words)
    (run,) = (person.folder / "runs").iterdir()
    files = {path.name: path.stat().st_mtime_ns for path in run.iterdir()}
    said = person.loadstone("diagnose", run.name, "--prove", "--yes", "--dry-run").stdout
    assert "not tried" in said or "is put back after each of its steps" in said
    assert {path.name: path.stat().st_mtime_ns for path in run.iterdir()} == files
    refused = person.loadstone("diagnose", run.name, "--dry-run", code=2).stderr
    assert "--dry-run needs --prove" in refused
