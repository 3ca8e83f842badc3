"""The pool's server of each kind, with two small tables, for all tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from engine.driving import a_load, load, local
from engine.servers import execute, wait_until_nobody
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from pooled import KINDS, QUICK, Pool, need, on_schema

on_mariadb = pytest.mark.parametrize("server", KINDS[:1], indirect=True)
on_mysql = pytest.mark.parametrize("server", KINDS[1:], indirect=True)

Start = Callable[..., Sandbox]
Farm = Callable[[str], Sandbox]

TABLES = "engine_tables"
"""The schema that has `sbtest1` and `sbtest2`; the pool's other tests have their own."""


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> str:
    """The name of each server; skips where it is neither installed nor fetched."""
    return need(str(request.param))


@pytest.fixture(scope="session")
def farm(pool: Pool) -> Farm:
    """The pool's server of each kind, loaded when it is first wanted."""
    loaded: dict[str, Sandbox] = {}

    def of_kind(kind: str) -> Sandbox:
        running = pool.server(kind)
        known = loaded.get(kind)
        if known is None or known.folder != running.folder:
            execute(running, f"CREATE DATABASE {TABLES}")
            loaded[kind] = on_schema(running, TABLES)
            load(a_load(local(loaded[kind]))).finished()
        return loaded[kind]

    return of_kind


@pytest.fixture
def shared(server: str, farm: Farm) -> Sandbox:
    """A running server with `sbtest1` and `sbtest2`, for tests that leave it as it was."""
    return farm(server)


@pytest.fixture
def quiet(shared: Sandbox) -> Sandbox:
    """The shared server once nobody is connected to it, so that its counters are the test's."""
    wait_until_nobody(shared)
    return shared


@pytest.fixture
def start(server: str) -> Iterator[Start]:
    """Starts a server of the test's own, which ends with the test."""
    with ExitStack() as stack:

        def start_one(settings: dict[str, str] | None = None, **spec: Any) -> Sandbox:
            asked = SandboxSpec(server=server, settings={**QUICK, **(settings or {})}, **spec)
            return stack.enter_context(start_sandbox(asked))

        yield start_one


@pytest.fixture
def schema(server: str, pool: Pool) -> Iterator[str]:
    """An empty schema of the test's own on the shared server."""
    with pool.schema(server) as own:
        name = own.tcp.target.database
        assert name is not None
        yield name
