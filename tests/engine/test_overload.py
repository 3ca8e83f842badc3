"""More events are due than the server can serve: users see what a queue predicts."""

from __future__ import annotations

import heapq
from collections import Counter

import pytest

from engine.driving import Outcome, a_plan, drive, seconds
from engine.truth import null_target
from loadstone import engine

USERS = 4
SERVICE_S = 0.02
SECONDS = 3.0
RATE = 2 * USERS / SERVICE_S
"""Twice what so many users can do at once."""


def measured() -> Outcome:
    script = (
        f'{{"service": {{"kind": "constant", "us": {SERVICE_S * 1e6:.0f}}}, "origin": "statement"}}'
    )
    arrival = {"kind": "open", "rate": RATE, "gaps": "uniform", "max_backlog": 100_000}
    with null_target(script) as (_, target):
        plan = a_plan(target, users=USERS, arrival=arrival, stop=seconds(SECONDS))
        return drive(plan).finished()


def values(outcome: Outcome, *tags: str) -> list[float]:
    """The seconds that these events have taken, or are old, in rising order."""
    lines = [line for sample in outcome.samples for line in sample.hlog]
    found: Counter[int] = Counter()
    for tag, counts in engine.hlog_counts(lines).items():
        if tag.partition("/")[2] in tags:
            found.update(dict(counts))
    return sorted(value / 1e9 for value in found.elements())


def simulated(service_s: float) -> list[float]:
    """The same of a queue before so many servers, each event taking as long as was measured."""
    free = [0.0] * USERS
    found = []
    for number in range(round(RATE * SECONDS)):
        due = number / RATE
        over = max(due, heapq.heappop(free)) + service_s
        heapq.heappush(free, over)
        found.append(min(over, SECONDS) - due)
    return sorted(found)


def quantile(ordered: list[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]


def test_percentiles_at_twice_the_capacity_are_those_of_the_queue() -> None:
    outcome = measured()
    service = values(outcome, "service")
    # The server's pauses are exact; what else a statement takes here is the machine's business.
    mean_s = sum(service) / len(service)
    assert mean_s >= SERVICE_S
    found = values(outcome, "response", "unfinished-response")
    expected = simulated(mean_s)
    assert len(found) == pytest.approx(len(expected), rel=0.02)
    for share in (0.25, 0.5, 0.9, 0.99):
        assert quantile(found, share) == pytest.approx(quantile(expected, share), rel=0.05), share
