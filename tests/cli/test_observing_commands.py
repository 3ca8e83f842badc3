"""watch, check, probe and ceilings as a user starts them, against a real throwaway server."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from cli.person import PATIENCE_S, Person, wait_until
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox

UNFAIR = ("innodb_flush_log_at_trx_commit", "sync_binlog")
"""Settings of the pool's servers, with which commits cost nothing."""


@pytest.fixture
def alone(tmp_path: Path) -> Person:
    """A user without a server."""
    return Person(tmp_path, careful=False)


@pytest.fixture
def person(own_schema: Sandbox, tmp_path: Path) -> Person:
    return Person(tmp_path, own_schema, careful=False)


def observed(person: Person) -> int:
    """How many readings of the server and its host were recorded."""
    journals = person.folder.glob("runs/*/journal.jsonl")
    return sum(journal.read_text().count('"kind":"observed",') for journal in journals)


@pytest.mark.server
@pytest.mark.slow
def test_a_watch_is_kept_as_a_run(person: Person) -> None:
    done = person.loadstone("watch", *person.target, "--duration", "2s")
    assert done.stdout.startswith("watched for 2")
    assert "time      questions/s" in done.stderr
    assert re.search(r"^\d\d:\d\d:\d\d +[\d-]", done.stderr, re.MULTILINE)
    (step,) = run_folder.load(person.only_run()).steps
    assert step.server is not None
    assert step.host is not None
    assert step.window is not None
    assert step.window.method == "watched"
    assert step.tps is None
    again = person.loadstone("runs", "show", "last")
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]
    texts = [done.stdout, person.loadstone("report", "--markdown").stdout]
    texts.append(person.loadstone("report", "--line").stdout)
    for text in texts:
        assert "atched for 2" in text
        assert not re.search(r"\busers?\b(?! +sys)", text), "there are none of ours"
    page = person.only_run() / "report.html"
    person.loadstone("report", "-o", str(page))
    assert "step 1" in page.read_text()
    assert "1 user" not in page.read_text()


@pytest.mark.server
@pytest.mark.slow
def test_a_watch_ends_with_ctrl_c_and_keeps_what_it_saw(person: Person) -> None:
    words = ("watch", *person.target, "--duration", "600s", "--json")
    with person.starts(*words) as watch:
        wait_until(lambda: observed(person) >= 3, watch)
        watch.send_signal(signal.SIGINT)
        out, _ = watch.communicate(timeout=PATIENCE_S)
    document = json.loads(out)
    assert document["run"]["state"] == "stopped"
    assert document["steps"][0]["server"]["seconds"] > 0.5


def test_a_watch_of_nothing_is_refused(alone: Person) -> None:
    assert "--target" in alone.loadstone("watch", code=2).stderr
    assert not (alone.folder / "runs").exists()


@pytest.mark.server
@pytest.mark.slow
def test_a_check_names_what_is_unfair_first(person: Person) -> None:
    said = person.loadstone("check", *person.target).stdout
    first, *lines = said.splitlines()
    assert "MariaDB" in first
    heads = [line for line in lines if not line.startswith(" ")]
    for line, name in zip(heads, UNFAIR, strict=False):
        assert line.startswith(f"unfair  {name} = 0: ")
    assert all(f"{name} = 1" in said.split("[mysqld]")[1] for name in UNFAIR)
    document = person.result("check", *person.target)
    assert [advice["variable"] for advice in document["advice"][:2]] == list(UNFAIR)
    assert document["fragment"].startswith("[mysqld]\n")


@pytest.mark.server
@pytest.mark.slow
def test_ceilings_of_a_run_and_of_what_is_not_there(person: Person) -> None:
    person.loadstone("prepare", *person.target, "--tables", "1", "--table-size", "1000")
    short = ("--duration", "2s", "--warmup", "0s", "--concurrency", "1,4")
    person.loadstone("run", "oltp_point_select", *person.target, *short)
    text = person.loadstone("ceilings").stdout
    assert "server CPU" in text
    assert "number of users" in text
    page = person.folder / "c.html"
    person.loadstone("ceilings", "last", "-o", str(page))
    assert page.read_text().startswith("<!doctype html>")
    document = person.result("ceilings", "last", "--if", "line=1M")
    lowest = document["steps"][-1]["ceilings"][0]
    assert lowest["resource"] == "network from the server"
    assert lowest["events_per_s"] < 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--if", "lines=1M"), "there is no limit 'lines': did you mean line?"),
        (("--if", "line"), "'line': write NAME=VALUE, where NAME is one of cores"),
        (("--if", "line=fast"), "'fast' is not a number"),
        (("--if", "line=0"), "'0' must be above 0"),
        (("--if", "line=nan"), "'nan' is not a number"),
        (("--if", "line=1e300G"), "'1e300G' is not a number"),
        (("--if", "line=9999999999G"), "must be above 0 and below 10^18"),
    ],
)
def test_limits_that_are_none_are_refused(words: tuple[str, ...], said: str, alone: Person) -> None:
    assert said in alone.loadstone("ceilings", "last", *words, code=2).stderr


def test_ceilings_of_no_run(alone: Person) -> None:
    assert "there are no runs in runs" in alone.loadstone("ceilings", code=8).stderr


def test_a_probe_measures_and_leaves_nothing(alone: Person) -> None:
    place = alone.folder / "disk"
    place.mkdir()
    words = ("probe", str(place), "--duration", "0.1s", "--json")
    kept = alone.environment | {"XDG_STATE_HOME": str(alone.folder / "state")}
    done = called(*words, folder=alone.folder, environment=kept, code=None)
    if "direct" in done.stderr.lower():
        pytest.skip("not evaluated: this file system takes no O_DIRECT")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    for name in ("syncs_per_s", "write_iops", "read_iops", "write_bytes_per_s"):
        assert document[name] > 0, name
    assert list(place.iterdir()) == []
    assert list((alone.folder / "state" / "loadstone" / "disks").iterdir())


def test_a_probe_of_no_folder(alone: Person) -> None:
    assert "nowhere" in alone.loadstone("probe", "nowhere", code=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--node-exporter", "nonsense"), "not an exporter's URL"),
        (("--host-ssh", "-oProxyCommand=x"), "no host to reach by ssh"),
        (("--no-observe", "--host-ssh", "db1"), "--no-observe reads no counters"),
    ],
)
def test_places_that_are_none_are_refused_before_anything_starts(
    words: tuple[str, ...], said: str, alone: Person
) -> None:
    done = alone.loadstone("run", "oltp_point_select", *words, code=2)
    assert said in done.stderr
    assert "throwaway" not in done.stderr
    assert not (alone.folder / "runs").exists()
