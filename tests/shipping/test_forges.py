"""The files for forges call what there is: make's targets, our programs, and what these read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
FILES = [*WORKFLOWS, *(PROJECT / name for name in (
    ".gitlab-ci.yml", "action.yml", "packaging/gitlab/loadstone.yml"
))]  # fmt: skip
GATE = (PROJECT / "packaging/wheel/scripts/loadstone-gate").read_text()
READ = set(re.findall(r"^#   ([A-Z_]+) ", GATE, re.MULTILINE))
"""What loadstone-gate reads from its environment, by its own head."""


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_target_and_program_that_it_calls_is_there(path: Path) -> None:
    text = "\n".join(
        line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")
    )
    targets = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    for target, variables in re.findall(r"\bmake ([a-z-]+)((?: [A-Z]+=\S+)*)", text):
        if target in targets:
            for variable in re.findall(r"([A-Z]+)=", variables):
                assert f"$({variable})" in (PROJECT / "Makefile").read_text()
        else:
            assert "apt-get install" in text, f"make {target}"
    for module in re.findall(r"python -m (tools\.\w+)", text):
        assert (PROJECT / f"{module.replace('.', '/')}.py").exists()
    assert (".ci/run" in text) is (path.name in ("ci.yml", ".gitlab-ci.yml"))


def test_both_templates_hand_over_what_the_gate_reads() -> None:
    assert {"RUN", "FOLDER", "NAME", "REPEATS", "FAIL_ON", "THRESHOLD"} == READ
    (step,) = (each for each in loaded(FILES[-2])["runs"]["steps"] if each.get("id") == "gate")
    assert set(step["env"]) == READ
    given = set(loaded(FILES[-1])[".loadstone"]["variables"])
    assert given - READ == {"INSTALL"}


def test_this_projects_job_gives_its_action_inputs_that_it_has() -> None:
    known = loaded(PROJECT / "action.yml")["inputs"]
    jobs = loaded(PROJECT / ".github/workflows/ci.yml")["jobs"]
    (used,) = (each["with"] for each in jobs["load"]["steps"] if each.get("uses") == "./")
    assert set(used) <= set(known)
    assert {name for name, one in known.items() if one.get("required")} <= set(used)


def test_actionlint_finds_nothing() -> None:
    built = PROJECT / ".cache/tools/bin/actionlint"
    program = shutil.which("actionlint") or (str(built) if built.exists() else None)
    if program is None:
        pytest.skip("not evaluated: no actionlint here (tools/check-workflows builds it with Go)")
    done = subprocess.run([program, *WORKFLOWS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
