"""Runs that set a server's variables and are killed at a chosen moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from loadstone.model.target import Endpoint

# Each line asks for a run that ends as by kill -9, before or after the n-th thing that it writes to
# disk or server; the result is a line as well. One program that forks, as its start takes far
# longer than a run.
KILLED = """
import os, signal, sys
from pathlib import Path
from loadstone.lab.variables import journal, stage
from importlib import import_module
from loadstone.model.target import Credentials, Endpoint
from loadstone.model.target_url import parse_target_url
family = import_module(sys.argv[1])
url, folder = sys.argv[2:4]
target, password = parse_target_url(url)
credentials = Credentials(password=password or "")
endpoint = Endpoint(target=target, credentials=credentials, server_is_here=True)
wanted = dict(word.split("=") for word in sys.argv[4:])
acts, moment, when = 0, 0, "never"
def deadly(act):
    def acting(*arguments, **named):
        global acts
        acts += 1
        if acts == moment and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        act(*arguments, **named)
        if acts == moment and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
    return acting
family.set_variable = deadly(family.set_variable)
family.put_variable_back = deadly(family.put_variable_back)
journal.Journal._append = deadly(journal.Journal._append)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        moment, when = int(line.split()[0]), line.split()[1]
        with stage.staged(endpoint, wanted, Path(folder)):
            pass
        print("acts", acts, flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Killed:
    """Runs that are killed at a moment that the test chooses."""

    def __init__(self, endpoint: Endpoint, folder: Path, wanted: Mapping[str, str]) -> None:
        url, password = endpoint.target.url, endpoint.credentials.reveal()
        if password:
            url = url.replace("@", f":{password}@", 1)
        family = f"loadstone.{endpoint.target.family}.family"
        words = [f"{name}={text}" for name, text in wanted.items()]
        self._program = subprocess.Popen(
            [sys.executable, "-c", KILLED, family, url, str(folder), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def _told(self, moment: int, when: str) -> list[str]:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{moment} {when}\n")
        self._program.stdin.flush()
        return self._program.stdout.readline().split()

    def acts(self) -> int:
        """How many writes a run makes that is not killed."""
        what, number = self._told(0, "never")
        assert what == "acts"
        assert self._program.stdout is not None
        assert self._program.stdout.readline() == "0\n"
        return int(number)

    def at(self, moment: int, when: str) -> None:
        """Kill a run before or after its n-th write."""
        assert self._told(moment, when) == [f"{-signal.SIGKILL:d}"]

    def end(self) -> None:
        """End the program."""
        self._program.communicate(timeout=60)
