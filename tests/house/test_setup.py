"""On a machine that lacks something, one line says what to install."""

import os
import subprocess
from pathlib import Path

import pytest

from house.repository import Repository


def set_up(repository: Repository, stand_ins: dict[str, str], path: Path, *words: str) -> str:
    """Run tools/setup with these programs replaced; it must fail with a message."""
    for name, script in stand_ins.items():
        program = path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    done = subprocess.run(
        [repository.root / "tools/setup", *words],
        env={"PATH": f"{path}:{os.environ['PATH']}", "PYTHON": "python3"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_a_user_is_told_the_packages_in_one_line_to_copy(
    repository: Repository, tmp_path: Path
) -> None:
    stand_ins = {"id": "echo 1000", "dpkg-query": "exit 1", "apt-get": "echo tried >&2"}
    said = set_up(repository, stand_ins, tmp_path, "packages", "sysbench", "mariadb-server-core")
    assert said == (
        "error: Debian packages are missing: sysbench mariadb-server-core\n"
        "hint:  sudo apt-get install --no-install-recommends sysbench mariadb-server-core\n"
    )


@pytest.mark.parametrize("version", ["1.63.0", "1.87.0"])
def test_an_old_rust_is_named_with_what_is_needed(
    repository: Repository, tmp_path: Path, version: str
) -> None:
    said = set_up(repository, {"rustc": f"echo 'rustc {version} (x)'"}, tmp_path, "rust")
    assert said.startswith(f"error: Rust 1.88 or newer is needed; found {version}\nhint: ")


def test_an_old_python_is_named_with_what_is_needed(repository: Repository, tmp_path: Path) -> None:
    pythons = ["python3", "python3.11", "python3.12", "python3.13", "python3.14"]
    old = 'case "$1" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac'
    said = set_up(repository, dict.fromkeys(pythons, old), tmp_path, "python")
    assert said.startswith("error: Python 3.11 or newer is needed; found Python 3.9.2\nhint: ")
