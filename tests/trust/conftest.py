"""What `make trust` shows of a test beside whether it passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from trust import tally


@pytest.fixture(autouse=True)
def counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Keeps what the test has counted in its record."""
    tally.COUNTS.clear()
    yield
    for what, number in tally.COUNTS.items():
        record_property(what, number)
