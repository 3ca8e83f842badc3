"""Numbers with units."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from loadstone.model.quantity import BITS, BYTES, COUNTS, SECONDS, scaled


@pytest.mark.parametrize(
    ("text", "units", "number"),
    [
        ("500us", SECONDS, 0.0005),
        ("500 µs", SECONDS, 0.0005),
        (" 1.5 h ", SECONDS, 5400.0),
        (".5", SECONDS, 0.5),
        ("2min", SECONDS, 120.0),
        ("10K", COUNTS, 10_000),
        ("1_000", COUNTS, 1000),
        ("8G", BYTES, 8 * 1024**3),
        ("1Gbit", BITS, 1e9),
        ("1", BITS, None),
        ("1d", SECONDS, None),
        ("-1s", SECONDS, None),
        ("1e3", COUNTS, None),
        ("", COUNTS, None),
        ("nan", COUNTS, None),
    ],
)
def test_a_number_times_its_unit(
    text: str, units: Mapping[str, float], number: float | None
) -> None:
    assert scaled(text, units) == (None if number is None else pytest.approx(number))
