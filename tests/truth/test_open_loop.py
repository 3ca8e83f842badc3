"""Open loop: events are due whatever the server does, and none is lost."""

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


def opened(rate: float, gaps: str = "uniform", **more: Any) -> dict[str, Any]:
    """The part `arrival` of a plan."""
    return {"kind": "open", "rate": rate, "gaps": gaps} | more


def in_window(driven: Driven) -> list[int]:
    """How many events were due in each second of the window."""
    return [sample.counts.due for sample in driven.samples if sample.phase == "window"]


def waited_at_the_end(driven: Driven) -> int:
    """How many events still waited when the window ended: those are skipped.

    If the machine wakes us late, they are some of its last moment.
    """
    *_, last = (sample for sample in driven.samples if sample.phase == "window")
    return last.tally.waiting


def most_left(driven: Driven, rate: float) -> float:
    """How many events may wait at the end: those of a moment, and of what the machine took.

    A process that was kept from a core has to catch up, and what is due in that time waits as well.
    """
    return rate * (0.02 + driven.held_up_s)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_even_gaps_are_due_exactly_as_often_as_asked(start: Starter, shards: int) -> None:
    driven = drive(start(), users=8, seconds=2, arrival=opened(1000), shards=shards)
    assert in_window(driven) == [1000, 1000]
    tally = driven.end.tally
    assert (tally.due, tally.failed) == (2000, 0)
    assert tally.started == 2000 - tally.skipped
    assert tally.skipped == waited_at_the_end(driven) <= most_left(driven, 1000)
    assert tally.balances()


@pytest.mark.slow
def test_poisson_arrivals_have_the_rate_and_its_spread(start: Starter) -> None:
    driven = drive(start(), users=16, seconds=2, arrival=opened(2000, "poisson"))
    due = sum(in_window(driven))
    # 4,000 events: six standard deviations.
    assert due == pytest.approx(4000, abs=6 * 4000**0.5)
    assert len(set(in_window(driven))) > 1, "not even"


@pytest.mark.slow
def test_a_ramp_climbs_with_the_window(start: Starter) -> None:
    arrival = opened(0, ramp={"to": 2000, "over_s": 2.0})
    driven = drive(start(), users=16, seconds=3, arrival=arrival)
    # After t seconds 500 t^2 events were due.
    assert in_window(driven) == [500, 1500, 2000]


@pytest.mark.slow
def test_a_stall_of_a_second_makes_a_thousand_late_events(start: Starter) -> None:
    users = 8
    server = start(
        {"service": {"kind": "constant", "us": 500}, "stalls": [{"at_s": 0.5, "for_s": 1}]}
    )
    driven = drive(server, users=users, seconds=3, arrival=opened(1000))
    tally = driven.end.tally
    assert tally.due == 3000
    assert tally.succeeded == 3000 - tally.skipped
    assert tally.skipped == waited_at_the_end(driven) <= most_left(driven, 1000)
    stamps = server.stamps("execute")
    stalled = max(stamp.took_ns for stamp in stamps)
    assert stalled > 0.9 * SECOND_NS
    # The events of the stalled second except the few in flight; those that queue behind them, at
    # most a tenth of a second; and those that are due while others use the cores.
    most = 1000 * (1.15 + 1.2 * driven.held_up_s)
    assert 0.9 * 1000 - users <= driven.total("late") <= most
    response, service = driven.latency("response"), driven.latency("service")
    for latency in (response, service):
        assert latency.max is not None
        assert 0.98 * stalled <= latency.max
    assert sum(1 for stamp in stamps if stamp.took_ns > SECOND_NS // 2) <= users
    # A closed loop would have hidden the stall: nearly all were answered soon after they were sent.
    assert service.p99 is not None
    assert response.p90 is not None
    assert service.p99 < response.p90
    assert response.p90 > 100_000_000


def test_overload_is_counted_and_never_grows_beyond_the_backlog(start: Starter) -> None:
    server = start({"service": {"kind": "constant", "us": 10_000}})
    # 4 users × 100 a second answer at most 400 of 4,000.
    arrival = opened(4000, max_backlog=100)
    driven = drive(server, users=4, seconds=1, arrival=arrival)
    tally = driven.end.tally
    assert driven.end.reason == "finished"
    assert tally.due == 4000
    assert 0 < tally.succeeded == server.status()["answered"] <= 400 + 4
    # No user is idle while events wait, except for the time that the machine takes.
    assert tally.succeeded >= 400 * (0.9 - driven.held_up_s)
    assert tally.skipped == 4000 - tally.succeeded
    assert tally.waiting == 0
    assert max(sample.tally.waiting for sample in driven.samples) <= 100
    longest = driven.latency("response").max
    assert longest is not None
    # An event behind 100 others at 400 a second waits a quarter of a second.
    assert 0.25 < longest / SECOND_NS < 0.3 + driven.held_up_s


def test_events_that_wait_for_a_connection_are_late_and_not_lost(start: Starter) -> None:
    server = start({"drops": [{"kind": "at", "at_s": 0.3, "connections": "all"}],
                    "refuse": [{"kind": "within", "at_s": 0.3, "for_s": 0.5}]})  # fmt: skip
    driven = drive(server, users=4, seconds=1.5, arrival=opened(400))
    tally = driven.end.tally
    assert driven.end.reason == "finished"
    assert tally.due == 600
    assert tally.succeeded + tally.failed == 600 - tally.skipped
    assert tally.skipped == waited_at_the_end(driven) <= most_left(driven, 400)
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
    # The last event is due after 0.7 s; the step's limit is 20 s.
    assert 0.69 <= driven.end.seconds < 10


@pytest.mark.timing
def test_service_times_are_those_of_the_stamps(start: Starter) -> None:
    def step(seed: int) -> tuple[Driven, Sequence[Stamp]]:
        server = start({"seed": seed, "service": {"kind": "exponential", "mean_us": 20_000}})
        driven = drive(server, users=16, seconds=2, judged=True, arrival=opened(300, "poisson"))
        return driven, server.stamps("execute")

    judge(step, "p50", "p90")
