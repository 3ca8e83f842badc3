"""How much longer other clients' statements take than before: figures in, a factor out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sums:
    """Statements of one kind and account: how many ended, and their total time."""

    count: float = 0.0
    seconds: float = 0.0


Statements = dict[str, Sums]
"""By account and kind of statement."""

LEAST_TIME_S = 0.002
"""Shorter statements count as this long: nobody suffers if 0.1 ms become 1 ms."""

_FEWEST = 10
"""A mean over fewer statements says nothing."""


def add(to: Statements, more: Statements) -> None:
    """Add `more` to the sums in `to`."""
    for key, sums in more.items():
        there = to.setdefault(key, Sums())
        there.count += sums.count
        there.seconds += sums.seconds


def mean_s(now: Statements) -> float | None:
    """Mean time of a statement in seconds; `None` if too few ended."""
    count = sum(sums.count for sums in now.values())
    return sum(sums.seconds for sums in now.values()) / count if count >= _FEWEST else None


def slowdown(before: Statements, now: Statements) -> float | None:
    """How many times as long the same statements take as before.

    Each kind of each account is compared with its own mean, so that a different mix is not a
    slowdown. `None` if too few of the earlier statements have ended.
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
