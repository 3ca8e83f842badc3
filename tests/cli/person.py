"""A user at a shell: a folder, a server with its password, and commands.

To this user a sandbox of the tests is an ordinary server: no state folder names it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from called import called
from loadstone.sandbox import Sandbox

PATIENCE_S = 90.0
"""Seconds to wait: a machine may be busy with other tests; what takes longer hangs."""


_DRIVING = ("run", "experiment")
"""Commands that watch servers by default, unless the server is a sandbox."""


@dataclass(frozen=True)
class Person:
    """A user who works in one folder, mostly with one server."""

    folder: Path
    server: Sandbox | None = None
    careful: bool = True
    """Whether runs have the conditions that watch somebody's server by default: a disk that is
    nearly full, or another program's load, would end them."""

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of a command, except for what finds programs."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        # Templates of data folders take seconds to make: all tests share them.
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        known = {
            "HOME": str(home),
            "COLUMNS": "100",
            "XDG_CACHE_HOME": cache,
            "LOADSTONE_KEPT_GIB": "0",
        }
        if self.server is not None:
            known["LOADSTONE_PASSWORD"] = self.server.tcp.credentials.reveal()
        return known

    @property
    def target(self) -> tuple[str, str]:
        """The options that name the server."""
        return "--target", self.url

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.tcp.target.url

    def loadstone(self, *words: str, code: int | None = 0) -> CompletedProcess[str]:
        """Run a command."""
        words = self._without_conditions(words)
        return called(*words, folder=self.folder, environment=self.environment, code=code)

    def result(self, *words: str) -> dict[str, Any]:
        """The document that a command prints with `--json`; it must print nothing else."""
        done = self.loadstone(*words, "--json")
        assert done.stderr == ""
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    @contextmanager
    def starts(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command as a process of its own, for signals; it is killed at the end."""
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        with subprocess.Popen(
            [sys.executable, "-m", "loadstone.cli", *self._without_conditions(words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=kept | self.environment,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def _without_conditions(self, words: Sequence[str]) -> tuple[str, ...]:
        told = {"--no-abort", "--abort-if", "--max-load"} & set(words)
        watched = self.careful or told or words[0] not in _DRIVING
        return (*words,) if watched else (*words, "--no-abort")

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        assert self.server is not None
        with self.server.connect() as connection, connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)
            return list(cursor.fetchall())

    def only_run(self) -> Path:
        """The folder of the only run."""
        (run,) = (self.folder / "runs").iterdir()
        return run

    def samples(self) -> int:
        """How many samples the engine has recorded, in all runs."""
        journals = self.folder.glob("runs/*/journal.jsonl")
        return sum(journal.read_text().count('"kind":"sample"') for journal in journals)


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Look repeatedly until it holds; fails if the process ends before that."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if process is not None and process.poll() is not None:
            out, err = process.communicate()
            raise AssertionError(f"it ended with {process.returncode}\n{err}{out}")
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


@contextmanager
def set_globally(server: Sandbox, **values: object) -> Iterator[None]:
    """Set global variables of a server that others use too, and restore them at the end."""
    with server.connect() as connection, connection.cursor() as cursor:
        before: dict[str, object] = {}
        for name in values:
            cursor.execute(f"SELECT @@GLOBAL.{name}")
            (before[name],) = cursor.fetchone() or (None,)
    try:
        _set(server, values)
        yield
    finally:
        _set(server, before)


def _set(server: Sandbox, values: Mapping[str, object]) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        for name, value in values.items():
            cursor.execute(f"SET GLOBAL {name} = %s", (value,))
