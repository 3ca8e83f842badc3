"""Real servers: the worker's own that tests share, and a state folder where one is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox
from loadstone.sandbox.processes import servers_of
from pooled import KINDS, Pool, need


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> str:
    """The server's name, where one is installed or fetched."""
    return need(str(request.param))


@pytest.fixture(scope="session")
def mariadb() -> str:
    """For what is the same with each server, and is looked at with the one that starts faster."""
    return need("mariadb")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of sandboxes; at the end nothing may be left in it, nor running from it."""
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
    """A server as it is when nobody sets anything, for tests that only look at it."""
    return pool.server(server, {})


@pytest.fixture
def schema(pool: Pool, server: str) -> Iterator[Sandbox]:
    """A server with an empty schema of the test's own."""
    with pool.schema(server) as own:
        yield own
