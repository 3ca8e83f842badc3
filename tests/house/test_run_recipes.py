"""The end of `make recipes`: a line for each recipe, and a failure if one failed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from house.repository import Repository

# A stand-in for the program: what each recipe prints, and its exit code.
PROGRAM = """#!/bin/sh
if [ "$2" = list ]; then
    echo 'tls                What encryption costs'
    echo 'instance-size      What a larger instance brings (root, or targets)'
    echo 'os-upgrade         One server on two systems'
    echo 'broken             One that does not come to its end'
    exit 0
fi
case "$3" in
    tls)
        echo 'field:  With TLS 3,748 TPS'
        echo 'here:   shown: 32 users: slower, -11.2 %'
        echo 'here:   not so here: server CPU' ;;
    instance-size) echo 'error: it wants control groups' >&2; exit 2 ;;
    os-upgrade) echo "here:   shown: $*" ;;
    *) echo 'error: the server went away' >&2; echo 'hint:  look' >&2; exit "${ENDS_WITH:-3}" ;;
esac
"""


def called(
    repository: Repository, path: Path, *words: str, **environment: str
) -> tuple[int, list[str]]:
    """The exit code, and the last lines: the summary."""
    program = path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    done = subprocess.run(
        [repository.root / "tools/run-recipes", "--out", path / "out", *words],
        env={"PATH": os.environ["PATH"], "LOADSTONE": str(program), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    (kept,) = (path / "out").iterdir()
    summary = (kept / "summary.txt").read_text()
    assert done.stdout.endswith(f"\n== all, in {kept}\n{summary}")
    # The time taken is printed, and differs from run to run.
    return done.returncode, re.sub(r"\d+ min \d+ s", "TIME", summary).splitlines()


def test_each_has_a_line_with_minutes_and_answer(repository: Repository, tmp_path: Path) -> None:
    words = ("--old", "/srv/old", "tls", "instance-size", "os-upgrade")
    code, lines = called(repository, tmp_path, *words)
    assert code == 0
    tls, size, upgrade = lines
    assert tls == "tls: TIME: shown: 32 users: slower, -11.2 % | not so here: server CPU"
    assert size == "instance-size: not here: it wants control groups"
    assert "run os-upgrade --quick" in upgrade
    assert upgrade.endswith("--set old=/srv/old")


def test_one_that_fails_fails_all_and_the_rest_is_done(
    repository: Repository, tmp_path: Path
) -> None:
    code, lines = called(repository, tmp_path, "broken", "tls")
    assert code == 1
    assert lines[0] == "broken: FAILED with 3 after TIME: the server went away"
    assert lines[1].startswith("tls: TIME: shown")


def test_what_needs_no_root_is_never_not_here(repository: Repository, tmp_path: Path) -> None:
    code, (line,) = called(repository, tmp_path, "broken", ENDS_WITH="2")
    assert (code, line[:21]) == (1, "broken: FAILED with 2")
