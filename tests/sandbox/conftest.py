"""Real servers: the worker's shared ones, and a state folder for tests that start one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox
from loadstone.sandbox.processes import servers_of
from pooled import KINDS, Pool, need


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> str:
    """The name of each server; skips where it is neither installed nor fetched."""
    return need(str(request.param))


@pytest.fixture(scope="session")
def mariadb() -> str:
    """MariaDB, for what is the same with each server: it starts faster."""
    return need("mariadb")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of sandboxes; at the end it must be empty, and no process of it be left."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "loadstone" / "sandboxes"
    yield folder
    left = [entry for entry in folder.glob("*") if entry.is_dir()]
    running = [mark for entry in left for mark in servers_of(entry / "data")]
    for mark in running:
        mark.signal(9)  # type: ignore[arg-type]
    assert (left, running) == ([], [])


@pytest.fixture(scope="module")
def shared(pool: Pool, server: str) -> Sandbox:
    """A server with default settings, for tests that only read."""
    return pool.server(server, {})


@pytest.fixture
def schema(pool: Pool, server: str) -> Iterator[Sandbox]:
    """A server with an empty schema of the test's own."""
    with pool.schema(server) as own:
        yield own
