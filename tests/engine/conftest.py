"""One server of each kind for all tests of the engine, with two small tables in its schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from engine.driving import a_load, load, local
from engine.servers import QUICK, execute, methods_of, wait_until_nobody
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox

SERVERS = ["mariadb", pytest.param("mysql", marks=pytest.mark.mysql)]

on_mariadb = pytest.mark.parametrize("server", SERVERS[:1], indirect=True)
on_mysql = pytest.mark.parametrize("server", SERVERS[1:], indirect=True)

Start = Callable[..., Sandbox]


@pytest.fixture(scope="package", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Sandboxes of these tests live in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    """The server's name, where one is installed or fetched."""
    name = str(request.param)
    try:
        find_server(name)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return name


@pytest.fixture(scope="package")
def farm(state: None) -> Iterator[Callable[[str], Sandbox]]:
    """One server of each kind, started when it is first wanted."""
    running: dict[str, Sandbox] = {}
    with ExitStack() as stack:

        def of_kind(kind: str) -> Sandbox:
            if kind not in running:
                spec = SandboxSpec(server=kind, auth=methods_of(kind), settings=QUICK)
                running[kind] = stack.enter_context(start_sandbox(spec))
                load(a_load(local(running[kind]))).finished()
            return running[kind]

        yield of_kind


@pytest.fixture
def shared(server: str, farm: Callable[[str], Sandbox]) -> Sandbox:
    """A running server with `sbtest1` and `sbtest2`, for tests that leave it as it was."""
    return farm(server)


@pytest.fixture
def quiet(shared: Sandbox) -> Sandbox:
    """The shared server when nobody is connected to it, so that its counters are the test's."""
    wait_until_nobody(shared)
    return shared


@pytest.fixture
def start(server: str) -> Iterator[Start]:
    """Starts a server of the test's own, which ends with the test."""
    with ExitStack() as stack:

        def start_one(settings: dict[str, str] | None = None, **spec: Any) -> Sandbox:
            asked = SandboxSpec(server=server, settings=QUICK | (settings or {}), **spec)
            return stack.enter_context(start_sandbox(asked))

        yield start_one


@pytest.fixture
def schema(shared: Sandbox) -> Iterator[str]:
    """An empty schema of the test's own on the shared server."""
    name = "own_schema"
    execute(shared, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
    yield name
    execute(shared, f"DROP DATABASE IF EXISTS {name}")
