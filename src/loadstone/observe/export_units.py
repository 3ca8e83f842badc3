"""Values with a unit, as consoles and Grafana write them: `2.9 K`, `1.2 MB/s`, `45%`, `3 ms`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Unit = Literal["", "bytes", "bits", "s", "%"]
"""What a value counts once its prefix is taken out; operations and the like have no unit."""

_VALUE = re.compile(r"([-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?+)\s*+(\D.*)?")
_UNIT = re.compile(
    r"(?P<prefix>Ki|Mi|Gi|Ti|Mil|Bil|Tri|[kKMGT]|Kilo|Mega|Giga|Tera)?\s?"
    r"(?:(?P<bytes>B|[Bb]ytes?)|(?P<bits>b|[Bb]its?)|ops?|io|iops|IOPS|rd|wr|reads?|writes?|req"
    r"|[Cc]ounts?)?"
    r"(?:(?<=[Bb])ps|/s(?:ec)?|/[Ss]econd)?"
)
_PREFIXES = {
    **dict.fromkeys(("k", "K", "Kilo"), 1e3),
    **dict.fromkeys(("M", "Mega", "Mil"), 1e6),
    **dict.fromkeys(("G", "Giga", "Bil"), 1e9),
    **dict.fromkeys(("T", "Tera", "Tri"), 1e12),
    **{prefix: 1024.0**power for power, prefix in enumerate(("Ki", "Mi", "Gi", "Ti"), 1)},
}
_OTHERS: Mapping[str, tuple[float, Unit]] = {
    "%": (1.0, "%"), "percent": (1.0, "%"),
    "s": (1.0, "s"), "seconds": (1.0, "s"),
    "ms": (1e-3, "s"), "milliseconds": (1e-3, "s"),
    "µs": (1e-6, "s"), "us": (1e-6, "s"), "microseconds": (1e-6, "s"),
    "ns": (1e-9, "s"),
}  # fmt: skip
_OF_FIGURES: Mapping[tuple[Unit, str], float] = {
    ("%", "percent"): 1.0,
    ("s", "ms"): 1e3,
    ("bytes", "bytes"): 1.0,
    ("bytes", "mbit"): 8e-6,
    ("bits", "bytes"): 0.125,
    ("bits", "mbit"): 1e-6,
}


def measured(text: str) -> tuple[float, Unit] | None:
    """The value without its prefix, and its unit; `None` if it is no number, or of another unit."""
    found = _VALUE.fullmatch(text)
    if found is None:
        return None
    value, word = float(found[1]), (found[2] or "").strip()
    other = _OTHERS.get(word.lower())
    if other:
        return value * other[0], other[1]
    unit = _UNIT.fullmatch(word)
    if unit is None:
        return None
    return value * _PREFIXES.get(unit["prefix"] or "", 1.0), (
        "bytes" if unit["bytes"] else "bits" if unit["bits"] else ""
    )


def factor_of(unit: Unit, figure: str) -> float | None:
    """The unit in that of a figure, which the end of its name says; `None`: it is none of its."""
    return _OF_FIGURES.get((unit, figure.rpartition("_")[2]))
