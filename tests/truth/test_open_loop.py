"""Open loop: events are due whatever the server does, and none is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from null_server.conftest import Starter
from null_server.driven import Driven, drive
from null_server.judging import judge
from null_server.running import Stamp

pytestmark = pytest.mark.timeout(600)  # the program may have to be built first

SECOND_NS = 1_000_000_000


# Events of the window's last 10 ms at 1,000 a second: on a machine that wakes us late they still
# wait when it ends, and those that wait then are skipped.
LAST_MOMENT = 10


def opened(rate: float, gaps: str = "uniform", **more: Any) -> dict[str, Any]:
    """The part `arrival` of a plan."""
    return {"kind": "open", "rate": rate, "gaps": gaps} | more


def in_window(driven: Driven) -> list[int]:
    """How many events were due in each second of the window."""
    return [sample.counts.due for sample in driven.samples if sample.phase == "window"]


@pytest.mark.parametrize("shards", [1, 2])
def test_even_gaps_are_due_exactly_as_often_as_asked(start: Starter, shards: int) -> None:
    driven = drive(start(), users=8, seconds=3, arrival=opened(1000), shards=shards)
    assert in_window(driven) == [1000, 1000, 1000]
    tally = driven.end.tally
    assert (tally.due, tally.failed) == (3000, 0)
    assert tally.started == 3000 - tally.skipped
    assert tally.skipped <= LAST_MOMENT
    assert tally.balances()


def test_poisson_arrivals_have_the_rate_and_its_spread(start: Starter) -> None:
    driven = drive(start(), users=16, seconds=4, arrival=opened(2000, "poisson"))
    due = sum(in_window(driven))
    # 8,000 events: six standard deviations.
    assert due == pytest.approx(8000, abs=6 * 8000**0.5)
    assert len(set(in_window(driven))) > 1, "not even"


def test_a_ramp_climbs_with_the_window(start: Starter) -> None:
    arrival = opened(0, ramp={"to": 2000, "over_s": 4.0})
    driven = drive(start(), users=16, seconds=5, arrival=arrival)
    # 250 t^2 events have come by t.
    assert in_window(driven) == [250, 750, 1250, 1750, 2000]


def test_a_stall_of_a_second_makes_a_thousand_late_events(start: Starter) -> None:
    users = 8
    server = start(
        {"service": {"kind": "constant", "us": 500}, "stalls": [{"at_s": 1, "for_s": 1}]}
    )
    driven = drive(server, users=users, seconds=4, arrival=opened(1000))
    tally = driven.end.tally
    assert tally.due == 4000
    assert tally.succeeded == 4000 - tally.skipped
    assert tally.skipped <= LAST_MOMENT
    stamps = server.stamps("execute")
    stalled = max(stamp.took_ns for stamp in stamps)
    assert stalled > 0.95 * SECOND_NS
    # Those of the stalled second but the few in flight, and those that queue behind them.
    assert driven.total("late") == pytest.approx(1150, abs=200)
    response, service = driven.latency("response"), driven.latency("service")
    assert response.max == pytest.approx(stalled, rel=0.02)
    assert service.max == pytest.approx(stalled, rel=0.02)
    assert sum(1 for stamp in stamps if stamp.took_ns > SECOND_NS // 2) <= users
    # A closed loop would have hidden it: nearly all were answered at once when they were sent.
    assert service.p99 is not None
    assert response.p90 is not None
    assert service.p99 < 20_000_000
    assert response.p90 > 100_000_000


def test_overload_is_counted_and_never_grows_beyond_the_backlog(start: Starter) -> None:
    server = start({"service": {"kind": "constant", "us": 10_000}})
    # 4 users × 100 a second answer 400 of 2,000.
    arrival = opened(2000, max_backlog=500)
    driven = drive(server, users=4, seconds=3, arrival=arrival)
    tally = driven.end.tally
    assert driven.end.reason == "finished"
    assert tally.due == 6000
    assert tally.succeeded == server.status()["answered"] == pytest.approx(1200, rel=0.1)
    assert tally.skipped == 6000 - tally.succeeded
    assert tally.waiting == 0
    assert max(sample.tally.waiting for sample in driven.samples) <= 500
    assert driven.latency("response").max is not None
    # Who waits behind 500 events at 400 a second waits 1.25 s.
    assert driven.latency("response").max == pytest.approx(1.26 * SECOND_NS, rel=0.1)


def test_events_that_wait_for_a_connection_are_late_and_not_lost(start: Starter) -> None:
    server = start({"drops": [{"kind": "at", "at_s": 1, "connections": "all"}],
                    "refuse": [{"kind": "within", "at_s": 1, "for_s": 0.5}]})  # fmt: skip
    driven = drive(server, users=4, seconds=3, arrival=opened(500))
    tally = driven.end.tally
    assert driven.end.reason == "finished"
    assert tally.due == 1500
    assert tally.succeeded + tally.failed == 1500
    assert tally.failed <= 4
    assert driven.total("reconnects") >= 4
    longest = driven.latency("response").max
    assert longest is not None
    assert longest > 400_000_000


def test_a_stop_by_events_counts_those_that_were_due(start: Starter) -> None:
    stop = {"kind": "events", "events": 700, "warmup_s": 0.0, "duration_s": 20.0}
    driven = drive(start(), users=4, seconds=5, arrival=opened(1000), stop=stop)
    tally = driven.end.tally
    assert (tally.due, tally.succeeded) == (700, 700)
    assert driven.end.seconds == pytest.approx(0.7, abs=0.2)


def test_service_times_are_those_of_the_stamps(start: Starter) -> None:
    def step(seed: int) -> tuple[Driven, Sequence[Stamp]]:
        server = start({"seed": seed, "service": {"kind": "exponential", "mean_us": 20_000}})
        driven = drive(server, users=16, seconds=3, judged=True, arrival=opened(300, "poisson"))
        return driven, server.stamps("execute")

    judge(step, "p50", "p90")
