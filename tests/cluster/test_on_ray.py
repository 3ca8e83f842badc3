"""Real Ray, two nodes on this machine, and a load that goes on or ends when one of them is gone."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from called import called
from cluster.nodes import HEAD, OTHER, PATIENCE_S, THIRD, Nodes, two_nodes
from experiment.test_mixes_and_files import FILE as MIX
from experiment.test_mixes_and_files import SHOP
from kept import Stopwatch
from loadstone import engine
from loadstone.cluster.polling import SILENCE_S
from loadstone.model.control import SetRate, SetUsers, StopRun
from loadstone.model.exit_codes import ExitCode
from loadstone.model.null_server import NullServerSettings
from loadstone.runs import control_requests
from loadstone.sandbox import Sandbox

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-cluster"
    ),
]

LOG = "null-server.csv"
SILENT_BY_S = 60.0
"""Leases of four seconds are over long before; a load that ignores them lasts longer."""
LONG_S = 250
USERS = 64
RATE = 1000
"""Events a second, of an open loop: a machine with other work on it still keeps up."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    yield from two_nodes(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[engine.NullServer]:
    running = engine.null_server(NullServerSettings(log=tmp_path / LOG))
    yield running
    with contextlib.suppress(engine.NullServerError):
        running.stop()


def answered(server: engine.NullServer, folder: Path) -> list[dict[str, int | str]]:
    """Statements that the server answered to virtual users, by its own log; stops the server."""
    assert server.stop().log_lost == 0
    with (folder / LOG).open() as log:
        return [
            {name: int(value) if value.isdigit() else value for name, value in row.items()}
            for row in csv.DictReader(log)
            if row["kind"] == "execute"
        ]


def words(server: engine.NullServer, duration_s: int, *more: str) -> list[str]:
    return [
        "run", "oltp_point_select", "--target", f"mysql://u@127.0.0.1:{server.port}/sbtest",
        "--tls", "disabled", "--concurrency", str(USERS), "--rate", str(RATE),
        "--arrivals", "uniform", "--warmup", "0s", "--duration", f"{duration_s}s", "--no-observe",
        "--json", *more,
    ]  # fmt: skip


def finished(program: subprocess.Popen[str], watch: Stopwatch | None = None) -> dict[str, Any]:
    """The only step of a program's result; `watch` shows how long the program waited for a core."""
    out, err = ended(program, watch)
    assert program.returncode == 0, err
    (step,) = json.loads(out)["steps"]
    assert isinstance(step, dict)
    return step


def ended(program: subprocess.Popen[str], watch: Stopwatch | None = None) -> tuple[str, str]:
    """Output of a program that ended by itself."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return program.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            assert time.monotonic() < deadline, "it does not end"
            if watch is not None:
                watch.look()


def wait_for_load(server: engine.NullServer, program: subprocess.Popen[str]) -> None:
    """Until all users send statements."""
    deadline = time.monotonic() + PATIENCE_S
    while server.stats().executes < 10 * USERS:
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < deadline, "no load came"
        time.sleep(0.1)


def wait_for_silence(server: engine.NullServer) -> None:
    """Wait for the last connection to go, within a minute; nothing may be answered after that."""
    deadline = time.monotonic() + SILENT_BY_S
    while server.stats().open:
        assert time.monotonic() < deadline, "somebody still drives"
        time.sleep(0.1)
    sent = server.stats().executes
    time.sleep(1.0)
    assert server.stats().executes == sent


def test_the_nodes_say_what_they_are(nodes: Nodes) -> None:
    program = nodes.loadstone("cluster", "check", nodes.address, "--json", "--target", "127.0.0.1")
    out, err = ended(program)
    assert program.returncode == 0, err
    found = json.loads(out)
    assert [node["node"] for node in found["nodes"]] == [HEAD, OTHER]
    assert found["users"] > 0
    for node in found["nodes"]:
        assert node["ray"] and node["machine"]["kernel"]["release"]
        assert node["line"]["interface"] == "lo"
        assert node["queries_per_core"] > 1000
    least = min(node["queries_per_core"] for node in found["nodes"])
    assert found["queries_per_s"] == pytest.approx(0.8 * 2 * least)


def test_two_generators_make_the_load_of_one(nodes: Nodes, server: engine.NullServer) -> None:
    watch = Stopwatch()
    together = finished(nodes.loadstone(*words(server, 4, "--cluster", nodes.address)))
    counted = server.stats().executes
    assert together["tally"]["succeeded"] == counted
    # What was in flight when the window ended counts in no figure.
    assert counted - USERS <= together["events"] <= counted
    first, second = together["generators"]
    assert (first["node"], second["node"]) == (HEAD, OTHER)
    assert (first["users"], second["users"]) == (USERS // 2, USERS // 2)
    assert first["events"] + second["events"] == together["events"]
    assert first["seconds_lost"] == second["seconds_lost"] == 0
    server.flush()
    alone = finished(nodes.loadstone(*words(server, 4)))
    assert alone["tally"]["succeeded"] == server.stats().executes
    # Both match the requested rate, except for what was due at the end while the server, which is
    # in this process, or a generator waited for a core.
    for step in (together, alone):
        assert step["tally"]["due"] == 4 * RATE
        generators_s = 4 * 2 * step["generator"]["run_delay_share"]
        most_left = RATE * (0.1 + watch.kept_s + generators_s)
        assert 4 * RATE - step["tally"]["succeeded"] <= most_left


def begun_run(folder: Path, program: subprocess.Popen[str]) -> Path:
    """The folder of the run that the program has started."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := list(folder.glob("*/journal.jsonl"))):
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < deadline, "no run was begun"
        time.sleep(0.1)
    (journal,) = found
    return journal.parent


def test_rate_users_and_end_of_a_running_step_are_asked_of_all_generators(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    program = nodes.loadstone(*words(server, LONG_S, "--cluster", nodes.address, "--out", str(out)))
    run = begun_run(out, program)
    wait_for_load(server, program)
    control_requests.ask(run, SetRate(step=1, rate=RATE / 10))
    control_requests.ask(run, SetUsers(step=1, users=1))
    control_requests.ask(run, SetUsers(step=1, users=4))
    deadline = time.monotonic() + PATIENCE_S
    while (run / control_requests.FOLDER).exists() and any(
        (run / control_requests.FOLDER).iterdir()
    ):
        assert time.monotonic() < deadline, "nobody looks for wishes"
        time.sleep(0.1)
    time.sleep(2.0)
    control_requests.ask(run, StopRun())
    out_text, err = ended(program)
    assert program.returncode == ExitCode.INTERRUPTED, err
    (step,) = json.loads(out_text)["steps"]
    changed = [(change["what"], change["value"]) for change in step["changes"]]
    assert changed == [("rate", RATE / 10), ("users", 4)]
    assert any(f"users: 2 to {USERS} in this step" in note for note in step["notes"])
    assert step["tally"]["succeeded"] == server.stats().executes
    assert server.stats().open == 0


EXPERIMENT = """\
name = "two"
duration = "1s"
warmup = "0s"
ladder = [4]
repeats = 2

[target]
url = "mysql://u@127.0.0.1:{port}/sbtest"

[cluster]
address = "{address}"
on_node_loss = "stop"

[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 1000

[factor.protocol.prepared]
[factor.protocol.text]
client = {{ prepared = false }}
"""


def test_an_experiment_is_driven_from_all_nodes(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(EXPERIMENT.format(port=server.port, address=nodes.address))
    out = ("--out", str(tmp_path / "runs"))
    program = nodes.loadstone("experiment", str(file), "--no-observe", "--json", *out)
    text, err = ended(program)
    assert program.returncode == 0, err
    found = json.loads(text)
    protocols = [step["variant"].removeprefix("protocol=") for step in found["steps"]]
    assert protocols == ["prepared", "text", "text", "prepared"]
    for step in found["steps"]:
        assert [(one["node"], one["users"]) for one in step["generators"]] == [
            (HEAD, 2),
            (OTHER, 2),
        ]
    events = {name: 0 for name in protocols}
    for name, step in zip(protocols, found["steps"], strict=True):
        events[name] += step["tally"]["succeeded"]
    counted = server.stats()
    assert events["prepared"] == counted.executes
    assert events["text"] <= counted.queries
    (run,) = (tmp_path / "runs").iterdir()
    kept = json.loads((run / "environment.json").read_text())["generators"]
    assert [one["node"] for one in kept] == [HEAD, OTHER]


def driven(nodes: Nodes, *words: str) -> list[dict[str, Any]]:
    """The steps of an experiment on a server that both nodes drive in phases."""
    program = nodes.loadstone(*words, "--cluster", nodes.address, "--yes", "--no-observe", "--json")
    text, err = ended(program)
    assert program.returncode == 0, err
    steps: list[dict[str, Any]] = json.loads(text)["steps"]
    for step in steps:
        assert [one["node"] for one in step["generators"]] == [HEAD, OTHER]
        assert step["events"] == sum(member["events"] for member in step["members"])
        assert step["events"] == sum(one["events"] for one in step["generators"])
        assert all(member["tally"]["succeeded"] > 0 for member in step["members"])
    return steps


@pytest.fixture
def target(own_schema: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """A server whose password the program finds."""
    monkeypatch.setenv("LOADSTONE_PASSWORD", own_schema.tcp.credentials.reveal())
    return own_schema


@pytest.mark.nightly
def test_an_experiment_of_a_mix_with_a_file_goes_by_phases_on_all_nodes(
    nodes: Nodes, target: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "shop.toml").write_text(SHOP)
    file = tmp_path / "both.toml"
    file.write_text(f'{MIX}[target]\nurl = "{target.tcp.target.url}"\n')
    sizes = ("--tables", "1", "--table-size", "200")
    for workload in (("shop.toml",), ("oltp_read_only", *sizes)):
        called("prepare", *workload, "--target", target.tcp.target.url, folder=tmp_path)
    steps = driven(nodes, "experiment", str(file), "--out", str(tmp_path / "runs"))
    assert len(steps) >= 2 * 2
    for step in steps:
        assert [one["users"] for one in step["generators"]] == [3, 3]
        assert [member["name"] for member in step["members"]] == ["shop", "report"]
        assert [phase["name"] for phase in step["phases"]] == ["warm", "busy"]


@pytest.mark.nightly
def test_a_recipe_of_a_mix_with_a_file_goes_by_phases_on_all_nodes(
    nodes: Nodes, target: Sandbox, tmp_path: Path
) -> None:
    given = ("phases=warm 1s 2, sale 1s 2..8", "customers=3", "repeats=2", "rows=1k")
    steps = driven(
        nodes, "recipes", "run", "sale-day", "--quick", "--out", str(tmp_path / "runs"),
        *(f"--set={one}" for one in (*given, f"target={target.tcp.target.url}")),
    )  # fmt: skip
    assert {step["variant"] for step in steps} == {"durability=full", "durability=relaxed"}
    for step in steps:
        assert [one["users"] for one in step["generators"]] == [6, 5]
        assert [member["name"] for member in step["members"]] == ["shop", "sale"]
        assert [phase["name"] for phase in step["phases"]] == ["warm", "sale"]


@pytest.mark.nightly
def test_a_search_is_driven_from_all_nodes(nodes: Nodes, server: engine.NullServer) -> None:
    server.set_script('{"service": {"kind": "constant", "us": 5000}}')
    program = nodes.loadstone(
        "run", "oltp_point_select", "--target", f"mysql://u@127.0.0.1:{server.port}/sbtest",
        "--tls", "disabled", "--concurrency", "2", "--slo", "p50<1s", "--warmup", "0s",
        "--duration", "500ms", "--no-observe", "--json", "--cluster", nodes.address,
    )  # fmt: skip
    out, err = ended(program)
    assert program.returncode == 0, err
    found = json.loads(out)
    assert found["run"]["search"]["complete"]
    # Two users that wait 5 ms for each answer do at most 400 events a second.
    assert 0 < found["run"]["search"]["rate"]["value"] <= 1.1 * 400
    assert {len(step["generators"]) for step in found["steps"]} == {2}


def test_fewer_nodes_than_asked_for_is_one_line(nodes: Nodes, server: engine.NullServer) -> None:
    more = ("--cluster", nodes.address, "--generators", "3")
    program = nodes.loadstone(*words(server, 1, *more))
    _, err = ended(program)
    assert program.returncode == ExitCode.CLUSTER
    assert f"has 2: {HEAD} (1 CPUs), {OTHER} (1 CPUs)" in err
    assert "Traceback" not in err


def test_a_generator_that_stands_still_is_lost_and_the_step_goes_on(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    program = nodes.loadstone(*words(server, 15, "--cluster", nodes.address))
    wait_for_load(server, program)
    (stalled,) = nodes.nodes[OTHER].generators()
    stalled.send_signal(signal.SIGSTOP)
    watch = Stopwatch(program.pid)
    step = finished(program, watch)
    continued_ns = time.monotonic_ns()
    with contextlib.suppress(Exception):
        stalled.send_signal(signal.SIGCONT)
    first, second = step["generators"]
    assert (step["state"], first["lost"], first["seconds_lost"]) == ("finished", None, 0)
    (silent_s,) = re.findall(r"did not answer for ([\d.]+) s", second["lost"])
    # It looks ten times a second, and subtracts the time for which it could not look.
    assert SILENCE_S <= float(silent_s) < SILENCE_S + 0.5 + watch.kept_s
    assert second["seconds_lost"] > 0
    assert any(f"generator 1 on {OTHER} was lost" in note for note in step["notes"])
    # Events that waited in the stopped generator are given up: they are no longer needed.
    wait_for_silence(server)
    assert max(int(row["received_ns"]) for row in answered(server, tmp_path)) < continued_ns


def test_without_its_head_no_generator_drives_on(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    program = nodes.loadstone(*words(server, LONG_S, "--cluster", nodes.address))
    wait_for_load(server, program)
    killed_ns = time.monotonic_ns()
    program.kill()
    program.communicate()
    wait_for_silence(server)
    last_ns = max(int(row["received_ns"]) for row in answered(server, tmp_path))
    # The load continued without the head, and ended by itself.
    assert killed_ns < last_ns < killed_ns + 1e9 * SILENT_BY_S


def test_a_node_that_dies_is_missed_for_the_rest_of_the_step(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    program = nodes.loadstone(*words(server, 12, "--cluster", nodes.address))
    wait_for_load(server, program)
    nodes.nodes.pop(OTHER).kill()
    killed_ns = time.monotonic_ns()
    try:
        step = finished(program)
    finally:
        nodes.start(OTHER, f"--address={nodes.address}")
        nodes.wait_until_started(OTHER)
    first, second = step["generators"]
    assert (step["state"], first["lost"], first["seconds_lost"]) == ("finished", None, 0)
    assert second["lost"] and 0 < second["seconds_lost"] <= 12
    (note,) = (note for note in step["notes"] if f"generator 1 on {OTHER} was lost" in note)
    assert f"and {USERS // 2} users with it" in note
    log = answered(server, tmp_path)
    last_ns = {row["connection"]: int(row["received_ns"]) for row in log}
    went_on = [at_ns for at_ns in last_ns.values() if at_ns > killed_ns + 1_000_000_000]
    assert 0 < len(went_on) <= USERS // 2


@pytest.mark.nightly
def test_a_node_that_dies_ends_the_run_or_not_by_policy(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    more = ("--cluster", nodes.address, "--on-node-loss", "repeat", "--out", str(tmp_path / "runs"))
    program = nodes.loadstone(*words(server, 12, *more))
    wait_for_load(server, program)
    nodes.nodes.pop(OTHER).kill()
    killed_ns = time.monotonic_ns()
    out, err = ended(program)
    assert program.returncode == 0, err
    found = json.loads(out)
    (again,) = found["steps"]
    assert (again["state"], again["step"]) == ("finished", 1)
    assert any(note.startswith("step 1 is measured again: ") for note in found["run"]["notes"])
    (only,) = again["generators"]
    assert (only["node"], only["users"]) == (HEAD, USERS)
    # Nothing came from the dead node's connections after it died, except what was already sent.
    silent_ns = killed_ns + 1_000_000_000
    log = answered(server, tmp_path)
    last_ns = {row["connection"]: int(row["received_ns"]) for row in log}
    assert sum(at_ns <= silent_ns for at_ns in last_ns.values()) >= USERS // 2
    of_again = {row["connection"] for row in log if int(row["received_ns"]) > silent_ns}
    assert len(of_again) <= USERS // 2 + USERS


@pytest.mark.nightly
def test_a_node_with_another_version_is_refused_before_anything_is_driven(
    nodes: Nodes, server: engine.NullServer
) -> None:
    nodes.start(THIRD, f"--address={nodes.address}", source=nodes.another_version())
    nodes.wait_until_started(THIRD)
    program = nodes.loadstone(*words(server, 1, "--cluster", nodes.address))
    _, err = ended(program)
    assert program.returncode == ExitCode.CLUSTER
    assert f"{THIRD} has 0.0.0.another (engine" in err
    assert "install the same version on each node" in err
    assert server.stats().logins == 0


@pytest.mark.nightly
def test_without_the_heads_machine_no_generator_drives_on(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    # The last test of all: its victim is the cluster.
    if THIRD in nodes.nodes:
        nodes.nodes.pop(THIRD).kill()
    if OTHER not in nodes.nodes:
        nodes.start(OTHER, f"--address={nodes.address}")
        nodes.wait_until_started(OTHER)
    program = nodes.loadstone(*words(server, LONG_S, "--cluster", nodes.address))
    wait_for_load(server, program)
    program.kill()
    nodes.nodes[HEAD].kill()
    killed_ns = time.monotonic_ns()
    program.communicate()
    wait_for_silence(server)
    last_ns = max(int(row["received_ns"]) for row in answered(server, tmp_path))
    # What the other node's generator drove was not cut off: it ended by itself.
    assert killed_ns < last_ns < killed_ns + 1e9 * SILENT_BY_S
