"""Real Ray, two nodes on this machine, and what becomes of a load when one of them is gone."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.nodes import HEAD, OTHER, Nodes, two_nodes
from loadstone import engine
from loadstone.model.exit_codes import ExitCode
from loadstone.model.null_server import NullServerSettings

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-cluster"
    ),
]

USERS = 64
RATE = 1000
"""Events a second, of an open loop: a machine with other work on it still keeps up."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    yield from two_nodes(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def server() -> Iterator[engine.NullServer]:
    running = engine.null_server(NullServerSettings())
    yield running
    with contextlib.suppress(engine.NullServerError):
        running.stop()


def words(server: engine.NullServer, duration_s: int, *more: str) -> list[str]:
    return [
        "run", "oltp_point_select", "--target", f"mysql://u@127.0.0.1:{server.port}/sbtest",
        "--tls", "disabled", "--concurrency", str(USERS), "--rate", str(RATE),
        "--arrivals", "uniform", "--warmup", "0s", "--duration", f"{duration_s}s", "--no-observe",
        "--json", *more,
    ]  # fmt: skip


def finished(program: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
    """The one step of its result."""
    out, err = program.communicate(timeout=90)
    assert program.returncode == code, err
    (step,) = json.loads(out)["steps"]
    assert isinstance(step, dict)
    return step


def wait_for_load(server: engine.NullServer, program: subprocess.Popen[str]) -> None:
    """Until all users send statements."""
    deadline = time.monotonic() + 60
    while server.stats().executes < 10 * USERS:
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < deadline, "no load came"
        time.sleep(0.1)


def wait_for_silence(server: engine.NullServer, limit_s: float) -> None:
    """Within the limit the last connection is gone, and nothing comes from then on."""
    deadline = time.monotonic() + limit_s
    while server.stats().open:
        assert time.monotonic() < deadline, "somebody still drives"
        time.sleep(0.1)
    sent = server.stats().executes
    time.sleep(1.0)
    assert server.stats().executes == sent


def test_the_nodes_say_what_they_are(nodes: Nodes) -> None:
    program = nodes.loadstone("cluster", "check", nodes.address, "--json")
    out, err = program.communicate(timeout=90)
    assert program.returncode == 0, err
    found = json.loads(out)
    assert [node["node"] for node in found["nodes"]] == [HEAD, OTHER]
    assert found["users"] > 0


def test_two_generators_make_the_load_of_one(nodes: Nodes, server: engine.NullServer) -> None:
    together = finished(nodes.loadstone(*words(server, 4, "--cluster", nodes.address)))
    counted = server.stats().executes
    assert together["events"] == counted == together["tally"]["succeeded"]
    first, second = together["generators"]
    assert (first["node"], second["node"]) == (HEAD, OTHER)
    assert (first["users"], second["users"]) == (USERS // 2, USERS // 2)
    assert first["events"] + second["events"] == together["events"]
    assert first["seconds_lost"] == second["seconds_lost"] == 0
    server.flush()
    alone = finished(nodes.loadstone(*words(server, 4)))
    assert alone["events"] == server.stats().executes
    assert together["tps"] == pytest.approx(alone["tps"], rel=0.02)


def test_fewer_nodes_than_asked_for_is_one_line(nodes: Nodes, server: engine.NullServer) -> None:
    more = ("--cluster", nodes.address, "--generators", "3")
    program = nodes.loadstone(*words(server, 1, *more))
    _, err = program.communicate(timeout=60)
    assert program.returncode == ExitCode.CLUSTER
    assert f"has 2: {HEAD} (1 CPUs), {OTHER} (1 CPUs)" in err
    assert "Traceback" not in err


def test_a_generator_that_stands_still_is_lost_and_the_step_goes_on(
    nodes: Nodes, server: engine.NullServer
) -> None:
    program = nodes.loadstone(*words(server, 9, "--cluster", nodes.address))
    wait_for_load(server, program)
    (stalled,) = nodes.nodes[OTHER].generators()
    stalled.send_signal(signal.SIGSTOP)
    step = finished(program)
    with contextlib.suppress(Exception):
        stalled.send_signal(signal.SIGCONT)
    first, second = step["generators"]
    assert (step["state"], first["lost"], first["seconds_lost"]) == ("finished", None, 0)
    assert "did not answer" in second["lost"]
    assert second["seconds_lost"] > 0
    assert any(f"generator 1 on {OTHER} was lost" in note for note in step["notes"])
    wait_for_silence(server, 10.0)


def test_without_its_head_no_generator_drives_on(nodes: Nodes, server: engine.NullServer) -> None:
    program = nodes.loadstone(*words(server, 60, "--cluster", nodes.address))
    wait_for_load(server, program)
    program.kill()
    program.communicate()
    wait_for_silence(server, 10.0)


def test_a_node_that_dies_ends_the_run_or_not_by_policy(
    nodes: Nodes, server: engine.NullServer, tmp_path: Path
) -> None:
    more = ("--cluster", nodes.address, "--on-node-loss", "repeat", "--out", str(tmp_path))
    program = nodes.loadstone(*words(server, 6, *more))
    wait_for_load(server, program)
    nodes.nodes.pop(OTHER).kill()
    out, err = program.communicate(timeout=90)
    assert program.returncode == 0, err
    lost, again = json.loads(out)["steps"]
    assert (lost["state"], lost["error"]["kind"]) == ("failed", "generator_lost")
    assert (again["state"], again["step"]) == ("finished", 2)
    (only,) = again["generators"]
    assert (only["node"], only["users"]) == (HEAD, USERS)
