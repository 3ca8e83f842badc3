"""Case A on MySQL 5.7, seen from the server's host and from elsewhere.

From elsewhere no process of the server is visible, so that the account is made by SQL alone; the
host's figures come from a Prometheus server, or from the file of a console.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from loadstone.api import diagnose
from loadstone.model.account import Place
from loadstone.model.result import Result, StepResult
from loadstone.observe.prometheus import PrometheusHost
from loadstone.runner.attach import AttachRequest, attach
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from observe.other_tools import SERVER_HOST
from observe.test_exporters import exporter
from observe.test_prometheus import scraping, wait_for_a_scrape
from pooled import need

pytestmark = [
    pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="root alone can hide the server's process"),
]  # fmt: skip

RELEASE = "mysql-5.7"
ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "--uts")
TABLES = ("--tables", "4", "--table-size", "10000")
CAUSE = "commit-flush"
FULL = 0.15
"""With less of the cores idle than that, work for the cores may be the first cause."""

COMMITS: tuple[Place, ...] = ("log sync", "binlog sync", "commit")
SECONDS = 12
EVERY_S = 2


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    """A durable server with its tables."""
    with start_sandbox(SandboxSpec(server=need(RELEASE))) as sandbox:
        loadstone(sandbox, "prepare", *TABLES)
        yield sandbox


def loadstone(server: Sandbox, *words: str, way: tuple[str, ...] = ()) -> None:
    """Call the program, with the server as its target."""
    done = subprocess.run(
        [*way, sys.executable, "-m", "loadstone.cli", *words, "--target", server.tcp.target.url],
        env=os.environ | {"LOADSTONE_PASSWORD": server.tcp.credentials.reveal()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def driven(server: Sandbox, folder: Path, *words: str, way: tuple[str, ...] = ()) -> Path:
    """The folder of a run whose users mostly commit."""
    out = ("--out", str(folder), "--name", "commits")
    load = ("oltp_update_non_index", *TABLES, "--concurrency", "8", "--duration", f"{SECONDS}s")
    loadstone(server, "run", *load, *out, *words, way=way)
    (run,) = folder.glob("commits*")
    return run


def the_step(result: Result) -> StepResult:
    (step,) = result.steps
    return step


def first_cause(run: Path) -> str:
    """The cause that the diagnosis names first."""
    (found,) = diagnose(run)
    return found.findings[0].cause


def commits_hold(step: StepResult) -> float:
    """The share of the users' time that their commits take."""
    assert step.account is not None
    return step.account.share_of(*COMMITS)


@contextmanager
def console(file: Path) -> Iterator[None]:
    """Writes what a console would export: the machine's writes, as means of some seconds."""
    ended = threading.Event()

    def write() -> None:
        with file.open("w") as opened:
            rows = csv.writer(opened)
            rows.writerow(["time", "metric", "value"])
            at_s, before = time.time(), writes()
            while not ended.wait(max(at_s + EVERY_S - time.time(), 0)):
                now = writes()
                rows.writerow([at_s, "WriteIOPS", (now - before) / EVERY_S])
                at_s, before = at_s + EVERY_S, now

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def writes() -> int:
    """The writes of all disks so far (proc_diskstats(5): the fifth figure after the name)."""
    disks = {path.name for path in Path("/sys/block").iterdir()}
    lines = (line.split() for line in Path("/proc/diskstats").read_text().splitlines())
    return sum(int(line[7]) for line in lines if line[2] in disks)


def names_it_unless_full(run: Path, step: StepResult) -> bool:
    """Whether the cause is named first, on a host whose cores were not used up by whomever."""
    assert step.host is not None
    assert step.host.cpu_idle is not None
    return step.host.cpu_idle < FULL or first_cause(run) == CAUSE


def test_from_its_host(server: Sandbox, tmp_path: Path) -> None:
    run = driven(server, tmp_path)
    step = the_step(run_folder.load(run))
    assert step.account is not None
    assert step.account.view == "threads"
    assert commits_hold(step) > 0.05
    assert names_it_unless_full(run, step)


def test_from_elsewhere(server: Sandbox, tmp_path: Path) -> None:
    run = driven(server, tmp_path, way=ELSEWHERE)
    assert the_step(run_folder.load(run)).host is None
    assert first_cause(run) == CAUSE


def test_with_figures_of_a_prometheus_server(server: Sandbox, tmp_path: Path) -> None:
    with (
        exporter("prometheus-node-exporter") as node,
        scraping(tmp_path, node.split("/")[2]) as url,
        closing(PrometheusHost(SERVER_HOST, url)) as source,
    ):
        wait_for_a_scrape(source)
        run = driven(server, tmp_path / "runs", "--prometheus", url, way=ELSEWHERE)
    step = the_step(run_folder.load(run))
    assert commits_hold(step) > 0.05
    assert names_it_unless_full(run, step)
    assert step.host is not None
    assert step.host.disk_write_iops


def test_with_the_file_of_a_console(server: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "iops.csv"
    with console(file):
        run = driven(server, tmp_path, way=ELSEWHERE)
    result, _ = attach(run, AttachRequest(file=file))
    step = the_step(result)
    assert first_cause(run) == CAUSE
    assert step.host is not None
    assert step.host.disk_write_iops
    assert set(step.host.coarse.values()) == {float(EVERY_S)}
