"""Files and functions stay small: large projects lose their structure in giant files."""

import ast
import re

import pytest

from house.repository import Repository

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70  # Rust's are counted by clippy's too_many_lines

# Parsing all Python files takes seconds.
PARTS = 6

# Files that are longer, each with its reason.
LONG_FILES: dict[str, str] = {}

# Names that collect code without a structure.
SHAPELESS = re.compile(r"(^|/)(utils?|helpers?|common|misc)(/|\.(py|rs)$)")


def test_no_file_is_longer_than_the_limit(repository: Repository) -> None:
    long = {
        name: lines
        for name in repository.named(".py", ".pyi", ".rs", ".lua")
        if (lines := repository.text(name).count("\n")) > FILE_LINES_MAX
    }
    assert long.keys() == LONG_FILES.keys(), f"longer than {FILE_LINES_MAX} lines: {long}"


@pytest.mark.parametrize("part", range(PARTS))
def test_no_python_function_is_longer_than_the_limit(repository: Repository, part: int) -> None:
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name in repository.named(".py")[part::PARTS]
        for node in ast.walk(ast.parse(repository.text(name), name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert not long


def test_no_module_has_a_name_that_says_nothing(repository: Repository) -> None:
    assert not [name for name in repository.named(".py", ".rs") if SHAPELESS.search(name)]


def test_what_is_left_to_do_has_an_issue_number(repository: Repository) -> None:
    unnumbered = [
        f"{name}: {line.strip()}"
        for name in repository.named(".py", ".rs", ".lua")
        for line in repository.text(name).splitlines()
        if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line) and "re.search" not in line
    ]
    assert not unnumbered
