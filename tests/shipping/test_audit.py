"""Known vulnerabilities fail; an audit that could not run says so, and does not report "none"."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
LOCKS = ("bundle", "cluster", "lts-cpu")
CLEAN = {"name": "click", "version": "8.5.1", "vulns": []}
ADVISORY = {"id": "PYSEC-2026-1", "fix_versions": ["8.5.2"], "aliases": [], "description": "…"}


def audit(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """`tools/audit` with a stand-in for pip-audit, which has the path of its report in $report."""
    program = folder / "pip-audit"
    find = 'while [ "$1" != --output ]; do shift; done; report="$2"'
    program.write_text(f"#!/bin/sh\n{find}\n{script}\n")
    program.chmod(0o755)
    return subprocess.run(
        [sys.executable, "-m", "tools.audit", program],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )


def reporting(*packages: object) -> str:
    return f"""cat >"$report" <<'X'\n{json.dumps({"dependencies": packages, "fixes": []})}\nX"""


def test_no_known_vulnerability_is_told_with_how_many_were_looked_at(tmp_path: Path) -> None:
    done = audit(tmp_path, reporting(CLEAN, CLEAN))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"advisories for requirements/{lock}.txt: 0 known in 2 packages" for lock in LOCKS
    ]


def test_a_known_vulnerability_fails_and_says_what_mends_it(tmp_path: Path) -> None:
    done = audit(tmp_path, reporting({**CLEAN, "vulns": [ADVISORY]}) + "\nexit 1")
    assert done.returncode == 1
    assert "  click 8.5.1: PYSEC-2026-1, fixed by 8.5.2\n" in done.stdout


def test_a_database_out_of_reach_is_not_evaluated(tmp_path: Path) -> None:
    done = audit(tmp_path, "echo 'ERROR: connection refused' >&2; exit 1")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"advisories for requirements/{lock}.txt: not evaluated (ERROR: connection refused)"
        for lock in LOCKS
    ]


def test_a_package_that_was_passed_over_is_named(tmp_path: Path) -> None:
    done = audit(tmp_path, reporting(CLEAN, {"name": "odd", "skip_reason": "not found"}))
    assert "0 known in 1 packages; not evaluated: odd\n" in done.stdout


def test_nothing_looked_at_is_not_evaluated(tmp_path: Path) -> None:
    done = audit(tmp_path, reporting({"name": "odd", "skip_reason": "no such package"}))
    assert done.returncode == 0
    assert "bundle.txt: not evaluated (no such package)\n" in done.stdout
