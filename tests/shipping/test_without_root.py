"""Each line of docs/install.md's table, run by a user without privileges."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.sandbox import SandboxError, find_server
from ports import free_port

pytestmark = [pytest.mark.server, pytest.mark.slow]

try:
    find_server("mariadb")
except SandboxError:
    pytest.skip("no MariaDB here", allow_module_level=True)

PAGE = Path(__file__).parents[2] / "docs" / "install.md"
ROWS = dict(
    re.findall(
        r"^\| (`[^|]+) \| ([^|]+) \|$",
        PAGE.read_text().partition("## Without root")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
)
SHORT = ("--concurrency", "2", "--duration", "500ms", "--warmup", "0s")
EXPERIMENT = """\
duration = "500ms"
warmup = "0s"
ladder = [2]
repeats = 2
[sandbox]
server = "mariadb"
[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100
[factor.kind.a]
[factor.kind.b]
{level}
"""
LEVELS = {
    "`experiment`": "client = { prepared = false }",
    "`experiment` with `network`": 'network = { rate = "1Gbit" }',
    "`experiment` with `cgroup`": "cgroup = { cores = 1 }",
}
WORDS = {
    "`report`": "report before --markdown",
    "`diagnose`": "diagnose before",
    "`ceilings`": "ceilings before",
    "`compare`": "compare before after",
    "`runs list`": "runs list",
    "`calibrate`": "calibrate --duration 200ms",
    "`probe`": "probe --duration 200ms",
    "`host-test cpu`": "host-test cpu --duration 200ms",
    "`sandbox list`": "sandbox list",
    "`experiment`": "experiment e.toml",
    "`experiment` with `network`": "experiment e.toml",
    "`experiment` with `cgroup`": "experiment e.toml",
    "`recipes run network`": "recipes run network --quick --dry-run",
    "`recipes run instance-size`": "recipes run instance-size --quick --dry-run",
}
OTHERWISE = {"`null-server`", "`run`", "`serve`", "`sandbox start`", "`sandbox stop`"}
"""Rows with a test of their own: these commands run until they are ended, or need something first.
"""


STAYING = """\
import json, pathlib, sys
from called import called
for line in sys.stdin:
    done = called(*json.loads(line), folder=pathlib.Path.cwd(), code=None)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""


class Nobody:
    """A user without privileges, with a folder of its own.

    Root becomes user 65534 of a user namespace: without any capability, but still allowed into
    folders of root, where this interpreter may be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prefix: list[str] = []
        if os.geteuid() == 0:
            self.prefix = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if "LOADSTONE" not in name},
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
        }

    def open(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the program."""
        return subprocess.Popen(
            [*self.prefix, sys.executable, "-m", "loadstone.cli", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command in the process that stays; returns its exit code, stdout and stderr."""
        assert self.staying.stdin is not None
        assert self.staying.stdout is not None
        self.staying.stdin.write(json.dumps(arguments) + "\n")
        self.staying.stdin.flush()
        code, out, err = json.loads(self.staying.stdout.readline())
        return code, out, err

    @cached_property
    def staying(self) -> subprocess.Popen[str]:
        """One process of the user for all commands that end: each start would take a second."""
        return subprocess.Popen(
            [*self.prefix, sys.executable, "-c", STAYING],
            cwd=self.folder,
            env={**self.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nobody]:
    someone = Nobody(tmp_path_factory.mktemp("nobody"))
    asked = [*someone.prefix, sys.executable, "-c", "import os; print(os.geteuid())"]
    said = subprocess.run(asked, capture_output=True, text=True)
    if said.returncode != 0:
        pytest.skip(f"root cannot become anybody else here: {said.stderr.strip()}")
    assert int(said.stdout) != 0
    yield someone
    someone.staying.communicate(timeout=100)
    assert someone.staying.returncode == 0


@pytest.fixture(scope="module")
def ran(nobody: Nobody) -> Iterator[None]:
    """Two runs against a null server, which must end properly too."""
    server = nobody.open("null-server", "--json")
    try:
        assert server.stdout is not None
        target = json.loads(server.stdout.readline())["target"]
        for name in ("before", "after"):
            words = ("run", "oltp_point_select", "--target", target, *SHORT, "--name", name)
            code, _, said = nobody.run(*words)
            assert code == 0, said
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=100)
    assert server.returncode == 0
    yield


def test_each_line_of_the_table_is_tried() -> None:
    assert ROWS.keys() == WORDS.keys() | OTHERWISE
    assert all(ROWS[each].startswith("works") for each in OTHERWISE)


@pytest.mark.usefixtures("ran")
def test_a_null_server_and_runs_against_it_work(nobody: Nobody) -> None:
    assert {path.name.partition("-")[0] for path in (nobody.folder / "runs").iterdir()} == {
        "before",
        "after",
    }


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("row", WORDS)
def test_a_command_does_what_the_table_says(nobody: Nobody, row: str) -> None:
    if row in LEVELS:
        (nobody.folder / "e.toml").write_text(EXPERIMENT.format(level=LEVELS[row]))
    code, out, err = nobody.run(*WORDS[row].split())
    refused = re.search(r"refused with code (\d+)", ROWS[row])
    assert code == (int(refused[1]) if refused else 0), out + err
    assert "Traceback" not in err
    if refused:
        assert "root" in err


@pytest.mark.usefixtures("ran")
def test_the_live_page_is_served(nobody: Nobody) -> None:
    # The port that it takes by default may be another program's.
    with nobody.open("serve", "--address", f"127.0.0.1:{free_port()}") as page:
        assert page.stdout is not None
        first = page.stdout.readline()
        page.send_signal(signal.SIGINT)
        _, said = page.communicate(timeout=100)
    assert first.startswith("live  http://"), said
    assert page.returncode == 0, said


def test_a_sandbox_is_started_and_stopped(nobody: Nobody) -> None:
    code, _, said = nobody.run("sandbox", "start", "--server", "mariadb", "--name", "mine")
    assert code == 0, said
    code, _, said = nobody.run("sandbox", "stop", "mine")
    assert code == 0, said
