"""Times as PostgreSQL writes them."""

from __future__ import annotations

import pytest

from loadstone.analyse.postgresql.durations import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5min", 300.0), ("1s", 1.0), ("200ms", 0.2), ("1d", 86_400.0), ("0", None), (None, None)],
)
def test_times_have_their_units(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds
