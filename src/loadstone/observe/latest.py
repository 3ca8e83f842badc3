"""What a host's sources put together before it is a reading, and how numbers in texts are taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

_DIGITS_MAX = 20  # an unsigned 64-bit number has no more


@dataclass
class Figures:
    """Counters, gauges and facts of one reading while it is made up."""

    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """In what units a kernel counts; both are the same on nearly every Linux."""

    ticks_per_s: float = 100
    page_bytes: int = 4096


DATA_FREE, DATA_SIZE = "data.free_bytes", "data.size_bytes"


def space(free: float, blocks: float, block_bytes: float) -> dict[str, float]:
    """The gauges of the file system that holds a server's data; none of one without any size."""
    if not blocks or not block_bytes:
        return {}
    return {DATA_FREE: free * block_bytes, DATA_SIZE: blocks * block_bytes}


def count(word: str) -> float | None:
    """A whole number that a kernel wrote, or `None`: a sign, a point or anything else is not one.

    Counts above 2^53 lose their last digits, which no difference of a second would show.
    """
    if len(word) > _DIGITS_MAX or not (word.isascii() and word.isdigit()):
        return None
    return float(word)


def counts(words: Iterable[str]) -> list[float] | None:
    """All of them as numbers; `None` when one is none, since then the line is not what it seems."""
    values = []
    for word in words:
        value = count(word)
        if value is None:
            return None
        values.append(value)
    return values
