"""One PostgreSQL for all of these tests that a worker runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from postgres.server import Server, find_programs, started

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with an account for each way to log in."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL: tools/get-postgres fetches one")
    with started(programs) as server:
        yield server


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """An empty database that everybody may use."""
    name = f"test_{next(NUMBERS)}"
    server.asked(f"CREATE DATABASE {name}")
    server.asked("GRANT ALL ON SCHEMA public TO PUBLIC", name)
    yield name
    server.asked(f"DROP DATABASE {name} WITH (FORCE)")
