"""`loadstone restore` where there is no server on which to restore anything."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from called import called
from loadstone.lab.variables.journal import Journal, LeftBehind, left_behind
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Target
from loadstone.servers.errors import SettingsError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "loadstone" / "settings"
    made.mkdir(parents=True)
    return made


def restore(folder: Path, *words: str, code: int = 0) -> CompletedProcess[str]:
    home = {"XDG_STATE_HOME": str(folder.parents[1]), "HOME": str(folder.parents[1])}
    return called("restore", *words, folder=folder, environment=home, code=code)


def left(folder: Path, port: int) -> Path:
    journal = Journal.begin(folder, Target(host="127.0.0.1", port=port, user="u"), {"a": "1"})
    journal.changing("a", 1)
    journal.close(done=False)
    return journal.path


def test_there_may_be_nothing_to_put_back(folder: Path) -> None:
    done = restore(folder)
    assert done.stdout == ""
    assert "nothing to restore" in done.stderr


def test_a_server_that_is_gone_is_told_with_its_file(folder: Path) -> None:
    path = left(folder, 1)
    done = restore(folder, code=ExitCode.TARGET)
    assert "nothing listens on 127.0.0.1:1" in done.stderr
    assert str(path) in done.stderr
    assert path.exists()


def test_only_the_target_that_is_named_is_asked(folder: Path) -> None:
    left(folder, 1)
    done = restore(folder, "--target", "mysql://u@127.0.0.1:2/x", code=ExitCode.TARGET)
    assert "nothing listens on 127.0.0.1:2" in done.stderr
    assert "127.0.0.1:1" not in done.stderr


def test_a_journal_that_cannot_be_read_is_told_and_keeps_nobody_from_the_others(
    folder: Path,
) -> None:
    (folder / "db1:3306-1-2.jsonl").write_text("nothing of ours\n")
    (folder / "db1:3306-1-3.jsonl").symlink_to("/dev/zero")
    os.mkfifo(folder / "db1:3306-1-4.jsonl")
    left(folder, 1)
    done = restore(folder, code=ExitCode.LEFT_CHANGED)
    told = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [f"-1-{number}.jsonl" in line for number, line in enumerate(told, 2)] == [True] * 3 + [
        False
    ]
    assert "nothing listens on 127.0.0.1:1" in told[3]


def test_each_command_mentions_what_a_killed_run_left(folder: Path) -> None:
    assert mentioned(folder) == []
    journal = Journal.begin(folder, Target(host="db1", user="u"), {"a": "1"})
    assert mentioned(folder) == [], "its maker is at work"
    journal.close(done=False)
    left(folder, 1)
    assert mentioned(folder) == [
        "note: a run left variables changed on db1:3306, 127.0.0.1:1: "
        "loadstone restore puts them back"
    ]
    for path in folder.iterdir():
        path.unlink()
    (folder / "db1:3306-1-2.jsonl").write_text("nothing of ours\n")
    (line,) = mentioned(folder)
    assert "db1:3306-1-2.jsonl cannot be read" in line


def mentioned(folder: Path) -> list[str]:
    """An unrelated command mentions it, and keeps its stdout for its own output."""
    home = {"XDG_STATE_HOME": str(folder.parents[1]), "HOME": str(folder.parents[1])}
    done = called("sandbox", "list", "--json", folder=folder.parent, environment=home)
    assert done.stdout == "[]\n"
    assert restore(folder, "--help").stderr == ""
    return done.stderr.splitlines()


def test_what_a_journal_says_is_read_back(folder: Path) -> None:
    journal = Journal.begin(folder, Target(host="db1", user="u"), {"a": "1", "b": "x"})
    journal.changing("a", 1)
    journal.changed("a", 2)
    journal.changing("b", "x")
    (found,) = left_behind(folder).staged
    assert (found.place, found.target) == ("db1:3306", "mysql://u@db1")
    assert [(each.variable, each.old, each.new) for each in found.changes] == [
        ("a", 1, 2),
        ("b", "x", "x"),
    ]
    assert found.cut_short and found.restoring is None
    assert found.path.stat().st_mode & 0o077 == 0
    assert Journal.take(found.path) is None, "its maker is at work"
    journal.close(done=True)
    assert left_behind(folder) == LeftBehind((), ())


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
    (found,) = left_behind(folder).staged
    assert found.cut_short
    journal.changed("a", 3)
    (found,) = left_behind(folder).staged
    assert [(each.old, each.new) for each in found.changes] == [(1, 3)]
    journal.close(done=True)
