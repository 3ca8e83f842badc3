"""`loadstone restore` where there is no server to put anything back on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.lab.settings_journal import Journal, SettingsError, left_behind
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "loadstone" / "settings"
    made.mkdir(parents=True)
    return made


def restore(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = {"XDG_STATE_HOME": str(folder.parents[1]), "HOME": str(folder.parents[1])}
    return subprocess.run(
        [sys.executable, "-m", "loadstone.cli", "restore", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | home | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def left(folder: Path, port: int) -> Path:
    journal = Journal.begin(folder, Target(host="127.0.0.1", port=port, user="u"), {"a": "1"})
    journal.changing("a", 1)
    journal.close(done=False)
    return journal.path


def test_there_may_be_nothing_to_put_back(folder: Path) -> None:
    done = restore(folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to put back" in done.stderr


def test_a_server_that_is_gone_is_told_with_its_file(folder: Path) -> None:
    path = left(folder, 1)
    done = restore(folder)
    assert done.returncode == ExitCode.TARGET
    assert "nothing listens on 127.0.0.1:1" in done.stderr
    assert str(path) in done.stderr
    assert path.exists()


def test_only_the_target_that_is_named_is_looked_at(folder: Path) -> None:
    left(folder, 1)
    done = restore(folder, "--target", "mysql://u@127.0.0.1:2/x")
    assert (done.returncode, done.stdout) == (0, "")


def test_what_a_journal_says_is_read_back(folder: Path) -> None:
    journal = Journal.begin(folder, Target(host="db1", user="u"), {"a": "1", "b": "x"})
    journal.changing("a", 1)
    journal.changed("a", 2)
    journal.changing("b", "x")
    (found,) = left_behind(folder)
    assert (found.place, found.target) == ("db1:3306", "mysql://u@db1")
    assert [(each.variable, each.old, each.new) for each in found.changes] == [
        ("a", 1, 2),
        ("b", "x", "x"),
    ]
    assert found.cut_short and found.restoring is None
    assert found.path.stat().st_mode & 0o077 == 0
    assert Journal.take(found.path) is None, "its maker is at work"
    journal.close(done=True)
    assert list(left_behind(folder)) == []


def test_a_disk_that_is_full_leaves_no_half_line(folder: Path) -> None:
    journal = Journal.begin(folder, Target(host="db1", user="u"), {"a": "1"})
    journal.changing("a", 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size + 5, before[1]))
    try:
        with pytest.raises(SettingsError, match="cannot keep old settings in .*file too large"):
            journal.changed("a", 2)
        with pytest.raises(SettingsError, match="cannot keep old settings in"):
            Journal.begin(folder, Target(host="db2", user="u"), {"b": "x" * 1000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (found,) = left_behind(folder)
    assert found.cut_short
    journal.changed("a", 3)
    (found,) = left_behind(folder)
    assert [(each.old, each.new) for each in found.changes] == [(1, 3)]
    journal.close(done=True)
