"""Completion, as a shell asks for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from called import called

PRESSED = """
source <(loadstone completion bash)
COMP_WORDS=({words}) COMP_CWORD={place}
_loadstone_completion loadstone
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `loadstone` that a shell finds."""
    program = tmp_path / "bin" / "loadstone"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m loadstone.cli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    asked = PRESSED.format(words=" ".join(words), place=len(words) - 1)
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_and_options(on_the_path: None) -> None:
    assert {"recipes", "replay"} & {*completed("loadstone", "re")} == {"recipes"}
    assert "report" in completed("loadstone", "re")
    assert completed("loadstone", "run", "--concurr") == ["--concurrency"]
    assert "required" in completed("loadstone", "run", "--tls", "''")
    assert completed("loadstone", "sandbox", "sta") == ["start"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_lines(shell: str, tmp_path: Path) -> None:
    if shell == "bash" and not shutil.which("bash"):
        pytest.skip("there is no bash here")
    said = called("completion", shell, folder=tmp_path).stdout
    assert "_LOADSTONE_COMPLETE" in said
    assert shell in said


def test_another_shell_is_named(tmp_path: Path) -> None:
    said = called("completion", "tcsh", folder=tmp_path, code=2).stderr
    assert "tcsh" in said
    assert "fish" in said
