"""Real servers, in a state folder of the tests' own: nothing else's sandbox is ever touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.processes import servers_of

SERVERS = ["mariadb", pytest.param("mysql", marks=pytest.mark.mysql)]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    """The server's name, where one is installed or fetched."""
    name = str(request.param)
    try:
        find_server(name)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return name


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
def shared(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One running server for the tests of a module that only look at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with start_sandbox(SandboxSpec(server=server, auth=methods_of(server))) as sandbox:
            yield sandbox


def methods_of(server: str) -> tuple[str, ...]:
    """The login methods that this server has here."""
    from loadstone.sandbox.binaries import mariadb_plugins

    if server == "mysql":
        return ("caching_sha2_password", "sha256_password")
    native = ("mysql_native_password",)
    return (*native, "ed25519") if mariadb_plugins() is not None else native
