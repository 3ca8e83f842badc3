"""Events that have not ended when the window does: each has its age in the latency log."""

from __future__ import annotations

from typing import Any

import pytest

from engine.driving import Outcome, a_plan, drive, seconds
from engine.truth import null_target

STALL = '{"service": {"kind": "constant", "us": 1000}, "origin": "statement", "stalls": [%s]}'


def stalled(stall: str, **changes: Any) -> Outcome:
    with null_target(STALL % stall) as (_, target):
        return drive(a_plan(target, stop=seconds(1.0), **changes)).finished()


def unfinished(outcome: Outcome) -> tuple[int, int]:
    """How many had not ended, and of these how many were in flight, by the last whole second."""
    at_end = [sample for sample in outcome.samples if sample.phase != "drain"][-1].tally
    return at_end.waiting + at_end.in_flight, at_end.in_flight


@pytest.mark.parametrize(
    "arrival",
    [
        {"kind": "closed", "think_s": 0.0},
        {"kind": "open", "rate": 200, "gaps": "uniform", "max_backlog": 1000},
    ],
    ids=lambda arrival: str(arrival["kind"]),
)
def test_all_that_were_due_have_an_age(arrival: dict[str, Any]) -> None:
    outcome = stalled('{"at_s": 0.2, "for_s": 1.2}', users=4, arrival=arrival)
    found = outcome.latency()
    counts = (found["unfinished-response"].count, found["unfinished-service"].count)
    assert counts == unfinished(outcome)
    assert counts[1] == 4
    # Those in flight have ended since, and took longer than they had then.
    assert found["unfinished-service"].max < 1.1e9


def test_a_load_without_a_stall_has_its_last_event_only() -> None:
    outcome = stalled("", users=2)
    assert unfinished(outcome) == (2, 2)
    assert outcome.latency()["unfinished-response"].max < 0.5e9
