"""Predicted rates: known answers, and systems that are simulated before and after a change."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import median

import pytest

from analyse.closed_systems import Seen, System, simulated
from loadstone.analyse import foretelling
from loadstone.analyse.closed_systems import ClosedLoop, Remedy, Servers, Share, rates
from loadstone.analyse.foretelling import COLD, foretell
from loadstone.analyse.queues import most_events
from loadstone.model.account import Place

DELAYS: dict[Place, Share] = {"way": Share(0.5), "on core": Share(0.5)}
WANTED = 0.75
"""Of the intervals, which are to hold 80 % of the rates; some draws are allowed for."""


@pytest.fixture(autouse=True)
def same_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs from run to run, and what claims miss, are terms that hide all others here."""
    monkeypatch.setattr(foretelling, "RUN_ERROR", 0.0)
    monkeypatch.setattr(foretelling, "DRAG", 0.0)
    monkeypatch.setattr(foretelling, "DRAG_ERROR", 0.0)


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
    # 0.4 of the time is left: 0.6 if it is 1.5 times less, and 0.1 if it is so much more. The
    # wide one is of work that is priced, the exact one of what was measured.
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


def test_work_on_cores_that_were_idle_may_be_less_once_they_are_not() -> None:
    """Two users, of whom a lock leaves a twentieth of the time for work on one of two cores."""
    shares: dict[Place, Share] = {"on core": Share(0.05), "table lock": Share(0.95)}
    cores = Servers(2.0, 0.1)
    found = foretell(a_loop(shares, users=2, cores=cores), Remedy({"table lock": 0.95}))
    assert found is not None
    # As much work as before, or as little as that of cores that are never idle.
    cold, warm = 2000, 2000 / (1 - COLD * 0.95)
    assert found.low == pytest.approx(cold)
    assert found.high == pytest.approx(warm)
    assert found.tps == pytest.approx((cold + warm) / 2)
    # Where the cores are as idle as before, the caches are as cold.
    again = foretell(a_loop(shares, users=2, cores=cores), Remedy())
    assert again is not None and again.high == pytest.approx(100)


def test_work_in_bursts_meets_warm_caches_and_its_waits_become_no_longer() -> None:
    """Twelve users, whom somebody's lock keeps from two cores for three quarters of the time."""
    shares: dict[Place, Share] = {
        "on core": Share(0.25 * 2 / 12),
        "waiting for a core": Share(0.25 * 10 / 12),
        "table lock": Share(0.75),
    }
    loop = a_loop(shares, users=12, cores=Servers(2.0, 0.5))
    found = foretell(loop, Remedy({"table lock": 0.75}))
    assert found is not None
    # What they did in a quarter of the time they do all the time.
    assert found.tps == pytest.approx(400, rel=0.1)
    assert found.low > 350
    # Nothing else makes their waits shorter.
    assert rates(loop, Remedy()) == pytest.approx((100, 100))


@pytest.mark.parametrize("waits", [0.2, 0.4, 0.45, 0.5, 0.55])
def test_without_a_change_the_measured_rate_stays(waits: float) -> None:
    """Waits for a core that its use explains, and twice as long ones and more."""
    shares: dict[Place, Share] = {
        "on core": Share(0.17),
        "waiting for a core": Share(waits),
        "table lock": Share(0.83 - waits),
    }
    loop = a_loop(shares, cores=Servers(2.0, 1.7), server_cores=0.2, other_cores=0.1)
    assert rates(loop, Remedy()) == pytest.approx((100, 100), rel=0.001)


def test_runs_differ_more_than_their_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foretelling, "RUN_ERROR", 0.05)
    found = foretell(a_loop(DELAYS), Remedy({"way": 0.4}))
    assert found is not None
    # Of both runs: 1.28 standard errors, times the square root of two.
    assert found.high / found.tps - 1 == pytest.approx(1.2816 * 0.05 * math.sqrt(2))


def test_the_higher_the_rate_becomes_the_less_is_known_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foretelling, "DRAG_ERROR", 0.5)
    for removed in (0.1, 0.4):
        found = foretell(a_loop(DELAYS), Remedy({"way": removed}))
        assert found is not None
        width = (1 - removed) ** (-1.2816 * 0.5)
        assert (found.high / found.tps, found.tps / found.low) == pytest.approx((width, width))


def test_what_holds_the_users_also_slows_them_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foretelling, "DRAG", 0.5)
    found = foretell(a_loop(DELAYS), Remedy({"way": 0.4}))
    assert found is not None
    assert found.tps == pytest.approx(100 * (1 / 0.6) ** 1.5)
    # Think time is not: half of the 60 ms that are left.
    thinking: dict[Place, Share] = {"way": Share(0.4), "on core": Share(0.3), "idle": Share(0.3)}
    slower = foretell(a_loop(thinking), Remedy({"way": 0.4}))
    assert slower is not None
    assert slower.tps == pytest.approx(10 / (0.03 + 0.03 * 0.6**0.5))
    # Nothing is slowed by what is not there.
    more = foretell(a_loop(DELAYS), Remedy(users=20))
    assert more is not None and more.tps == pytest.approx(200)


def test_fewer_cores_leave_the_server_s_own_threads_less_to_do() -> None:
    loop = a_loop(DELAYS, cores=Servers(4.0, 2.0), server_cores=0.6)
    low, high = rates(loop, Remedy(cores=0.5))
    assert (low, high) == pytest.approx((25, 25))
    found = foretell(loop, Remedy(cores=0.5))
    assert found is not None and found.low <= 25


def test_a_neighbour_s_end_takes_no_work_from_the_generator() -> None:
    """Half of the generator's time was a wait for a core."""
    shares: dict[Place, Share] = {"on core": Share(0.4), "generator": Share(0.3), "way": Share(0.3)}
    cores, loops = Servers(2.0, 1.5), Servers(1.0, 0.5)
    loop = a_loop(shares, cores=cores, loops=loops, generator_cores=0.5)
    found = rates(loop, Remedy({"generator": 0.15}, leaves_work=True))
    assert found[1] <= 100 / 0.85 * 1.001
    assert found[1] == pytest.approx(100 * 10 / 8.5)


def test_what_stops_threads_takes_no_work_from_an_event() -> None:
    """Half of the time on a core its threads did not run."""
    shares: dict[Place, Share] = {"on core": Share(0.5), "way": Share(0.5)}
    loop = a_loop(shares, cores=Servers(2.0, 1.5))
    stopped = Remedy({"on core": 0.25, "way": 0.25}, leaves_work=True)
    assert rates(loop, stopped) == pytest.approx((100 * 2.0 / 1.5,) * 2)


def test_what_the_host_does_for_no_event_is_no_event_s_work() -> None:
    """One core is half full; of that, a fifth is for events, and two fifths the server's own."""
    shares: dict[Place, Share] = {"on core": Share(0.01), "row lock": Share(0.99)}
    loop = a_loop(shares, cores=Servers(1.0, 0.5), server_cores=0.2, other_cores=0.2)
    low, high = rates(loop, Remedy({"row lock": 0.99}))
    # The server's own threads have more to do at a higher rate, or they have not.
    assert low == pytest.approx(100 * 0.8 / 0.3)
    assert high == pytest.approx(100 * 0.6 / 0.1)
    # What the remedy ends in the background is not there either.
    ended = rates(loop, Remedy({"row lock": 0.99}, frees_s=0.002))
    assert ended == pytest.approx((100 * 0.8 / 0.1, 100 * 0.8 / 0.1))


def test_work_of_the_same_amount_on_the_same_cores_is_the_measured_rate() -> None:
    """Idle cores and a wait for them: what nothing removes becomes no shorter by itself."""
    shares: dict[Place, Share] = {
        "on core": Share(0.17),
        "waiting for a core": Share(0.3),
        "way": Share(0.53),
    }
    found = foretell(a_loop(shares, cores=Servers(2.0, 1.7), other_cores=0.1), Remedy())
    assert found is not None
    assert found.tps == pytest.approx(100, rel=0.01)
    assert found.high < 110


def test_without_a_limit_of_its_own_a_server_waits_for_the_host_s_cores_alone() -> None:
    """Three users at a quota of half a core, on a host of two."""
    shares: dict[Place, Share] = {"on core": Share(1 / 6), "waiting for a core": Share(5 / 6)}
    loop = a_loop(shares, users=3, cores=Servers(2.0, 0.5))
    low, high = rates(loop, Remedy({"waiting for a core": 0.8}, is_unlimited=True))
    # Three users keep two cores busy; they wait for each other, or they do not.
    assert high == pytest.approx(400)
    assert 300 < low < 0.98 * high


def test_threads_that_were_not_looked_at_wait_within_the_server() -> None:
    shares: dict[Place, Share] = {"way": Share(0.6), "in the server": Share(0.4)}
    loop = a_loop(shares, cores=Servers(2.0, 1.0))
    low, high = rates(loop, Remedy({"way": 0.3}))
    assert low < high == pytest.approx(100 / 0.7)


def test_the_interval_is_as_wide_as_what_was_sampled_is_uncertain() -> None:
    remedy = Remedy({"way": 0.4})
    sure = foretell(a_loop(DELAYS), remedy)
    unsure = foretell(
        a_loop({"way": Share(0.5, 0.05), "on core": Share(0.5)}), Remedy({"way": 0.4})
    )
    noisy = foretell(a_loop(DELAYS, tps_error=5.0), remedy)
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
        assert told is not None, (what, system)
        demand = loop.cores.used / loop.tps if loop.cores else 0.0
        gone = remedy.removes.get("on core", 0.0) * loop.users / loop.tps
        cores = remedy.cores or float(system.cores)
        bound = most_events(cores, demand - gone)
        assert rates(loop, remedy)[1] <= bound * (1 + 1e-9), (what, system)
        found.append((told.low <= after <= told.high, abs(told.tps / after - 1)))
    return found


@pytest.fixture
def without_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work takes as long on a simulated core that was idle."""
    monkeypatch.setattr(foretelling, "COLD", 0.0)


@pytest.mark.usefixtures("without_caches")
def test_predicted_and_simulated_rates_agree() -> None:
    found = compared(seed=5, systems=8, events=1500)
    assert sum(inside for inside, _ in found) >= 5
    assert median(error for _, error in found) < 0.05


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.usefixtures("without_caches")
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
