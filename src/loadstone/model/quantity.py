"""Parses numbers with units, as people write them in commands and files: `500ms`, `10k`, `8G`."""

from __future__ import annotations

import re
from collections.abc import Mapping

LONGEST_S = 366 * 86_400.0
"""The longest duration that the engine accepts."""

SECONDS: Mapping[str, float] = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 0.001,
    "": 1.0,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
COUNTS: Mapping[str, float] = {"": 1, "k": 1000, "m": 1_000_000, "g": 1_000_000_000}
BYTES: Mapping[str, float] = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
BITS: Mapping[str, float] = {"bit": 1, "kbit": 1000, "mbit": 1_000_000, "gbit": 1_000_000_000}

NUMBER = r"\d+(?:\.\d+)?|\.\d+"
"""An expression for a number, before its unit."""

_WRITTEN = re.compile(rf"({NUMBER})\s*([a-zµ]*)")


def scaled(text: str, units: Mapping[str, float]) -> float | None:
    """The number times its unit; without a unit, that of the empty name, if there is one.

    `None`: the syntax is wrong, or there is no such unit. Case does not matter; `1_000` is 1000.
    """
    found = _WRITTEN.fullmatch(text.strip().lower().replace("_", ""))
    if not found or found[2] not in units:
        return None
    return float(found[1]) * units[found[2]]
