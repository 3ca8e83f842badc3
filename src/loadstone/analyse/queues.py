"""Formulas of queueing theory: the operational laws, waits for servers, and for a holder. Pure.

The laws are those of P. J. Denning, J. P. Buzen, "The Operational Analysis of Queueing Network
Models", ACM Computing Surveys 10(3), 1978.
"""

from __future__ import annotations

import math
from functools import lru_cache

HALVINGS = 60
"""Steps of the search for the rate: then it is exact to a float's digits."""

_LEAST_TERM = 1e-15
"""Terms this much smaller than their sum do not change it; a sum whose inverse is so small is 0."""


def most_events(capacity: float, demand: float) -> float:
    """The utilization law: the events a second that a resource allows."""
    return capacity / demand


def completed(users: float, time_s: float) -> float:
    """Little's law: the events a second of users who need that long for each."""
    return users / time_s


def wait_at(use: float, servers: float) -> float:
    """The wait for one of several servers of which so much is used, by H. Sakasegawa, 1977."""
    if use >= 1:
        return math.inf
    return float(use ** (math.sqrt(2 * (servers + 1)) - 1) / (servers * (1 - use)))


def others(users: int) -> float:
    """Schweitzer: the part of the users whom one of them can meet."""
    return (users - 1) / users


@lru_cache(maxsize=256)
def holding(wait: float, users: int, tps: float) -> float:
    """The time of a holder whom the others wait for that long.

    Of all times that fit the rate it is the one whose use of the lock is that of the machine
    repairman's model, where the rest of an event is a delay: 1 - B(users, delay / holding), with
    Erlang's loss formula B (exact for exponential times).
    """
    low, high = 0.0, 1 / tps
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        delay = users / tps - wait - middle
        if tps * middle < 1 - _loss(users, max(delay, 0.0) / middle):
            low = middle
        else:
            high = middle
    return low if wait else 0.0


def _loss(lines: int, offered: float) -> float:
    """Erlang's loss formula, by the sum of N! / (N - k)! / offered^k, whose inverse it is."""
    if not offered:
        return 0.0
    total = term = 1.0
    for left in range(lines, 0, -1):
        term *= left / offered
        total += term
        if not _LEAST_TERM * total < term < 1 / _LEAST_TERM:
            break
    return 1 / total
