"""What PgBouncer's console says of its pools."""

from __future__ import annotations

import pytest

from loadstone.observe.postgresql.pooler import gauges_of


def a_pool(user: str, waiting: int, idle: int) -> dict[str, object]:
    """A row of SHOW POOLS, with ten connections in use."""
    return {
        "user": user, "cl_active": 10, "cl_waiting": waiting, "sv_active": 10, "sv_idle": idle,
        "maxwait": waiting and 1, "maxwait_us": waiting and 500_000,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pools", "idle"),
    [
        ([a_pool("bench", 13, 0), a_pool("report", 0, 5)], 0),
        ([a_pool("bench", 0, 3), a_pool("report", 0, 5)], 3),
        # PgBouncer logs in to the server as another user.
        ([a_pool("app", 13, 2), a_pool("report", 0, 5)], 2),
    ],
)
def test_a_pool_does_not_lend_to_another_user(pools: list[dict[str, object]], idle: int) -> None:
    found = gauges_of(pools, "bench")
    assert found["pgbouncer.sv_idle"] == idle
    assert found["pgbouncer.sv_active"] == 20


def test_the_longest_wait_is_that_of_any_pool() -> None:
    found = gauges_of([a_pool("bench", 13, 0), a_pool("report", 0, 5)], "bench")
    assert found["pgbouncer.cl_waiting"] == 13
    assert found["pgbouncer.maxwait_s"] == 1.5
    assert gauges_of([], "bench") == {}
