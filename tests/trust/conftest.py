"""What `make trust` shows of a test in addition to whether it passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.person import Person
from loadstone.sandbox import Sandbox
from pooled import KINDS, Pool
from trust import tally


@pytest.fixture(autouse=True)
def counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Stores the test's counts in its record."""
    tally.COUNTS.clear()
    yield
    for what, number in tally.COUNTS.items():
        record_property(what, number)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    """Each of the pool's servers, with a schema of the test's own."""
    with pool.schema(str(request.param)) as found:
        yield found


@pytest.fixture
def person(server: Sandbox, tmp_path: Path) -> Person:
    """A user to whom it is an ordinary server."""
    return Person(tmp_path, server, careful=False)
