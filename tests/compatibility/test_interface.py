"""The interface that scripts rely on is unchanged: what a version had still means the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from compatibility.interface import interface_of
from compatibility.older import RUNS, VERSIONS, ident, of_kind

_NUMBERS = "- `errno` in `error` and `timeline` of result.json"
TAKEN_AWAY: dict[str, str] = {
    "findings": "- `findings` of result.json, which was always empty",
    "steps[].error.errno": _NUMBERS,
    "steps[].timeline.outages[].errors[].errno": _NUMBERS,
}
"""What was removed on purpose, with all that was in it; each has its line of CHANGELOG.md."""

OWN_PATHS = ("/srv/loadstone-example/", "/usr/", "/dev/")
"""Paths that the folders may contain: the place where all were made, Debian's, and devices."""

each_version = pytest.mark.parametrize("version", VERSIONS, ids=ident)


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    (run, *_) = of_kind("ladder")
    return interface_of(str(run.path))


def then(version: Path) -> dict[str, Any]:
    return dict(json.loads((version / "interface.json").read_text()))


def missed(before: set[str], after: set[str]) -> set[str]:
    return {
        path
        for path in before - after
        if path not in TAKEN_AWAY and path.partition("[")[0] not in TAKEN_AWAY
    }


@each_version
def test_exit_codes_mean_what_they_meant(version: Path, now: dict[str, Any]) -> None:
    before = then(version)["exit_codes"]
    assert before == {name: now["exit_codes"].get(name) for name in before}


@each_version
def test_each_command_and_option_is_still_there(version: Path, now: dict[str, Any]) -> None:
    def spelled(commands: dict[str, str]) -> set[str]:
        options = {f"{name} {way}" for name, ways in commands.items() for way in ways.split()}
        return options | set(commands)

    assert missed(spelled(then(version)["commands"]), spelled(now["commands"])) == set()


@each_version
def test_each_python_name_is_still_there(version: Path, now: dict[str, Any]) -> None:
    def names(python: dict[str, list[str]]) -> set[str]:
        return {f"{of}.{name}" for of, each in python.items() for name in each}

    assert missed(names(then(version)["python"]), names(now["python"])) == set()


@each_version
def test_frames_have_the_same_columns_of_the_same_types(version: Path, now: dict[str, Any]) -> None:
    def columns(frames: dict[str, dict[str, str]]) -> set[str]:
        return {
            f"{frame}.{name}: {kind}"
            for frame, each in frames.items()
            for name, kind in each.items()
        }

    assert missed(columns(then(version)["frames"]), columns(now["frames"])) == set()


@each_version
def test_each_field_of_the_result_is_still_there(version: Path, now: dict[str, Any]) -> None:
    before, after = then(version)["result.json"], now["result.json"]
    assert missed(set(before), set(after)) == set()
    # A reader does not get a null, for example, where there was none before.
    assert {
        path: after[path]
        for path in before.keys() & after.keys()
        if not set(after[path].split("|")) <= set(before[path].split("|"))
    } == {}


def test_what_is_taken_away_is_told_in_the_changelog() -> None:
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    assert [line for line in TAKEN_AWAY.values() if line not in changelog] == []


@pytest.mark.parametrize("older", RUNS, ids=ident)
def test_folders_name_nobodys_host_and_no_place_of_one_machine(older: Any) -> None:
    texts = [
        file.read_text() for file in older.path.iterdir() if file.suffix in (".json", ".jsonl")
    ]
    paths = {path for text in texts for path in re.findall(r'"(/[^"]+)"', text)}
    assert {path for path in paths if not path.startswith(OWN_PATHS)} == set()
    environment = json.loads((older.path / "environment.json").read_text())
    assert environment["generator"]["host"] == "example"
    servers = [target.get("variables") or {} for target in environment["targets"]]
    assert {each["hostname"] for each in servers if "hostname" in each} <= {"example"}
