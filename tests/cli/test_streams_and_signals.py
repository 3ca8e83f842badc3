"""Closed and full streams, and signals before anything was started."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

CLI = f"{sys.executable} -m loadstone.cli"


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--help >&-", 0),
        ("--help <&- >&- 2>&-", 0),
        ("--version >&-", 0),
        ("nope 2>&-", 2),
        ("nope 2>/dev/full", 2),
        ("--help > >(true)", 0),
    ],
)
def test_a_closed_stream_changes_no_exit_code(line: str, code: int) -> None:
    done = in_shell(f"{CLI} {line}")
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("command", ["--help", "--version", "runs --help"])
def test_a_full_stdout_is_one_line(command: str) -> None:
    done = in_shell(f"{CLI} {command} >/dev/full")
    assert done.stderr == "error: cannot write to stdout: No space left on device\n"
    assert done.returncode == 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_imports_leaves_no_traceback(number: signal.Signals) -> None:
    program = (
        "import os, sys; import loadstone.cli as cli\n"
        "class Signalling:\n"
        "    def find_spec(self, name, *more):\n"
        f"        if name == 'click': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Signalling())\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "runs"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_a_signal_while_a_class_is_made_is_no_bug() -> None:
    """Python 3.11 hides it in a RuntimeError: a module that is imported just then has classes."""
    program = (
        "import os, signal, sys, loadstone.cli as cli\n"
        "class Signalling:\n"
        "    def __set_name__(self, owner, name):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'loadstone.cli.commands.runs':\n"
        "            type('Made', (), {'field': Signalling()})\n"
        "sys.meta_path.insert(0, Finder())\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "runs", "list"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


SIGNALLED = """
import os, signal, sys
from loadstone.cli import app, errors
def hung_up_twice():
    for number in (1, 2):
        try:
            os.kill(os.getpid(), signal.SIGHUP)
            print("goes on", number, flush=True)
        except KeyboardInterrupt:
            print("interrupted", number, flush=True)
    raise KeyboardInterrupt
app.app.main = lambda *arguments, **named: hung_up_twice()
sys.exit(errors.exit_code_of(["runs"]))
"""


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        # A terminal that is closed sends the signal twice: the second does not interrupt the
        # clean-up.
        ((), "interrupted 1\ngoes on 2\n"),
        (("nohup",), "goes on 1\ngoes on 2\n"),
    ],
)
def test_the_end_of_the_terminal_is_one_ctrl_c_unless_it_is_not_to_be(
    launcher: tuple[str, ...], said: str
) -> None:
    done = subprocess.run(
        [*launcher, sys.executable, "-c", SIGNALLED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, said)
