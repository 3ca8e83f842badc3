"""A wait that is too long is reported by its own limit, not by pytest's limit for a whole test."""

from __future__ import annotations

import re
import tomllib

from house.repository import ROOT

WAIT = re.compile(r"^_?PATIENCE_S = ([\d.]+)", re.MULTILINE)


def test_two_waits_in_a_row_are_shorter_than_a_tests_time() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    most_s = project["tool"]["pytest"]["ini_options"]["timeout"] / 2
    waits = {
        path: float(found)
        for path in ROOT.glob("tests/**/*.py")
        for found in WAIT.findall(path.read_text())
    }
    assert len(waits) > 5
    assert {path: wait_s for path, wait_s in waits.items() if wait_s > most_s} == {}
