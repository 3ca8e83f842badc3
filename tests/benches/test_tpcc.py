"""The bench of TPC-C-like load, except for what needs a server."""

from __future__ import annotations

from typing import Any

import pytest

from benches.processes import ProgramFailed
from benches.tpcc import Level, driven_of, levels, steps_table

LEVEL = Level(64, "prepared", 60.0)
HOLD = ((1, 2, 3, 4), (), 0.5)


def a_step(**changes: Any) -> dict[str, Any]:
    counts = {"new_order": 446, "payment": 434, "order_status": 40, "delivery": 40}
    kinds = {name: {"count": count, "p90": 12.5} for name, count in counts.items()}
    step = {
        "events": 1000,
        "tps": 100.0,
        "tpmc": 2676.0,
        "kinds": kinds | {"stock_level": {"count": 40, "p90": None}},
        "reads": 15_000,
        "writes": 10_000,
        "other": 2_000,
        "generator": {"cpu_us_per_query": 10.0},
        "host": {"process_cpu_user": 0.5, "process_cpu_sys": 0.25},
        "errors": {"1213": 3},
        "restarts": 3,
        "reconnects": 0,
    }
    return step | changes


def test_costs_are_by_transaction_and_the_mix_by_its_worst_share() -> None:
    driven = driven_of(LEVEL, a_step(), HOLD)
    assert (driven.generator_us, driven.server_us) == (270.0, 7500.0)
    assert driven.off_mix == pytest.approx(0.4)
    assert driven.has_the_mix
    assert (driven.deadlocks, driven.p90_ms) == (3, 12.5)


def test_a_transaction_that_never_came_is_as_far_off_as_its_share() -> None:
    kinds = {"new_order": {"count": 500, "p90": 1.0}, "payment": {"count": 500, "p90": 1.0}}
    driven = driven_of(LEVEL, a_step(kinds=kinds), HOLD)
    assert driven.off_mix == pytest.approx(7.0)
    assert not driven.has_the_mix


def test_a_server_that_was_another_in_the_end_has_no_cost() -> None:
    level = Level(64, "prepared", 600.0, killed=True)
    assert driven_of(level, a_step(), HOLD).server_us is None
    assert driven_of(LEVEL, a_step(host=None), HOLD).server_us is None


def test_broken_conditions_are_named() -> None:
    driven = driven_of(LEVEL, a_step(), (tuple(range(1, 13)), (3, 11), 9.0))
    assert "broken: 3, 11" in steps_table([driven])
    assert "1 to 4 hold" in steps_table([driven_of(LEVEL, a_step(), HOLD)])


def test_a_step_without_a_transaction_has_no_figures() -> None:
    with pytest.raises(ProgramFailed, match="64 users did no transaction"):
        driven_of(LEVEL, a_step(events=0), HOLD)


def test_the_kill_comes_last_and_has_most_users() -> None:
    whole = levels(None, quick=False)
    assert [level.killed for level in whole] == [False] * 6 + [True]
    assert (whole[-1].users, whole[-1].seconds) == (64, 600.0)
    assert [level.users for level in levels((2,), quick=True)] == [2, 2, 64]
