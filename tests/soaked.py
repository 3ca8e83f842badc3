"""A made-up soak that kept all its promises; tests break one of them, or store it."""

from __future__ import annotations

from benches.accounting import Account
from benches.soak import Injected, Soaked

GOOD = Soaked(
    users=2000,
    minutes=60,
    code=0,
    said="",
    state="finished",
    account=Account(due=360_000, unaccounted=0, seconds=3600, missing_s=0.0),
    faults=tuple(Injected(minute, "server killed", 3.0, 2.0) for minute in range(60)),
    # The memory grows for ten minutes, and is constant after that.
    memory=tuple((minute / 60, 100.0 + min(minute, 10)) for minute in range(60)),
    descriptors=(2040,) * 60,
    errors={},
    outages=60,
)
