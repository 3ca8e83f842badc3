"""Checks whether a step has lost anything: events without an outcome, seconds without a record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from loadstone.model.records import Tally
from loadstone.runs.steplog import StepLog

_LONGEST_S = 1.5
"""A record that covers more seconds than this hides what happened in each of them."""

_SLACK_S = 1e-6
"""Times are written to the microsecond."""


@dataclass(frozen=True)
class Account:
    """What a step's records say about its events and seconds."""

    due: int
    """Events that became due."""
    unaccounted: int
    """By how many events and outcomes the records contradict each other."""
    seconds: int
    """Seconds with a record, without the drain."""
    missing_s: float
    """Seconds between the start of the load and its last record, without a record of their own."""


def account_of(step: StepLog) -> Account:
    """Add up each second's counts, and compare them with the running tally."""
    counted: Counter[str] = Counter()
    seconds = 0
    missing_s = at_s = 0.0
    for sample in step.samples():
        counts = sample.counts
        counted.update(
            due=counts.due, skipped=counts.skipped, succeeded=counts.events, failed=counts.failed
        )
        missing_s += max(sample.from_s - at_s, 0.0)
        at_s = sample.to_s
        if sample.phase != "drain":
            seconds += 1
            missing_s += sample.seconds - 1 if sample.seconds > _LONGEST_S else 0.0
    return Account(
        due=counted["due"],
        unaccounted=_unaccounted(step.tally, counted) if step.tally else 0,
        seconds=seconds,
        missing_s=missing_s if missing_s > _SLACK_S * max(seconds, 1) else 0.0,
    )


def _unaccounted(tally: Tally, counted: Counter[str]) -> int:
    """Check both invariants of the tally, and compare each of its terms with the sum of the
    seconds.
    """
    laws = (
        tally.due - tally.waiting - tally.started - tally.skipped,
        tally.started - tally.in_flight - tally.succeeded - tally.failed,
    )
    terms = (getattr(tally, name) - counted[name] for name in counted)
    return sum(map(abs, (*laws, *terms)))
