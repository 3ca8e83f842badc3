"""Dependencies point one way, also where cargo-deny and import-linter cannot say so."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator

import pytest

from house.repository import Repository

# The house plan: each crate may depend on those before it.
CRATES = [
    "loadstone-wire",
    "loadstone-measure",
    "loadstone-workload",
    "loadstone-script",
    "loadstone-hosttests",
    "loadstone-drive",
    "loadstone-null-server",
    "loadstone-python",
    "loadstone-floor",
]
# Bytes in, messages out: these have no socket, no clock, no thread and no file.
PURE_CRATES = ["wire", "measure", "workload"]
IMPURE = re.compile(r"\bstd::(net|thread|fs|os|process|time::(Instant|SystemTime))\b")
IMPURE_CRATES = {"crossbeam-channel", "libc", "mio", "rustix", "rustls", "socket2", "tokio"}


def test_crates_depend_only_on_crates_before_them(repository: Repository) -> None:
    said = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"],
        cwd=repository.root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for package in json.loads(said)["packages"]:
        uses = {
            dependency["name"]
            for dependency in package["dependencies"]
            if dependency["kind"] != "dev"  # a test may ask the null server
        }
        before = set(CRATES[: CRATES.index(package["name"])])
        assert {name for name in uses if name.startswith("loadstone-")} <= before
        if package["name"].removeprefix("loadstone-") in PURE_CRATES:
            assert not uses & IMPURE_CRATES, package["name"]


@pytest.mark.parametrize("crate", PURE_CRATES)
def test_pure_crates_know_no_socket_clock_or_thread(repository: Repository, crate: str) -> None:
    assert not [
        f"{name}:{number}"
        for name in repository.named(".rs", under=f"crates/{crate}/src/")
        for number, line in enumerate(repository.text(name).splitlines(), 1)
        if IMPURE.search(line)
    ]


def imported(source: str) -> Iterator[str]:
    """The modules that a Python source imports, `from a import b` as `a.b`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    ("package", "foreign"),
    [
        ("model/", r"loadstone\.(?!model\b)"),
        ("analyse/", r"loadstone\.(target|sandbox|engine)\b|pymysql\b"),
        ("diagnose/", r"loadstone\.(target|sandbox|engine)\b|pymysql\b"),
        ("(?!engine/)", r"loadstone\._engine\b"),
        ("(?!cluster/)", r"ray\b"),
    ],
)
def test_packages_do_not_import_what_is_not_theirs(
    repository: Repository, package: str, foreign: str
) -> None:
    assert not [
        (name, module)
        for name in repository.named(".py", under="src/loadstone/")
        if re.match(package, name.removeprefix("src/loadstone/"))
        for module in imported(repository.text(name))
        if re.match(foreign, module)
    ]
