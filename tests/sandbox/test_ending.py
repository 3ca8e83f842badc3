"""When a server counts as ended, and what becomes of its folder if it does not end at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadstone.sandbox.processes import mark_of
from loadstone.sandbox.state import remove

FIRST_THREAD_ENDS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print("begun", flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""
"""The number of exit(2), which ends one thread."""

DEADLINE_S = 30


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_whose_first_thread_has_ended_still_runs() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FIRST_THREAD_ENDS], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        until = time.monotonic() + DEADLINE_S
        while state_of(process.pid) != "Z":
            assert time.monotonic() < until
            time.sleep(0.01)
        mark = mark_of(process.pid)
        assert mark is not None
        process.kill()
        assert mark.wait_until_gone(DEADLINE_S)


def test_a_folder_into_which_something_was_still_written_is_removed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, removed, tries = tmp_path / "mariadb-1", shutil.rmtree, []

    def raced(path: Path, *, ignore_errors: bool) -> None:
        """A server that just began writes once more."""
        removed(path, ignore_errors=ignore_errors)
        tries.append(path)
        if len(tries) == 1:
            (path / "data").mkdir(parents=True)

    folder.mkdir()
    monkeypatch.setattr("loadstone.sandbox.state.shutil.rmtree", raced)
    remove(folder, None)
    assert tries == [folder] * 2
    assert not folder.exists()
