"""`recipes list`, `show` and `run` from the command line, on the scripted engine."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiment.test_experiment import by_server, made_up, with_tables
from loadstone.cli.errors import exit_code_of
from loadstone.experiments.changes import Changes
from loadstone.model.target import Target
from loadstone.recipes.listed import how_long
from loadstone.recipes.recipe import NAMES, recipe
from scripted_engine import Script

TWO_SERVERS = (
    "--set",
    "off=mysql://bench@127.0.0.1:3301/sbtest",
    "--set",
    "on=mysql://bench@127.0.0.1:3302/sbtest",
)
SHORT = ("--set", "users=4", "--set", "duration=4s", "--set", "warmup=0s", "--no-observe")


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("loadstone.experiments.servers.described", made_up)
    monkeypatch.setattr("loadstone.experiments.servers.inspect_target", with_tables)
    monkeypatch.setattr("loadstone.experiments.servers.confirm_tables", lambda *_: None)
    # No tables are loaded into servers that do not exist.
    monkeypatch.setattr("loadstone.experiments.hosts.Loads.reload", lambda *_: None)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert exit_code_of(["recipes", *words]) == code
    return capsys.readouterr().out


def test_the_list_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    head, _, *lines, empty, note = said(capsys, "list").splitlines()
    assert head.split() == ["recipe", "question", "servers", "full", "--quick"]
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert empty == ""
    assert "loading the tables" in note
    # 12 steps of 2 min, and a server that starts in 5 s.
    assert "about 24 min" in lines[0]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_how_long_a_recipe_takes_is_what_its_plan_says(
    name: str, quick: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = said(capsys, "show", name, *(["--quick"] if quick else []))
    (exact,) = re.findall(r"^\d+ steps.*: (\d[^,]*), and what loading", plan, re.MULTILINE)
    (row,) = (line for line in said(capsys, "list").splitlines() if line.startswith(f"{name} "))
    full, small = re.findall(r"about ([^a]+?)(?:  |$)", row)
    assert seconds_of(small if quick else full) == pytest.approx(seconds_of(exact), rel=0.1)


def seconds_of(said: str) -> float:
    """The seconds of `1 h 50 min`."""
    units = {"h": 3600, "min": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+) (\w+)", said))


def test_a_time_follows_from_the_plan_and_is_not_written_down() -> None:
    tls = recipe("tls")
    half_a_minute = tls.parameter["duration"].model_copy(update={"quick": "30s"})
    longer = tls.parameter | {"duration": half_a_minute}
    before = how_long(tls, quick=True)
    after = how_long(tls.model_copy(update={"parameter": longer}), quick=True)
    assert (before, after) == ("about 2 min 30 s", "about 12 min")


@pytest.mark.parametrize("name", NAMES)
def test_each_is_shown_with_its_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "show", name, "--quick")
    assert shown.startswith(f"{name}: ")
    head, _, text = shown.partition("\nExperiment:\n")
    assert "Seen in the field:" in head
    assert "Parameters, for --set:" in head
    assert text.startswith(f'name = "{name}"\n')


def test_what_is_shown_is_what_experiment_takes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "show", "group-commit", "--quick").partition("\nExperiment:\n")[2]
    Path("copied.toml").write_text(shown)
    assert exit_code_of(["experiment", "copied.toml", "--dry-run"]) == 0
    of_copy = capsys.readouterr().out
    assert said(capsys, "run", "group-commit", "--quick", "--dry-run") == of_copy
    assert "12 steps" in of_copy
    assert not Path("runs").exists()


def test_a_recipe_is_carried_out_and_answers(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    by_server(script, lambda port, step, second: (1000 if port == 3301 else 1200) + step % 3)
    arguments = ("run", "thread-pool", "--quick", *TWO_SERVERS, *SHORT, "--set", "repeats=8")
    out = said(capsys, *arguments)
    assert "pool=on against pool=off: faster" in out
    assert "what server and host did meanwhile" in out
    told = " ".join(out.split())
    assert (
        "field: From 32 to 4000 connections the pool kept 12,200 to 12,700 TPS, and without it TPS "
        "fell as connections grew. here: shown: 4 users: faster, +" in told
    )
    assert "here: not evaluated: running: " in told
    (run,) = Path("runs").iterdir()
    assert run.name.startswith("thread-pool-")
    assert exit_code_of(["runs", "show"]) == 0
    assert capsys.readouterr().out == out, "show prints what run printed"


def test_what_is_changed_on_targets_is_listed_first_and_once(
    script: Script, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_tables(target: Target, *_: object) -> Changes:
        return Changes(target.place, ("sbtest1", "sbtest2"))

    monkeypatch.setattr("loadstone.experiments.servers.changes_on", two_tables)
    by_server(script, lambda port, step, second: 1000 + step % 3)
    arguments = ("run", "thread-pool", "--quick", *TWO_SERVERS, *SHORT, "--set", "repeats=2")
    assert exit_code_of(["recipes", *arguments]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:4] == [
        "127.0.0.1:3301: makes sbtest1, sbtest2",
        "127.0.0.1:3301: no restart, no network limit",
        "127.0.0.1:3302: makes sbtest1, sbtest2",
        "127.0.0.1:3302: no restart, no network limit",
    ]
    assert not any("makes" in line or "throwaway" in line for line in lines[4:])
    assert exit_code_of(["recipes", *arguments, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[-4:] == lines[:4]


@pytest.mark.parametrize(
    ("words", "code", "begins"),
    [
        ("run group-comit", 2, "there is no recipe group-comit"),
        ("show tls --set userz=8", 2, "tls has no parameter userz"),
        ("run thread-pool --target mysql://b@db1/s", 2, "thread-pool compares 2 servers"),
        ("run flash-sale --target mysql://b@db1/s --dry-run", 7, "flash-sale cannot be about db1"),
        ("run tls --set users=some", 2, "--set users=some: "),
        ("run tls --set tls_version=SSLv3", 2, "--set tls_version=SSLv3: "),
        ("run os-upgrade --quick", 2, "old is not set: "),
        ("run tls --set target=mysql://b@db1/s --set workload=oltp_none", 4, "recipe tls:"),
        (f"run thread-pool {TWO_SERVERS[0]} {TWO_SERVERS[1]} --set server=mysql2", 2, "--set serv"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_was_started(
    words: str, code: int, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["recipes", *words.split()]) == code
    (error, *hints) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: {begins}")
    assert all(line.startswith("hint:  ") for line in hints)
    assert not Path("runs").exists()
