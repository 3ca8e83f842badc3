"""Our names of counters, and those that a family's servers have for the same figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One of our names; `scale` converts the server's unit to ours."""

    name: str
    raw: tuple[str, ...]
    """The server's names: of several, the first one that it has; `a-b` is a difference."""
    scale: float = 1.0


def translated(entries: Iterable[Entry], raw: Mapping[str, float]) -> dict[str, float]:
    """The figures that the server has, under our names."""
    found = {}
    for entry in entries:
        for name in entry.raw:
            value = _value(name, raw)
            if value is not None:
                found[entry.name] = value * entry.scale
                break
    return found


def _value(name: str, raw: Mapping[str, float]) -> float | None:
    if name in raw:
        return raw[name]
    first, is_difference, second = name.partition("-")
    if is_difference and {first, second} <= raw.keys():
        return raw[first] - raw[second]
    return None
