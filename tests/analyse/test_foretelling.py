"""Predicted rates: known answers, and systems that are simulated before and after a change."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import median

import pytest

from analyse.closed_systems import Seen, System, simulated
from loadstone.analyse.foretelling import (
    ClosedLoop,
    Remedy,
    Servers,
    Share,
    foretell,
    most_events,
    rates,
)
from loadstone.model.account import Place

DELAYS: dict[Place, Share] = {"way": Share(0.5), "on core": Share(0.5)}
WANTED = 0.75
"""Of the intervals, which are to hold 80 % of the rates; some draws are allowed for."""


def a_loop(shares: dict[Place, Share], users: int = 10, **changes: object) -> ClosedLoop:
    """100 events a second of ten users: 100 ms each."""
    return replace(ClosedLoop(users, 100.0, shares), **changes)  # type: ignore[arg-type]


def test_what_is_removed_from_a_delay_is_removed_from_each_event() -> None:
    # 100 ms an event, of which 40 are removed: 10 users complete 10 / 0.06 s.
    found = rates(a_loop(DELAYS), Remedy({"way": 0.4}))
    assert found == pytest.approx((10 / 0.06, 10 / 0.06))


def test_work_by_a_constant_is_wide_where_it_is_most_of_an_event_and_narrow_elsewhere() -> None:
    def width(removed: float, error: float) -> tuple[float, float]:
        loop = a_loop({"on core": Share(0.9), "way": Share(0.1)}, users=2)
        found = foretell(loop, Remedy({"on core": removed}, work_error=error))
        assert found is not None
        assert found.low <= found.tps <= found.high
        return found.low / found.tps, found.high / found.tps

    assert width(0.6, 1.0) == pytest.approx((1, 1))
    # 0.4 of the time is left: 0.6 if it is 1.5 times less, and 0.1 if it is so much more.
    assert width(0.6, 1.5) == pytest.approx((0.4 / 0.6, 4.0))
    low, high = width(0.06, 1.5)
    assert low == pytest.approx(0.94 / 0.96)
    assert high == pytest.approx(0.94 / 0.91)


def test_no_more_can_be_removed_than_there_is() -> None:
    assert rates(a_loop(DELAYS), Remedy({"way": 0.9}))[1] == pytest.approx(200)


def test_nothing_changed_is_the_measured_rate() -> None:
    shares: dict[Place, Share] = {
        "way": Share(0.2), "on core": Share(0.1), "waiting for a core": Share(0.2),
        "row lock": Share(0.2), "latch": Share(0.1),
    }  # fmt: skip
    loop = a_loop(shares, users=32, cores=Servers(4.0, 3.5))
    assert rates(loop, Remedy()) == pytest.approx((100, 100), rel=0.01)


def test_cores_allow_no_more_than_their_capacity_by_an_event_s_demand() -> None:
    # 1.6 of 2 cores for 100 events: 125 at most, though the way was half of the time.
    loop = a_loop(DELAYS, cores=Servers(2.0, 1.6))
    low, high = rates(loop, Remedy({"way": 0.5}))
    assert low <= high == pytest.approx(125)


def test_cores_that_others_use_may_or_may_not_be_had() -> None:
    loop = a_loop(DELAYS, cores=Servers(1.0, 0.8, most=2.0))
    low, high = rates(loop, Remedy({"way": 0.5}))
    assert low <= 125 < high == pytest.approx(200)


def test_less_work_on_full_cores_is_a_higher_rate_though_the_wait_is_not_claimed() -> None:
    shares: dict[Place, Share] = {"on core": Share(0.0625), "waiting for a core": Share(0.9375)}
    loop = a_loop(shares, users=32, cores=Servers(2.0, 2.0))
    # A quarter of the demand is removed: 2 cores / 15 ms.
    assert rates(loop, Remedy({"on core": 0.0625 / 4}))[1] == pytest.approx(100 / 0.75)


def test_a_device_that_is_nearly_full_is_a_bound() -> None:
    loop = a_loop(DELAYS, bounds=(110.0,))
    assert rates(loop, Remedy({"way": 0.5})) == pytest.approx((110, 110))


def test_more_users_of_delays_complete_as_much_more() -> None:
    assert rates(a_loop(DELAYS), Remedy(users=40)) == pytest.approx((400, 400))


def test_syncs_of_many_users_at_once_do_not_wait_for_each_other() -> None:
    shares: dict[Place, Share] = {"way": Share(0.5), "log sync": Share(0.5)}
    assert rates(a_loop(shares), Remedy({"way": 0.5})) == pytest.approx((200, 200))


def test_commits_that_share_syncs_wait_for_two_at_most() -> None:
    alone: dict[Place, Share] = {"way": Share(0.5), "log sync": Share(0.5)}
    loop = a_loop(alone, users=1)
    low, high = rates(loop, Remedy(users=1000))
    # 10 ms an event, of which the sync is 5: now 5 + 5 to 10 ms.
    assert high == pytest.approx(100_000)
    assert low == pytest.approx(1000 / 0.015)


def test_many_locks_that_are_rarely_found_held_are_no_bottleneck() -> None:
    shares: dict[Place, Share] = {"way": Share(0.9), "row lock": Share(0.1)}
    one = rates(a_loop(shares, users=64), Remedy({"way": 0.6}))
    many = rates(replace(a_loop(shares, users=64), lock_use=0.05), Remedy({"way": 0.6}))
    # All 6.4 that wait want one row, which is nearly always locked; or most rows are free.
    assert many[0] == pytest.approx(one[0]) and one[1] < 130
    assert many[1] > 1.5 * one[1]
    assert rates(replace(a_loop(shares, users=64), lock_use=0.05), Remedy()) == pytest.approx(
        (100, 100), rel=0.01
    )


def test_a_lock_whose_holder_commits_is_held_for_less_without_the_sync() -> None:
    shares: dict[Place, Share] = {
        "way": Share(0.1), "on core": Share(0.01), "log sync": Share(0.09), "row lock": Share(0.8),
    }  # fmt: skip
    loop = a_loop(shares)
    # 9 of the 10 ms in which the lock is held are the sync.
    low, _ = rates(loop, Remedy({"log sync": 0.09}))
    assert low > 300
    assert rates(loop, Remedy({"way": 0.1}))[1] < 115


def test_without_a_lock_nobody_waits_for_it() -> None:
    shares: dict[Place, Share] = {"on core": Share(0.25), "row lock": Share(0.75)}
    assert rates(a_loop(shares), Remedy({"row lock": 0.75})) == pytest.approx((400, 400))


def test_threads_that_were_not_looked_at_wait_within_the_server() -> None:
    shares: dict[Place, Share] = {"way": Share(0.6), "in the server": Share(0.4)}
    loop = a_loop(shares, cores=Servers(2.0, 1.0))
    low, high = rates(loop, Remedy({"way": 0.3}))
    assert low < high == pytest.approx(100 / 0.7)


def test_the_interval_is_as_wide_as_what_was_sampled_is_uncertain() -> None:
    sure = foretell(a_loop(DELAYS), Remedy({"way": 0.4}))
    unsure = foretell(
        a_loop({"way": Share(0.5, 0.05), "on core": Share(0.5)}), Remedy({"way": 0.4})
    )
    noisy = foretell(a_loop(DELAYS, tps_error=5.0), Remedy({"way": 0.4}))
    assert sure and unsure and noisy
    assert sure.low == pytest.approx(sure.high)
    assert unsure.high - unsure.low > 20
    # Both windows are noisy: 1.28 standard errors, times the square root of two.
    assert noisy.high / noisy.tps - 1 == pytest.approx(1.2816 * 0.05 * math.sqrt(2))
    assert noisy.now == 100


def test_without_a_rate_or_an_account_nothing_is_predicted() -> None:
    assert foretell(a_loop({}), Remedy(users=20)) is None
    assert foretell(a_loop(DELAYS, tps=0.0), Remedy(users=20)) is None


def drawn(draw: random.Random) -> System:
    """A system of any shape: users, cores, and times from a tenth to twenty times the work."""
    work, users = 10 ** draw.uniform(-4, -3), draw.choice([1, 2, 4, 8, 16, 32, 64])
    cores = draw.choice([1, 2, 4, 8])
    away = draw.choice([1, max(users / cores, 1)])
    return System(
        users=users,
        cores=cores,
        way_s=work * away * 10 ** draw.uniform(-1, 1.3),
        work_s=work,
        locked_s=draw.choice([0, work * 10 ** draw.uniform(-1.5, 0)]),
        sync_s=draw.choice([0, work * 10 ** draw.uniform(-0.5, 1.3)]),
        locks=draw.choice([1, 1, 4, 50]),
        is_held_to_the_end=draw.random() < 0.7,
    )


def looked_at(system: System, seen: Seen, events: int, draw: random.Random) -> ClosedLoop:
    """Its account as 200 looks would have it; cores are counted."""
    shares: dict[Place, Share] = {}
    for place in seen.at:
        share = seen.share(place, system.users)
        if place in ("on core", "waiting for a core"):
            shares[place] = Share(share)
        else:
            error = math.sqrt(share * (1 - share) / 200 / math.sqrt(system.users))
            shares[place] = Share(max(share + draw.gauss(0, error), 0.0), error)
    cores = Servers(float(system.cores), min(seen.at["on core"] / seen.seconds, system.cores))
    return ClosedLoop(system.users, seen.tps, shares, seen.tps / math.sqrt(events), cores)


def changes(system: System, loop: ClosedLoop) -> dict[str, tuple[System, Remedy]]:
    """The system after each change, and what the change is to the account."""

    def all_of(*places: Place) -> dict[Place, float]:
        return {place: loop.shares[place].value for place in places if place in loop.shares}

    work = system.work_s / (system.work_s + system.locked_s)
    found = {
        "no way": (replace(system, way_s=0.0), Remedy(all_of("way"))),
        "half the way": (
            replace(system, way_s=system.way_s / 2),
            Remedy({"way": loop.shares["way"].value / 2}),
        ),
        "half the work": (
            replace(system, work_s=system.work_s / 2),
            Remedy({"on core": loop.shares["on core"].value * work / 2}),
        ),
        "twice the cores": (
            replace(system, cores=2 * system.cores),
            Remedy(cores=2.0 * system.cores),
        ),
        "four times the users": (
            replace(system, users=4 * system.users),
            Remedy(users=4 * system.users),
        ),
    }
    if system.sync_s:
        found["no sync"] = replace(system, sync_s=0.0), Remedy(all_of("log sync", "commit"))
    if "row lock" in loop.shares:
        found["no lock"] = replace(system, locks=10**6), Remedy(all_of("row lock"))
    return found


def compared(seed: int, systems: int, events: int) -> list[tuple[bool, float]]:
    """For each drawn system and change: whether the interval has the rate, and the error."""
    draw = random.Random(seed)
    found = []
    for number in range(systems):
        system = drawn(draw)
        seen = simulated(system, events, number)
        loop = looked_at(system, seen, events, draw)
        what, (changed, remedy) = draw.choice(list(changes(system, loop).items()))
        after = simulated(changed, events, number + systems).tps
        told = foretell(loop, remedy)
        if told is None:  # too little is left of an event
            continue
        demand = loop.cores.used / loop.tps if loop.cores else 0.0
        gone = remedy.removes.get("on core", 0.0) * loop.users / loop.tps
        cores = remedy.cores or float(system.cores)
        bound = most_events(cores, demand - gone)
        assert rates(loop, remedy)[1] <= bound * (1 + 1e-9), (what, system)
        found.append((told.low <= after <= told.high, abs(told.tps / after - 1)))
    return found


def test_predicted_and_simulated_rates_agree() -> None:
    found = compared(seed=5, systems=8, events=1500)
    assert sum(inside for inside, _ in found) >= 5
    assert median(error for _, error in found) < 0.05


@pytest.mark.slow
@pytest.mark.nightly
def test_intervals_hold_the_rates_of_simulated_systems() -> None:
    found = compared(seed=11, systems=100, events=4000)
    inside = sum(inside for inside, _ in found) / len(found)
    assert inside >= WANTED
    assert median(error for _, error in found) < 0.03


def test_nothing_is_foretold_where_most_of_what_is_left_has_no_name() -> None:
    shares: dict[Place, Share] = {"connecting": Share(0.75), "on core": Share(0.1)}
    loop = a_loop(shares)
    assert foretell(loop, Remedy({"connecting": 0.5})) is not None
    assert foretell(loop, Remedy({"connecting": 0.75})) is None
