"""Experiments on real throwaway servers: variables, restarts, data, kills, control groups."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from engine.between import Between
from loadstone import engine
from loadstone.experiments.hosts import Loads, OwnServer
from loadstone.experiments.scripts import ScriptTables
from loadstone.experiments.tables import tables_of
from loadstone.experiments.variants import Place
from loadstone.lab.step.runner import Lab, drive_step
from loadstone.lab.variables.put_back import PutBack, put_back
from loadstone.model.engine_plan import Layout
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import CgroupLimit, Experiment, NetworkLimit
from loadstone.model.plan import Plan, Step, WorkloadSpec
from loadstone.model.result import StepResult
from loadstone.model.target import Endpoint
from loadstone.mysql.facts import describe_server
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server
from loadstone.sandbox.network import why_not
from pooled import Pool

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(240)]

try:
    find_server("mariadb")
except SandboxError:
    pytest.skip("no MariaDB here", allow_module_level=True)

HEAD = """\
duration = "2s"
warmup = "200ms"
ladder = [8]
repeats = 2

[[workload]]
name = "oltp_update_non_index"
tables = 1
table_size = 500
"""
SESSIONS = '''\
dialect = "mysql"
[table.seen]
rows = 2
[table.seen.columns]
id = { type = "INT NOT NULL", sequence = true }
hits = { type = "INT NOT NULL", constant = 0 }
[transaction.count]
statements = [{ rows = 1, sql = """
  UPDATE seen SET hits = hits + 1 WHERE id = IF(@@SESSION.sort_buffer_size = 3145728, 2, 1)""" }]
'''
"""Counts transactions by what their session has."""

DYNAMIC = """\
[factor.durability.full]
[factor.durability.relaxed]
dynamic = { innodb_flush_log_at_trx_commit = 2, sync_binlog = 0 }
"""
RESTLESS = ("gtid", "timestamp", "last_", "innodb_buffer_pool_dump", "innodb_buffer_pool_load")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of the test's own, which must be empty at the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "state" / "loadstone"
    left = [each for each in tmp_path.glob("state/loadstone/sandboxes/*") if each.is_dir()]
    assert not [each for each in left if not each.is_symlink()]


@pytest.fixture
def durable(pool: Pool) -> Iterator[Sandbox]:
    """The pool's server that syncs at each commit."""
    with pool.schema(settings={}) as sandbox:
        yield sandbox


@pytest.fixture
def target(durable: Sandbox, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """The same server as a sandbox of the test's own state; its variables must be restored."""
    (state / "sandboxes").mkdir(parents=True)
    (state / "sandboxes" / durable.folder.name).symlink_to(durable.folder)
    monkeypatch.setenv("LOADSTONE_PASSWORD", durable.tcp.credentials.reveal())
    before = variables(durable)
    yield durable
    assert variables(durable) == before


def started(*arguments: str, said: Path) -> subprocess.Popen[bytes]:
    """Start it as a process of its own, as a signal needs."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with said.open("wb") as out:
        words = [sys.executable, "-m", "loadstone.cli", *arguments]
        return subprocess.Popen(words, stderr=out, env=environment)


def done(*arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    return called(*arguments, folder=Path.cwd(), code=code)


def variables(sandbox: Sandbox) -> dict[str, str]:
    with sandbox.connect() as connection:
        found = describe_server(connection, sandbox.tcp.target).variables
    return {name: value for name, value in found.items() if not name.startswith(RESTLESS)}


def against(sandbox: Sandbox) -> str:
    return f'{HEAD}[target]\nurl = "{sandbox.tcp.target.url}"\n{DYNAMIC}'


def only_run() -> Path:
    (run,) = Path("runs").iterdir()
    return run


@pytest.mark.smoke
def test_a_dynamic_factor_leaves_all_variables_as_they_were(target: Sandbox) -> None:
    before = variables(target)
    Path("d.toml").write_text(against(target).replace("2s", "1s"))
    said = done("experiment", "d.toml")
    assert "durability=relaxed against durability=full: " in said.stdout
    assert variables(target) == before
    steps = json.loads((only_run() / "result.json").read_text())["steps"]
    # With the log synced at each commit there are syncs; without, hardly any.
    syncs = {
        name: sum(
            step["server"]["rates"]["data_syncs"] / step["tps"]
            for step in steps
            if step["variant"] == f"durability={name}"
        )
        for name in ("full", "relaxed")
    }
    assert syncs["relaxed"] < 0.2 * syncs["full"]
    variants = json.loads((only_run() / "environment.json").read_text())["variants"]
    told = {name: found[0]["variables"]["sync_binlog"] for name, found in variants.items()}
    assert told == {"durability=full": "1", "durability=relaxed": "0"}
    assert "sync_binlog: full 1, relaxed 0" in done("compare", "last").stdout


def test_a_session_has_its_variables_and_the_server_does_not(target: Sandbox) -> None:
    before = variables(target)
    factor = '[factor.sort.usual]\n[factor.sort.large]\nsession = { sort_buffer_size = "3M" }\n'
    Path("own.toml").write_text(SESSIONS)
    done("prepare", "own.toml", "--target", target.tcp.target.url)
    head = HEAD.replace("2s", "1s").replace("oltp_update_non_index", "own.toml")
    head = 'restore = "none"\n' + head[: head.index("tables = 1")]
    url = f'[target]\nurl = "{target.tcp.target.url}"\n'
    Path("s.toml").write_text(head + url + factor)
    done("experiment", "s.toml")
    assert variables(target) == before
    hits = execute(target.local, "SELECT hits > 0 FROM seen ORDER BY id")
    assert hits == [(1,), (1,)]
    done("report", "last", "-o", "page.html")
    assert "session sort_buffer_size = 3M" in Path("page.html").read_text()
    assert "sort, session sort_buffer_size" in done("compare", "last").stdout


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_after_any_ending_the_variables_can_be_put_back_and_the_run_taken_up(
    target: Sandbox, number: signal.Signals
) -> None:
    before = variables(target)
    Path("d.toml").write_text(against(target).replace("2s", "1s"))
    with started("experiment", "d.toml", said=Path("said")) as run:
        wait_until_relaxed(target, run)
        run.send_signal(number)
    if number == signal.SIGKILL:
        assert variables(target)["sync_binlog"] == "0"
        assert "loadstone restore" in done("resume", code=3).stderr
        done("restore")
    assert variables(target) == before
    taken_up = done("resume", "--no-observe")
    told = taken_up.stdout.replace("\n", " ")
    assert re.search("step [23], which was not finished, is measured again", told), told
    steps = json.loads((only_run() / "result.json").read_text())["steps"]
    assert [step["step"] for step in steps][:4] == [1, 2, 3, 4]
    assert {step["state"] for step in steps} == {"finished"}
    assert variables(target) == before


def test_what_somebody_else_sets_meanwhile_is_a_note_and_an_exit_code(
    target: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = against(target).replace("2s", "500ms")
    changed = "dynamic = { max_connect_errors = 200 }\n"
    Path("d.toml").write_text(ours.replace(DYNAMIC.splitlines(keepends=True)[-1], changed))

    def while_it_is_driven(plan: Plan, step: Step, lab: Lab) -> StepResult:
        if step.variant == "durability=relaxed":
            execute(target.local, "SET GLOBAL max_connect_errors = 150")
        return drive_step(plan, step, lab)

    monkeypatch.setattr("loadstone.experiments.runner.drive_step", while_it_is_driven)
    try:
        said = done("experiment", "d.toml", "--no-observe", code=ExitCode.LEFT_CHANGED)
        assert variables(target)["max_connect_errors"] == "150"
    finally:
        execute(target.local, "SET GLOBAL max_connect_errors = 100")
    place = target.tcp.target.place
    left = f"{place}: set by another client since, and left: max_connect_errors"
    assert f"error: {left}\n" in said.stderr
    run = json.loads((only_run() / "result.json").read_text())["run"]
    assert (run["state"], left in run["notes"]) == ("finished", True)


def test_it_is_told_too_where_something_else_ends_the_experiment(
    target: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each variant is tried before the first step; later a condition cannot be watched."""
    changed = "dynamic = { max_connect_errors = 200 }\n"
    Path("d.toml").write_text(
        against(target).replace(DYNAMIC.splitlines(keepends=True)[-1], changed)
    )

    def after_somebody_else(*given: Any, **more: Any) -> PutBack:
        execute(target.local, "SET GLOBAL max_connect_errors = 150")
        return put_back(*given, **more)

    monkeypatch.setattr("loadstone.lab.variables.stage.put_back", after_somebody_else)
    asked = ("--abort-if", "replica_lag>5s")
    try:
        said = done("experiment", "d.toml", *asked, code=ExitCode.USAGE)
    finally:
        execute(target.local, "SET GLOBAL max_connect_errors = 100")
    place = target.tcp.target.place
    assert f"{place}: set by another client since, and left: max_connect_errors\n" in said.stderr
    assert "is no replica" in said.stderr


def test_an_experiment_whose_server_goes_says_that_variables_are_left(
    target: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Between(target.port) as between:
        ours = against(target).replace(f":{target.port}/", f":{between.port}/")
        changed = "dynamic = { max_connect_errors = 200 }\n"
        Path("d.toml").write_text(
            ours.replace("2s", "500ms").replace(DYNAMIC.splitlines(keepends=True)[-1], changed)
        )

        def while_it_goes(plan: Plan, step: Step, lab: Lab) -> StepResult:
            if step.variant == "durability=relaxed":
                between.shut = True
                between.cut()
            return drive_step(plan, step, lab)

        monkeypatch.setattr("loadstone.experiments.runner.drive_step", while_it_goes)
        words = ("experiment", "d.toml", "--no-observe", "--yes")
        said = done(*words, code=ExitCode.LEFT_CHANGED)
        assert "are not put back: " in said.stderr
        assert "hint:  as soon as that is over: loadstone restore" in said.stderr
        between.shut = False
        done("restore")


def test_after_an_error_the_variables_are_as_they_were(target: Sandbox) -> None:
    before = variables(target)
    Path("d.toml").write_text(against(target).replace("2s", "1s"))
    with started("experiment", "d.toml", said=Path("said")) as run:
        wait_until_relaxed(target, run)
        with target.connect() as connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE sbtest1")
    assert run.returncode == 3
    assert "sbtest1" in Path("said").read_text().splitlines()[-2]
    result = json.loads((only_run() / "result.json").read_text())
    assert result["run"]["state"] == "failed"
    assert variables(target) == before
    assert done("restore").stderr == "nothing to restore\n"


def wait_until_relaxed(target: Sandbox, run: subprocess.Popen[bytes]) -> None:
    """Wait until that variant's second step, step 3, is at work."""
    deadline = time.monotonic() + 90
    while "step 2 of 4" not in Path("said").read_text() or not is_relaxed(target):
        assert run.poll() is None, Path("said").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_relaxed(target: Sandbox) -> bool:
    return variables(target)["sync_binlog"] == "0"


def test_a_factor_of_the_start_is_measured_on_servers_that_were_started_with_it(
    state: Path,
) -> None:
    Path("r.toml").write_text(
        HEAD.replace("2s", "500ms").replace("update_non_index", "point_select")
        + '[sandbox]\nserver = "mariadb"\n[factor.pfs.off]\n'
        "[factor.pfs.on]\nstartup = { performance_schema = true }\n"
    )
    done("experiment", "r.toml", "--no-observe")
    found = json.loads((only_run() / "result.json").read_text())
    variants = [step["variant"] for step in found["steps"]]
    assert variants == ["pfs=off", "pfs=on", "pfs=on", "pfs=off"]
    by_variant: dict[str, set[str]] = {"pfs=off": set(), "pfs=on": set()}
    for step in found["steps"]:
        by_variant[step["variant"]].add(step["targets"][0]["target"])
    assert [len(urls) for urls in by_variant.values()] == [1, 1]
    environment = json.loads((only_run() / "environment.json").read_text())
    variables = [one["variables"] for one in environment["targets"]]
    assert [one["performance_schema"] for one in variables] == ["OFF", "ON"]
    device = os.stat(state).st_dev
    assert environment["data_device"] == f"{os.major(device)}:{os.minor(device)}"


def test_workloads_that_change_their_rows_find_them_as_they_were(state: Path) -> None:
    Path("w.toml").write_text(
        HEAD.replace("2s", "300ms").replace("update_non_index", "insert")
        + '[[workload]]\nname = "bulk_insert"\n[[workload]]\nname = "hot_row"\ntables = 1\n'
        f'[sandbox]\nserver = "mariadb"\n{DYNAMIC}'
    )
    done("experiment", "w.toml", "--no-observe")
    steps = json.loads((only_run() / "result.json").read_text())["steps"]
    # On a busy machine units may be measured again.
    assert [step["step"] for step in steps][:12] == list(range(1, 13))
    assert {step["state"] for step in steps} == {"finished"}
    # No key existed before; deadlocks of eight users on a row are not this test's subject.
    assert not [step for step in steps if step["errors"].keys() - {"1213", "1205", "1020"}]
    schemas = {step["workload"]: step["targets"][0]["target"] for step in steps}
    ends = {name: url.rpartition("/")[2].partition("?")[0] for name, url in schemas.items()}
    assert ends == {"oltp_insert": "sbtest", "bulk_insert": "sbtest_2", "hot_row": "sbtest_3"}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("dynamic = { sync_binlogg = 0 }", "the server has no such variable"),
        ("dynamic = { performance_schema = true }", "the server reads it only when it starts"),
        ("startup = { no_such_thing = 1 }", "the server has no such variable"),
        ("session = { sort_bufer_size = 1 }", "the server has no such variable"),
        ("session = { sync_binlog = 0 }", "a session cannot set it: "),
        ("session = { sort_buffer_size = 5 }", "right after it was set to 5"),
    ],
)
def test_a_variable_that_cannot_be_set_is_told_by_line(
    state: Path, setting: str, said: str
) -> None:
    text = HEAD + '[sandbox]\nserver = "mariadb"\n[factor.x.a]\n[factor.x.b]\n' + setting
    Path("v.toml").write_text(text)
    found = done("experiment", "v.toml", code=4)
    error = found.stderr.splitlines()[-2]
    assert error.startswith(f"error: v.toml:{len(text.splitlines())}: factor.x.b.")
    assert said in error
    assert not list(Path("runs").iterdir())


def own_server(place: Place) -> OwnServer:
    """A server whose data is restored from a copy."""
    workload = WorkloadSpec(name="oltp_delete", tables=1, table_size=3)
    experiment = Experiment(name="x", workloads=(workload,), ladder=(1,))

    def fill(layout: Layout, endpoint: Endpoint) -> None:
        execute(endpoint, "CREATE TABLE sbtest1 (id INT PRIMARY KEY)")
        execute(endpoint, "INSERT INTO sbtest1 VALUES (1), (2), (3)")

    scripts = ScriptTables(experiment, 1, print)
    tables = tables_of(experiment, engine.workloads())
    loads = Loads(tables, fill, lambda layout, endpoint: None, scripts, None, lambda said: None)
    return OwnServer(place, loads, "copy", restarts=True)


def execute(endpoint: Endpoint, statement: str) -> list[tuple[object, ...]]:
    from loadstone.families import connect

    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        connection.commit()
        return list(cursor.fetchall())


def test_data_is_as_it_was_when_a_block_begins(state: Path) -> None:
    server = own_server(Place(sandbox=SandboxSpec(server="mariadb")))
    try:
        server.prepare()
        server.settle()
        assert not server.sandbox.is_running()
        for _ in range(2):
            server.begin()
            endpoint = server.endpoint("socket")
            assert endpoint.target.socket is not None
            assert execute(endpoint, "SELECT COUNT(*) FROM sbtest1") == [(3,)]
            execute(endpoint, "DELETE FROM sbtest1")
        server.rest()
        assert not server.sandbox.is_running()
    finally:
        server.close()


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/sys/fs/cgroup/cpu/cgroup.procs").exists(),
    reason="needs root and version 1 of cgroups",
)
def test_an_instance_has_the_size_that_was_asked_for(state: Path) -> None:
    limit = CgroupLimit(cores=0.5, memory_bytes=2**30)
    server = own_server(Place(sandbox=SandboxSpec(server="mariadb"), cgroup=limit))
    try:
        server.prepare()
        server.settle()
        server.begin()
        groups = Path(f"/proc/{server.sandbox.pid}/cgroup").read_text().splitlines()
        at = {line.split(":")[1]: line.split(":", 2)[2] for line in groups}
        cpu, memory = Path(f"/sys/fs/cgroup/cpu{at['cpu']}"), at["memory"]
        assert cpu.name.startswith("loadstone-")
        assert (cpu / "cpu.cfs_quota_us").read_text() == "50000\n"
        read = Path(f"/sys/fs/cgroup/memory{memory}/memory.limit_in_bytes").read_text()
        assert int(read) == 2**30
        # A loop of one core gets half of it.
        before, began = cpu_s(server.sandbox.pid), time.monotonic()
        execute(server.endpoint(None), "SELECT BENCHMARK(3000000, MD5('x'))")
        used, took = cpu_s(server.sandbox.pid) - before, time.monotonic() - began
        assert used / took < 0.6
        assert used > 0.3
    finally:
        server.close()
    assert not cpu.exists()


RATE = 1_000_000
"""Events a second of the slow line, so few that a busy machine exceeds them."""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_line_is_as_slow_as_its_level_says(state: Path) -> None:
    limit = NetworkLimit(bits_per_s=RATE)
    refused = why_not(limit)
    if refused:
        pytest.skip(f"not evaluated: {refused[1]}")
    text = HEAD.replace("2s", "500ms").replace("update_non_index", "point_select")
    lines = '[factor.line.fast]\n[factor.line.slow]\nnetwork = { rate = "1Mbit" }\n'
    Path("n.toml").write_text(f'{text}[sandbox]\nserver = "mariadb"\n{lines}')
    done("experiment", "n.toml")
    steps = json.loads((only_run() / "result.json").read_text())["steps"]
    assert [step["variant"] for step in steps][:4] == [
        f"line={name}" for name in ("fast", "slow", "slow", "fast")
    ]
    (url,) = {step["targets"][0]["target"] for step in steps}
    assert "@10.255." in url, "one server for both, and the way to it is the line"
    bits = {"line=fast": 0.0, "line=slow": 0.0}
    for step in steps:
        assert step["state"] == "finished"
        assert step["host"]["process_cpu_user"] is not None, "its process is found over there"
        rate = 8 * step["bytes_in"] / step["seconds"]
        bits[step["variant"]] = max(bits[step["variant"]], rate)
    # Bytes of the protocol: the line carries packet headers as well.
    # What the sockets had buffered before the window is no more than half of what passes in it.
    assert 0.3 * RATE < bits["line=slow"] < 1.5 * RATE < bits["line=fast"]
    assert not list(Path("/run/netns").glob(f"loadstone-{os.getpid()}-*")), "others may be at work"


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
