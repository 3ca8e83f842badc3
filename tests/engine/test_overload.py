"""More events are due than the server can serve: users see what a queue predicts."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

import pytest

from engine.driving import Outcome, a_plan, drive, seconds
from engine.truth import null_target
from loadstone import engine
from loadstone.model.records import Sample

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


def values(samples: Sequence[Sample], *tags: str) -> list[float]:
    """The seconds that these events have taken, or are old, in rising order."""
    lines = [line for sample in samples for line in sample.hlog]
    found: Counter[int] = Counter()
    for tag, counts in engine.hlog_counts(lines).items():
        if tag.partition("/")[2] in tags:
            found.update(dict(counts))
    return sorted(value / 1e9 for value in found.elements())


def simulated(service_s: Sequence[float]) -> list[float]:
    """The same of a queue before so many servers.

    An event takes as long as events took on average in the second in which it began.
    """
    free = [0.0] * USERS
    found = []
    for number in range(round(RATE * SECONDS)):
        due = number / RATE
        begun = max(due, heapq.heappop(free))
        over = begun + service_s[min(int(begun), len(service_s) - 1)]
        heapq.heappush(free, over)
        found.append(min(over, SECONDS) - due)
    return sorted(found)


def quantile(ordered: list[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]


@pytest.mark.slow
def test_percentiles_at_twice_the_capacity_are_those_of_the_queue() -> None:
    samples = measured().samples
    seconds_of = [values([sample], "service") for sample in samples]
    # The server's pauses are exact; what else a statement takes here is the machine's business.
    service_s = [sum(service) / len(service) for service in seconds_of if service]
    assert min(service_s) >= SERVICE_S
    found = values(samples, "response", "unfinished-response")
    expected = simulated(service_s)
    assert len(found) == pytest.approx(len(expected), rel=0.02)
    for share in (0.5, 0.9, 0.99):
        assert quantile(found, share) == pytest.approx(quantile(expected, share), rel=0.05), share
