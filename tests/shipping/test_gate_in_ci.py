"""`loadstone-gate`, which CI calls: a first run, one as good as it, and one that became slower.

Its `loadstone` on PATH hands each command to this process, since a dozen starts of the program take
a minute. `.ci/run` calls the gate with the program itself.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import xml.etree.ElementTree as tree
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from called import called
from loadstone import engine
from loadstone.engine import NullServer, NullServerError
from loadstone.model.null_server import NullServerSettings

GATE = Path(__file__).resolve().parents[2] / "packaging" / "wheel" / "scripts" / "loadstone-gate"
LOAD = "oltp_point_select --concurrency 2 --duration 1s --warmup 0s --no-observe"
FAILED_GATE = 99
PROGRAM = """\
#!{} -SE
import json, socket, sys
with socket.create_connection({}) as line, line.makefile("rw") as test:
    test.write(json.dumps(sys.argv[1:]) + "\\n")
    test.flush()
    code, out, err = json.load(test)
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Job:
    """A job in CI with a null server as its database."""

    folder: Path
    server: NullServer
    path: str
    listener: socket.socket
    """Where the gate's `loadstone` connects."""

    def answer_after(self, microseconds: int) -> None:
        self.server.set_script(service_of(microseconds))

    def gate(self, **asked: str) -> subprocess.CompletedProcess[str]:
        run = f"{LOAD} --target mysql://root@127.0.0.1:{self.server.port}/sbtest?tls=disabled"
        given = {"RUN": run, "FOLDER": str(self.folder), "FAIL_ON": "tps<-20%\n  p99>500%\n"}
        gate = subprocess.Popen(
            [GATE],
            env={**os.environ, "PATH": self.path, **given, **asked},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while gate.poll() is None:
            self.execute_next()
        return subprocess.CompletedProcess(gate.args, gate.returncode, *gate.communicate())

    def execute_next(self) -> None:
        """Execute the gate's next command; a run's signals want the main thread."""
        try:
            line, _ = self.listener.accept()
        except TimeoutError:
            return
        with line, line.makefile("rw") as asked:
            done = called(*json.loads(asked.readline()), folder=self.folder.parent, code=None)
            json.dump((done.returncode, done.stdout, done.stderr), asked)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


def service_of(microseconds: int) -> str:
    return f'{{"service": {{"kind": "constant", "us": {microseconds}}}}}'


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "loadstone"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        program.write_text(PROGRAM.format(sys.executable, listener.getsockname()))
        program.chmod(0o755)
        server = engine.null_server(NullServerSettings())
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        yield Job(tmp_path / "ci", server, path, listener)
    with suppress(NullServerError):  # a test may have stopped it
        server.stop()


def test_a_change_is_judged_against_the_base_branchs_run(job: Job) -> None:
    job.answer_after(5_000)
    first = job.gate()
    assert first.returncode == 0, first.stderr
    assert "no run of the base branch" in first.stderr
    assert job.text("comment.md").startswith("## load")
    assert "<svg" in job.text("badge.svg")
    assert job.text("report.html").startswith("<!doctype html>")
    (base,) = (job.folder / "base").iterdir()

    same = job.gate(THRESHOLD="p99<1s")
    assert same.returncode == 0, same.stderr
    assert "% |" in job.text("comment.md")
    (kept,) = (job.folder / "base").iterdir()
    assert kept.name != base.name
    for gates in ("thresholds", "changes"):
        assert list(tree.parse(job.folder / f"junit-{gates}.xml").iter("testcase"))

    # Far slower than any wait for a core: the base may be from a busy time.
    job.answer_after(500_000)
    slower = job.gate()
    assert slower.returncode == FAILED_GATE, slower.stdout
    assert "tps<-20%" in slower.stderr
    # What is slower is no base for the next one, and is shown to the reviewer.
    assert [each.name for each in (job.folder / "base").iterdir()] == [kept.name]
    assert "% |" in job.text("comment.md")


def test_a_run_without_a_server_ends_with_its_own_code(job: Job) -> None:
    job.server.stop()
    gone = job.gate()
    assert gone.returncode == 3
    assert not (job.folder / "base").exists()
    assert job.text("comment.md")
