"""Two field studies, seen from the server's host and from elsewhere: each names the same cause.

Case A: group commit, on MySQL 5.7. Case B: many connections in a thread pool, on MariaDB.

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from loadstone.api import diagnose
from loadstone.diagnosis.context import HostField
from loadstone.model.account import Place
from loadstone.model.result import CLIENT_BOUND_SHARE, StepResult
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

ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "--uts")
TABLES = ("--tables", "4", "--table-size", "10000")
FULL = 0.15
"""With less of the cores idle than that, work for the cores may be the first cause."""

SECONDS = 12
EVERY_S = 2


@dataclass(frozen=True)
class Metric:
    """What a console shows of a host."""

    name: str
    field: HostField
    """The figure that it is."""
    read: Callable[[], tuple[float, float]]
    """What has come together so far, and in how much time: the metric is the growth of both."""


@dataclass(frozen=True)
class Study:
    """A situation, and what is to be said of it."""

    release: str
    settings: Mapping[str, str]
    users: int
    cause: str
    places: tuple[Place, ...]
    """Where the cause keeps the users."""
    metric: Metric


@dataclass(frozen=True)
class Scene:
    """A study with its server."""

    study: Study
    server: Sandbox


def writes() -> tuple[float, float]:
    """The writes of all disks (proc_diskstats(5): the fifth figure after the name), in seconds."""
    disks = {path.name for path in Path("/sys/block").iterdir()}
    lines = (line.split() for line in Path("/proc/diskstats").read_text().splitlines())
    return sum(int(line[7]) for line in lines if line[2] in disks), time.monotonic()


def busy_percent() -> tuple[float, float]:
    """A hundred times the time of busy cores, in the time of all cores.

    In proc_stat(5) the fourth and fifth time are those of idle cores, the eighth is other guests'.
    """
    line, _, _ = Path("/proc/stat").read_text().partition("\n")
    times = [int(ticks) for ticks in line.split()[1:9]]
    return 100 * (sum(times) - times[3] - times[4] - times[7]), sum(times)


STUDIES = {
    "A": Study(
        release="mysql-5.7",
        settings={},
        users=8,
        cause="commit-flush",
        places=("log sync", "binlog sync", "commit"),
        metric=Metric("WriteIOPS", "disk_write_iops", writes),
    ),
    "B": Study(
        release="mariadb",
        settings={"thread_handling": "pool-of-threads", "thread_pool_size": "1"},
        users=256,
        cause="thread-pool-small",
        places=("admission",),
        metric=Metric("CPUUtilization", "cpu_idle", busy_percent),
    ),
}


@pytest.fixture(scope="module", params=list(STUDIES.values()), ids=list(STUDIES))
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A study's durable server with its tables."""
    study: Study = request.param
    spec = SandboxSpec(server=need(study.release), settings=dict(study.settings))
    with start_sandbox(spec) as sandbox:
        loadstone(sandbox, "prepare", *TABLES)
        yield Scene(study, sandbox)


def loadstone(server: Sandbox, *words: str, way: tuple[str, ...] = ()) -> None:
    """Call the program, with the server as its target."""
    done = subprocess.run(
        [*way, sys.executable, "-m", "loadstone.cli", *words, "--target", server.tcp.target.url],
        env=os.environ | {"LOADSTONE_PASSWORD": server.tcp.credentials.reveal()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def driven(scene: Scene, folder: Path, *words: str, way: tuple[str, ...] = ()) -> Path:
    """The folder of a run whose users mostly commit."""
    out = ("--out", str(folder), "--name", "commits")
    users = ("--concurrency", str(scene.study.users), "--duration", f"{SECONDS}s")
    loadstone(scene.server, "run", "oltp_update_non_index", *TABLES, *users, *out, *words, way=way)
    (run,) = folder.glob("commits*")
    return run


def the_step(run: Path) -> StepResult:
    (step,) = run_folder.load(run).steps
    return step


def first_cause(run: Path) -> str:
    """The cause that the diagnosis names first."""
    (found,) = diagnose(run)
    return found.findings[0].cause


def cause_holds(scene: Scene, step: StepResult) -> float:
    """The share of the users' time that they spend where the cause keeps them."""
    assert step.account is not None
    return step.account.share_of(*scene.study.places)


@contextmanager
def console(file: Path, metric: Metric) -> Iterator[None]:
    """Writes what a console would export: a metric of the machine, as means of some seconds."""
    ended = threading.Event()

    def write() -> None:
        with file.open("w") as opened:
            rows = csv.writer(opened)
            rows.writerow(["time", "metric", "value"])
            at_s, (before, since) = time.time(), metric.read()
            while not ended.wait(max(at_s + EVERY_S - time.time(), 0)):
                now, until = metric.read()
                rows.writerow([at_s, metric.name, (now - before) / (until - since)])
                at_s, before, since = at_s + EVERY_S, now, until

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def names_it_unless_full(scene: Scene, run: Path) -> bool:
    """Whether the cause is named first, where others left cores for the test.

    Else the server's full host may be named first, or the generator that has no core.
    """
    host, generator = the_step(run).host, the_step(run).generator
    is_full = host is not None and host.cpu_idle is not None and host.cpu_idle < FULL
    loops = (generator.cpu_share or 0.0) + (generator.run_delay_share or 0.0)
    return is_full or loops >= CLIENT_BOUND_SHARE or first_cause(run) == scene.study.cause


def test_from_its_host(scene: Scene, tmp_path: Path) -> None:
    run = driven(scene, tmp_path)
    step = the_step(run)
    assert step.account is not None
    is_pooled = "thread_handling" in scene.study.settings
    assert step.account.view == ("sessions" if is_pooled else "threads")
    assert cause_holds(scene, step) > 0.05
    assert step.host is not None
    assert step.host.process_cpu_user
    assert names_it_unless_full(scene, run)


def test_from_elsewhere(scene: Scene, tmp_path: Path) -> None:
    run = driven(scene, tmp_path, way=ELSEWHERE)
    assert the_step(run).host is None
    assert names_it_unless_full(scene, run)


def test_with_figures_of_a_prometheus_server(scene: Scene, tmp_path: Path) -> None:
    with (
        exporter("prometheus-node-exporter") as node,
        scraping(tmp_path, node.split("/")[2]) as url,
        closing(PrometheusHost(SERVER_HOST, url)) as source,
    ):
        wait_for_a_scrape(source)
        run = driven(scene, tmp_path / "runs", "--prometheus", url, way=ELSEWHERE)
    step = the_step(run)
    assert cause_holds(scene, step) > 0.05
    assert step.host is not None
    assert step.host.disk_write_iops
    assert step.host.cpu_idle is not None
    assert names_it_unless_full(scene, run)


def test_with_the_file_of_a_console(scene: Scene, tmp_path: Path) -> None:
    file, metric = tmp_path / "exported.csv", scene.study.metric
    with console(file, metric):
        run = driven(scene, tmp_path, way=ELSEWHERE)
    attach(run, AttachRequest(file=file))
    host = the_step(run).host
    assert host is not None
    assert getattr(host, metric.field) is not None
    assert host.coarse == {metric.field: float(EVERY_S)}
    assert names_it_unless_full(scene, run)
