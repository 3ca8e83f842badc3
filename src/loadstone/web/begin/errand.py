"""The process between the page and a command that it began: outlives the page, knows the end.

Run as `python -m loadstone.web.begin.errand`; the first line of its input says what to do. It
starts the command, passes a request to stop on to it, and writes down how it ended. It imports
nothing heavy: it lives as long as the run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

OUTPUT = "output"
ENDED = "ended.json"
STOP = "stop"
LOCK = "lock"

LOOK_EVERY_S = 0.2


def main() -> None:
    """Do what the first line of the input asks."""
    task = json.loads(sys.stdin.buffer.readline())
    folder = Path(task["folder"])
    with open(folder / OUTPUT, "ab", buffering=0) as output:
        command = subprocess.Popen(
            # Without -P a module in the working folder could replace one of ours.
            [sys.executable, "-P", "-m", "loadstone.cli", *task["words"]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # The lock is held as long as either of the two lives.
            pass_fds=[task["lock"]],
            env=os.environ | task["environment"],
            start_new_session=True,
        )
    task["environment"] = {}  # it may have a password
    _write_end(folder, {"code": _waited(command, folder / STOP), "unix_s": time.time()})


def _waited(command: subprocess.Popen[bytes], stop: Path) -> int:
    """The exit code of the command, which gets Ctrl-C once somebody has asked for that."""
    asked = 0
    while True:
        try:
            return command.wait(LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            wanted = _lines(stop)
            if wanted > asked:  # a second request ends it at once, as a second Ctrl-C does
                asked = wanted
                command.send_signal(signal.SIGINT)


def _lines(stop: Path) -> int:
    try:
        return stop.read_bytes().count(b"\n")
    except OSError:
        return 0


def _write_end(folder: Path, end: dict[str, Any]) -> None:
    half = folder / f".{ENDED}"
    half.write_text(json.dumps(end))
    half.replace(folder / ENDED)


if __name__ == "__main__":
    main()
