"""Makes steps that have only the figures that a test is about."""

from __future__ import annotations

from typing import Any

from loadstone.model.plan import Rate
from loadstone.model.result import GeneratorCost, LatencyMs, LatencyPair, StepResult, Window

SECONDS = 10.0


def a_step(
    *,
    users: int = 8,
    rate: Rate | None = None,
    tps: float = 100.0,
    p99_ms: float = 10.0,
    **changes: Any,
) -> StepResult:
    """A finished step of ten seconds; in an open loop, as many events were due as the rate says."""
    events = round(tps * SECONDS)
    latency = LatencyMs.model_validate(
        dict.fromkeys(LatencyMs.model_fields)
        | {"count": events, "above_range": 0, "at_least": (), "p99": p99_ms}
    ).model_copy(update={"mean": p99_ms / 4.605})
    counted = (
        "failed restarts reads writes other reconnects late skipped waiting bytes_in bytes_out"
    )
    made: dict[str, Any] = {
        "step": 1,
        "variant": "default",
        "workload": "oltp_read_write",
        "concurrency": users,
        "rate": rate,
        "repeat": 1,
        "state": "finished",
        "error": None,
        "started_at": "2026-01-01T00:00:00.000+00:00",
        "seconds": SECONDS,
        "window": Window(from_s=0.0, to_s=SECONDS, method="fixed"),
        "steady": None,
        "events": events,
        "due": round(rate.rate * SECONDS) if rate else events,
        "tps": tps,
        "qps": tps,
        **dict.fromkeys(counted.split(), 0),
        "errors": {},
        "errors_outside": {},
        "error_examples": {},
        "connect_failures": {},
        "latency": LatencyPair(response=latency, service=latency),
        "statements": {},
        "error_latency": {},
        "users": users,
        "encrypted_users": None,
        "compressed_users": None,
        "compression": None,
        "tls": None,
        "connect_seconds": None,
        "tally": None,
        "tally_balances": None,
        "outages": (),
        "targets": (),
        "generator": GeneratorCost.model_validate(dict.fromkeys(GeneratorCost.model_fields)),
        "server": None,
        "host": None,
        "generator_host": None,
        "other_targets": (),
        "hot_spots": None,
        "observing": None,
        "notes": (),
    }
    return StepResult.model_validate(made | changes)
