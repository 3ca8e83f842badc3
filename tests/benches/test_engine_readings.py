"""Records of the engine and other programs, as the benches of the event loop read them."""

from __future__ import annotations

from typing import Any

import pytest

from benches import connections_null, second
from benches.contest import ENGINE, FLOOR
from benches.saturated import Reading, cost_table, ratios


def read(pair: int, contestant: str, cost_us: float, busy: float) -> Reading:
    queries = 100_000
    cpu_us = queries * cost_us
    seconds = 2.0
    return Reading(pair, 64, contestant, queries, seconds, cpu_us, busy * seconds * 1e6 - cpu_us, 1)


def test_only_pairs_in_which_both_loops_were_busy_count() -> None:
    readings = [
        read(0, ENGINE, 4.4, 0.99),
        read(0, FLOOR, 4.0, 0.96),
        read(1, ENGINE, 9.0, 0.99),
        read(1, FLOOR, 4.0, 0.94),  # it waited for the server
        read(2, ENGINE, 9.0, 0.99),  # without the floor
    ]
    assert ratios(readings) == pytest.approx([1.1])
    line = cost_table(readings).splitlines()[2]
    assert "| 1 of 3 | 1.10 (1.10–1.10) |" in " ".join(line.split())


def test_connections_that_failed_and_that_were_lost_are_told_apart() -> None:
    counts = {"reconnects": 2, "events": 7}
    sample: dict[str, Any] = {
        "kind": "sample",
        "phase": "window",
        "users": 9,
        "counts": counts,
        "errors": {"1040": 1},
        "connect_failures": {},
    }
    connected = {"kind": "connected", "users": 10, "seconds": 4.0, "connect_failures": {"2013": 3}}
    held = connections_null.held_of([connected, sample, {"kind": "end"}], 10, 1, 20_000)
    assert held.errors == {"lost": 2, "1040": 1, "2013": 3}
    assert (held.connected, held.at_the_end, held.events, held.logins_per_s) == (10, 9, 7, 2.5)
    assert "| 1 × 1040, 3 × 2013, 2 × lost |" in connections_null.held_table([held])


def test_connections_are_shared_among_processes_without_one_too_many() -> None:
    shares = connections_null.shared(100_000)
    assert (sum(shares), max(shares), len(shares)) == (100_000, 17_000, 6)
    assert connections_null.shared(34_000) == [17_000, 17_000]


def test_a_second_s_figures_are_found_among_what_cargo_says() -> None:
    row = '{"users": 4000, "per_user": false, "turns_us": [1.5, 2.5]}'
    said = f"\nrunning 1 test\n{row}\ntest metering::cost::the_turn ... ok\n"
    assert second.readings_of(said, 3) == [second.Reading(3, 4000, False, [1.5, 2.5])]
    with pytest.raises(ValueError, match="no figures"):
        second.readings_of("running 0 tests\n", 0)
