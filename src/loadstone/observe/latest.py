"""A reading under construction, and the parsing of numbers in kernel files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

_DIGITS_MAX = 20  # an unsigned 64-bit number has no more


@dataclass
class Figures:
    """Counters, gauges and facts of a reading that is being put together."""

    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """The units in which a kernel counts; the defaults hold on nearly every Linux."""

    ticks_per_s: float = 100
    page_bytes: int = 4096


DATA_FREE, DATA_SIZE = "data.free_bytes", "data.size_bytes"


def space(free: float, blocks: float, block_bytes: float) -> dict[str, float]:
    """Gauges for the file system that holds a server's data; empty if its size is zero."""
    if not blocks or not block_bytes:
        return {}
    return {DATA_FREE: free * block_bytes, DATA_SIZE: blocks * block_bytes}


def count(word: str) -> float | None:
    """Parse a kernel's whole number; `None` if there is a sign, a point or anything else.

    Counts above 2^53 lose their last digits, which the difference over a second would not show.
    """
    if len(word) > _DIGITS_MAX or not (word.isascii() and word.isdigit()):
        return None
    return float(word)


def counts(words: Iterable[str]) -> list[float] | None:
    """Parse all words as counts; `None` if one is not, since then the line is not as expected."""
    values = []
    for word in words:
        value = count(word)
        if value is None:
            return None
        values.append(value)
    return values
