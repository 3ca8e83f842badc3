"""How much longer other clients' statements take than before: figures in, a factor out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sums:
    """Statements of one kind of one account: how many ended, and their time."""

    count: float = 0.0
    seconds: float = 0.0


Statements = dict[str, Sums]
"""By account and kind of statement."""

LEAST_TIME_S = 0.002
"""A statement that took less counts as if it had: nobody suffers where 0.1 ms become 1."""

_FEWEST = 10
"""Fewer statements say nothing of a mean."""


def add(to: Statements, more: Statements) -> None:
    """Put some to those before them."""
    for key, sums in more.items():
        there = to.setdefault(key, Sums())
        there.count += sums.count
        there.seconds += sums.seconds


def mean_s(now: Statements) -> float | None:
    """Seconds that a statement took; `None` where too few ended."""
    count = sum(sums.count for sums in now.values())
    return sum(sums.seconds for sums in now.values()) / count if count >= _FEWEST else None


def slowdown(before: Statements, now: Statements) -> float | None:
    """How many times as long the same statements take as they took before.

    Each kind of each account is compared with its own mean, so that another mixture of them is no
    slowdown. `None` where too few of those that were there before have ended.
    """
    expected = seconds = count = 0.0
    for key, sums in now.items():
        base = before.get(key)
        if base is None or not base.count:
            continue
        expected += sums.count * max(base.seconds / base.count, LEAST_TIME_S)
        seconds += sums.seconds
        count += sums.count
    return seconds / expected if count >= _FEWEST else None
