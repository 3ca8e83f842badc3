"""A terminal that is closed, or an ssh that drops: settings are restored, and the run is kept."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.servers import one
from loadstone.model.exit_codes import ExitCode
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox
from trust.experiments import CHANGED, experiment
from trust.faulted import PATIENCE_S, Home, nothing_is_left
from trust.tally import COUNTS

pytestmark = [pytest.mark.server, pytest.mark.slow]


@dataclass
class Terminal:
    """A program with a terminal of its own."""

    process: subprocess.Popen[bytes]
    master: int
    said: bytes = b""

    def until(self, holds: Callable[[], bool]) -> None:
        """Read its output until it matches."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            with contextlib.suppress(BlockingIOError, OSError):
                self.said += os.read(self.master, 65536)
            assert self.process.poll() is None, self.said.decode()
            assert time.monotonic() < deadline, self.said.decode()
            time.sleep(0.05)

    def close(self) -> int:
        """Hang up as a closing window does; returns how the program ended."""
        os.close(self.master)
        self.master = -1
        return self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def in_a_terminal(home: Home, server: Sandbox, *words: str) -> Iterator[Terminal]:
    """Start a command that nobody but its terminal watches."""
    master, slave = os.openpty()
    os.set_blocking(master, False)
    process = subprocess.Popen(
        [sys.executable, "-m", "loadstone.cli", *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=home.folder,
        env=home.environment | {"LOADSTONE_PASSWORD": server.tcp.credentials.reveal()},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )
    os.close(slave)
    terminal = Terminal(process, master)
    try:
        yield terminal
    finally:
        process.kill()
        process.wait()
        if terminal.master >= 0:
            os.close(terminal.master)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    return made


def is_changed(server: Sandbox) -> bool:
    return bool(one(server, "SELECT @@GLOBAL.max_connect_errors") == 200)


def records(home: Home) -> int:
    """The seconds of the current load that are recorded."""
    return sum((run / "journal.jsonl").read_text().count('"window"') for run in home.found())


def test_variables_are_put_back_and_the_run_is_kept(home: Home, server: Sandbox) -> None:
    before = one(server, "SELECT @@GLOBAL.max_connect_errors")
    # From the first step on: the second step is a minute away.
    changed = CHANGED.replace("200", "300")
    (home.folder / "e.toml").write_text(
        experiment(server.tcp.target.url, changed, "60s", first=CHANGED)
    )
    with in_a_terminal(home, server, "experiment", "e.toml", "--yes", "--no-observe") as terminal:
        terminal.until(lambda: b"step 1 of" in terminal.said and is_changed(server))
        assert terminal.close() == ExitCode.INTERRUPTED
    COUNTS["terminals closed"] += 1
    assert one(server, "SELECT @@GLOBAL.max_connect_errors") == before
    (run,) = home.found()
    assert run_folder.load(run).run.state == "stopped"
    nothing_is_left(home)


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_live_table_that_nobody_sees_any_more_ends_no_run_before_it_is_kept(
    home: Home, server: Sandbox
) -> None:
    at = ("--target", server.tcp.target.url)
    with in_a_terminal(home, server, "prepare", *at, "--tables", "1", "--table-size", "100") as it:
        it.process.wait(PATIENCE_S)
    times = ("--concurrency", "2", "--duration", "60s", "--warmup", "0s")
    with in_a_terminal(home, server, "run", "oltp_read_only", *at, *times) as terminal:
        terminal.until(lambda: b"tps" in terminal.said and records(home) > 1)
        assert terminal.close() == ExitCode.INTERRUPTED
    COUNTS["terminals closed"] += 1
    (run,) = home.found()
    (step,) = run_folder.load(run).steps
    assert (run_folder.load(run).run.state, step.state, step.tally_balances) == (
        "stopped",
        "stopped",
        True,
    )
    nothing_is_left(home)
