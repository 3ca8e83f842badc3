"""The repository's surroundings: hooks before a commit, issue forms, the package's metadata."""

from __future__ import annotations

import re
import shutil
import tomllib
from typing import Any

import pytest

from house.repository import Repository
from loadstone import __version__

HOOKS = ".pre-commit-config.yaml"
FORMS = ("bug", "diagnosis", "feature")
# Top-level classifiers of the index's list, as far as they could apply here.
KINDS = {
    "Development Status",
    "Environment",
    "Intended Audience",
    "Natural Language",
    "Operating System",
    "Programming Language",
    "Topic",
    "Typing",
}
PLACEHOLDER = re.compile(r"https://loadstone\.example/")
RELEASED = re.compile(r"^## \[?\d+\.\d+", re.MULTILINE)


@pytest.fixture(scope="module")
def project(repository: Repository) -> dict[str, Any]:
    return dict(tomllib.loads(repository.text("pyproject.toml"))["project"])


def entries(repository: Repository) -> list[str]:
    return re.findall(r"^ +entry: (.+)$", repository.text(HOOKS), re.MULTILINE)


def test_hooks_are_our_own_and_fetch_nothing(repository: Repository) -> None:
    hooks = repository.text(HOOKS)
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    kinds = re.findall(r"^ +language: (\S+)$", hooks, re.MULTILINE)
    assert kinds == ["system"] * len(entries(repository))
    assert len(kinds) == len(re.findall(r"- id: ", hooks)) > 0


def test_each_hook_calls_a_program_that_is_there(repository: Repository) -> None:
    missing = [
        program
        for program, *_ in (entry.split() for entry in entries(repository))
        if shutil.which(repository.root / program if "/" in program else program) is None
    ]
    assert missing == []


def test_each_hook_checks_what_make_lint_checks(repository: Repository) -> None:
    lint = repository.text("Makefile").replace("$(BIN)", ".venv/bin")
    # Needed by a hook only: paths given by name, and tests that `make test` has anyway.
    bare = [re.sub(r" --force-exclude| src tests.*", "", entry) for entry in entries(repository)]
    assert [each for each in bare if each not in lint] == [".venv/bin/pytest -q tests/house"]
    named = next(entry for entry in entries(repository) if "mypy" in entry).split()[1:]
    assert " ".join(named) in repository.text("Makefile")


@pytest.mark.parametrize("form", FORMS)
def test_each_form_says_what_it_is_for(repository: Repository, form: str) -> None:
    text = repository.text(f".github/ISSUE_TEMPLATE/{form}.md")
    assert re.match(rf"---\nname: .+\nabout: .+\nlabels: {form}\n---\n", text)


def test_the_form_for_a_change_asks_for_files_that_are_there(repository: Repository) -> None:
    text = repository.text(".github/pull_request_template.md")
    asked = re.findall(r"[\w./-]+\.md|docs/\w+", text)
    assert asked
    assert [name for name in asked if not (repository.root / name).exists()] == []
    targets = re.findall(r"`make ([a-z-]+)`", text)
    assert [name for name in targets if f"\n{name}:" not in repository.text("Makefile")] == []


def test_classifiers_are_some_and_in_order(project: dict[str, Any]) -> None:
    classifiers = project["classifiers"]
    assert classifiers == sorted(set(classifiers))
    assert {each.partition(" :: ")[0] for each in classifiers} == KINDS
    # PEP 639: the licence is given once, as an expression.
    assert project["license"] == "Apache-2.0"


def test_each_classifier_is_one_of_the_lists(project: dict[str, Any]) -> None:
    known = pytest.importorskip("trove_classifiers", reason="no trove-classifiers here")
    assert [each for each in project["classifiers"] if each not in known.classifiers] == []


def test_pythons_are_those_that_it_runs_on(project: dict[str, Any]) -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert project["requires-python"] == f">={named[0]}"


def test_who_made_it_is_said_as_in_the_notice(
    repository: Repository, project: dict[str, Any]
) -> None:
    assert project["authors"] == project["maintainers"] == [{"name": "The Loadstone authors"}]
    assert "the Loadstone authors" in repository.text("NOTICE")


def test_what_is_released_has_a_home(repository: Repository, project: dict[str, Any]) -> None:
    """The project has no address yet; RELEASING.md says so, and nothing is released before."""
    placeholders = [url for url in project["urls"].values() if PLACEHOLDER.match(url)]
    if RELEASED.search(repository.text("CHANGELOG.md")):
        assert placeholders == []
    else:
        assert len(placeholders) == len(project["urls"]) > 0
        assert "loadstone.example" in repository.text("RELEASING.md")


def test_the_number_of_the_version_is_in_one_place(repository: Repository) -> None:
    number = tomllib.loads(repository.text("Cargo.toml"))["workspace"]["package"]["version"]
    assert number == __version__
    assert number not in repository.text("src/loadstone/__init__.py")
    assert "version" not in tomllib.loads(repository.text("pyproject.toml"))["project"]
