"""Sums of a step's seconds: what is exact stays exact."""

from __future__ import annotations

from loadstone.model.records import LatencyNs
from loadstone.runs.aggregates import ExactLatency


def test_no_quantile_is_beyond_the_exact_extremes() -> None:
    exact = ExactLatency()
    exact.add(LatencyNs(count=2, min=1_000_300, max=542_148_644, mean=300e6))
    merged = LatencyNs(count=2, p50=1_000_200, p99=542_639_079, p999=542_639_079, max=542_639_079)
    found = exact.with_quantiles_of(merged)
    assert (found.p50, found.p99, found.p999) == (1_000_300, 542_148_644, 542_148_644)
    assert found.p95 is None
