"""A password that goes to other machines over Ray, searched for in all that Ray keeps and shows."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from cluster.nodes import Nodes, two_nodes
from cluster.test_on_ray import finished, wait_for_load, words
from loadstone import engine
from loadstone.model.null_server import NullServerSettings
from loadstone.sandbox import Sandbox
from trust.searching import files_below, found_in
from trust.summing import execute
from trust.tally import COUNTS

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-cluster"
    ),
]

SECRET = "kV9z-Unique.Secret_73"


@pytest.fixture(autouse=True)
def counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """The test's record for `make trust`."""
    COUNTS.clear()
    yield
    for what, number in COUNTS.items():
        record_property(what, number)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    yield from two_nodes(tmp_path_factory.mktemp("ray"))


@pytest.fixture
def server() -> Iterator[engine.NullServer]:
    running = engine.null_server(NullServerSettings())
    yield running
    running.stop()


def kept_by_ray(nodes: Nodes) -> Path:
    """The folder of its sessions, with their logs."""
    (folder,) = {
        word.partition("=")[2]
        for node in nodes.nodes.values()
        for word in psutil.Process(node.process.pid).cmdline()
        if word.startswith("--temp-dir=")
    }
    return Path(folder)


def shown(nodes: Nodes) -> Iterator[tuple[str, bytes]]:
    """What every user of the machine can see of Ray's processes and the generators."""
    for node in nodes.nodes.values():
        for process in node.processes:
            for file in ("cmdline", "environ", "comm"):
                with contextlib.suppress(OSError):
                    place = Path(f"/proc/{process.pid}/{file}")
                    yield str(place), place.read_bytes()


MARKER = "the-head-of-a-large-template"
LARGE = f"""
[transaction.look]
autocommit = true
statements = ["SELECT 1 /* {MARKER} {"x" * 300_000} */"]
"""
"""Above the size that Ray sends inline with a call: it goes through the object store."""


def object_stores(nodes: Nodes) -> Iterator[tuple[str, bytes]]:
    """Each node's shared memory, which Ray would write to disk if it were full."""
    for node in nodes.nodes.values():
        for process in node.processes:
            for place in Path(f"/proc/{process.pid}/fd").glob("*"):
                with contextlib.suppress(OSError):
                    if "plasma" in str(place.readlink()):
                        yield f"{place} {place.readlink()}", place.read_bytes()


@pytest.mark.server
def test_the_object_store_has_no_password(
    nodes: Nodes, own_schema: Sandbox, tmp_path: Path
) -> None:
    execute(
        own_schema,
        f"CREATE USER keeper@'%' IDENTIFIED BY '{SECRET}'",
        "GRANT ALL ON *.* TO keeper@'%'",
    )
    try:
        (tmp_path / "large.toml").write_text(LARGE)
        place = f"127.0.0.1:{own_schema.port}/{own_schema.state.database}"
        program = nodes.loadstone(
            "run", str(tmp_path / "large.toml"), "--target", f"mysql://keeper:{SECRET}@{place}",
            "--concurrency", "4", "--warmup", "0s", "--duration", "2s", "--no-observe", "--json",
            "--cluster", nodes.address,
        )  # fmt: skip
        assert len(finished(program)["generators"]) == 2
    finally:
        execute(own_schema, "DROP USER keeper@'%'")
    stores = list(object_stores(nodes))
    # Nothing is overwritten there while there is room: each node still has the document.
    assert sum(MARKER.encode() in data for _, data in stores) >= 2
    assert found_in(SECRET, [*stores, *files_below(kept_by_ray(nodes))]) == []


def test_ray_keeps_and_shows_no_password(nodes: Nodes, server: engine.NullServer) -> None:
    target = f"mysql://u:{SECRET}@127.0.0.1:{server.port}/sbtest"
    asked = [target if word.startswith("mysql://") else word for word in words(server, 3)]
    program = nodes.loadstone(*asked, "--cluster", nodes.address)
    wait_for_load(server, program)
    seen = list(shown(nodes))
    step = finished(program)
    assert len(step["generators"]) == 2
    logs = list(files_below(kept_by_ray(nodes)))
    assert any(name.endswith(".log") for name, _ in logs)
    assert found_in(SECRET, [*seen, *logs, *files_below(nodes.folder)]) == []
