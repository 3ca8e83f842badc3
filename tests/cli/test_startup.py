"""How soon the program answers, and which imports would delay it."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

HEAVY = ("pydantic", "polars", "numpy", "rich", "pymysql", "scipy")


def loadstone(*arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-m", "loadstone.cli", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_version_is_there_at_once() -> None:
    """Judged by CPU time: waiting for a core is the machine's affair."""
    took_s = []
    for _ in range(5):
        before = cpu_of_children_s()
        said = loadstone("--version").stdout
        took_s.append(cpu_of_children_s() - before)
    assert said.startswith("loadstone 0.")
    assert min(took_s) < 0.15


def cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_nothing_heavy_is_imported_for_it(option: str) -> None:
    imported = loadstone(option, options=("-X", "importtime")).stderr
    modules = {line.rpartition("|")[2].strip() for line in imported.splitlines()}
    assert "loadstone.cli" in modules
    assert [name for name in HEAVY if name in modules] == []


def test_the_help_names_every_command() -> None:
    said = loadstone("--help").stdout
    for command in ("demo", "prepare", "run", "cleanup", "runs", "sandbox", "null-server"):
        assert f"  {command} " in said
