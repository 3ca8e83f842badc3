"""Searches on servers whose capacity is known."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyse.made import a_step
from loadstone.analyse.search import confidence, following, most_left, outcome
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.model.search import MOST_STEPS, Objective, SearchOutcome, SearchPlan

P99 = Objective(figure="p99", relation="<", limit_ms=10.0)

Server = Callable[[int, Rate | None, int], StepResult]


def searched(plan: SearchPlan, server: Server, users: int = 64) -> tuple[SearchOutcome, int]:
    """Run a search; returns what it found, and after how many steps."""
    done: list[StepResult] = []
    while (wanted := following(plan, users, done)) is not None:
        done.append(server(wanted.concurrency, wanted.rate, len(done)))
    return outcome(plan, users, done), len(done)


def queue(capacity: float, noise: float = 0.0, seed: int = 1) -> Server:
    """A server like M/M/1: waiting grows as the rate nears the capacity."""
    chance = random.Random(seed)

    def drive(users: int, rate: Rate | None, number: int) -> StepResult:
        swing = 1 + noise * chance.uniform(-1, 1)
        if rate is None:
            return a_step(users=users, tps=capacity * swing, p99_ms=50.0)
        free = capacity * swing - rate.rate
        if free <= 0:
            return a_step(users=users, rate=rate, tps=capacity, p99_ms=5000.0, waiting=10_000)
        # The response time is exponential with mean 1 / (capacity - rate).
        return a_step(users=users, rate=rate, tps=rate.rate, p99_ms=4605 / free)

    return drive


@pytest.mark.parametrize("capacity", [800.0, 5000.0, 123_456.0])
def test_the_highest_rate_within_the_objective_is_found_in_few_steps(capacity: float) -> None:
    found, steps = searched(SearchPlan(objective=P99), queue(capacity))
    # 4605 / (capacity - rate) = 10.
    truth = capacity - 460.5
    assert found.rate is not None
    assert found.complete
    assert found.rate.value == pytest.approx(truth, rel=0.05)
    assert found.rate.value <= truth
    assert (found.rate.good, found.rate.steps) == (3, 3)
    assert found.rate.confidence == pytest.approx(15 / 16)
    assert steps <= 14


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_the_answer_no_further_than_it_is_itself(seed: int) -> None:
    found, steps = searched(SearchPlan(objective=P99), queue(5000.0, noise=0.03, seed=seed))
    assert found.rate is not None
    assert found.rate.value == pytest.approx(4540, rel=0.10)
    assert steps <= 25


def test_an_objective_that_nothing_holds_ends_the_search() -> None:
    never = Objective(figure="p99", relation="<", limit_ms=0.001)
    found, steps = searched(SearchPlan(objective=never), queue(5000.0))
    assert found.rate is None
    assert found.beyond is not None
    assert found.complete
    assert steps < 20


def test_a_server_that_holds_it_up_to_its_capacity_has_nothing_beyond_or_just_there() -> None:
    found, _ = searched(SearchPlan(objective=P99.model_copy(update={"limit_ms": 1e6})), queue(5000))
    assert found.rate is not None
    assert found.rate.value == pytest.approx(5000, rel=0.05)


def amdahl(peak: float, half: float, fall: float = 0.0) -> Server:
    """Rates that climb to a peak, half of which `half` users reach; beyond 200 users they fall."""

    def drive(users: int, rate: Rate | None, number: int) -> StepResult:
        tps = min(peak, peak * users / (2 * half))
        return a_step(users=users, tps=tps - fall * max(0, users - 200), p99_ms=1.0)

    return drive


@pytest.mark.parametrize("half", [2, 8, 25])
def test_the_fewest_users_at_the_peak_are_found(half: int) -> None:
    found, steps = searched(SearchPlan(peak=True), amdahl(1000.0, half, fall=1.0))
    assert found.concurrency is not None
    truth = 0.95 * 2 * half
    assert truth <= found.concurrency.value <= max(1.25 * truth, truth + 1)
    assert found.peak_tps == pytest.approx(1000)
    assert found.concurrency.good == found.concurrency.steps
    assert steps <= 22


def test_the_climb_ends_where_the_server_takes_no_more() -> None:
    plan = SearchPlan(peak=True, most_users=16)
    found, _ = searched(plan, amdahl(1000.0, 500))
    assert found.concurrency is not None
    assert found.concurrency.value <= 16


def test_both_are_found_one_after_the_other() -> None:
    found, _ = searched(SearchPlan(peak=True, objective=P99), queue(5000.0))
    assert found.concurrency is not None
    assert found.concurrency.value == 1
    assert found.rate is not None


def test_the_confidence_is_that_of_the_posterior() -> None:
    assert confidence(0, 0) == 0.5
    assert confidence(3, 3) == pytest.approx(15 / 16)
    assert confidence(2, 3) == pytest.approx(11 / 16)
    assert confidence(0, 3) == pytest.approx(1 / 16)


PLANS = [
    SearchPlan(objective=P99),
    SearchPlan(peak=True),
    SearchPlan(peak=True, most_users=100, objective=P99),
]


def consistent(seed: int) -> Server:
    """A server of any shape, whose steps at one level all agree."""
    chance = random.Random(seed)
    tps: dict[int, float] = {}
    late: dict[float, bool] = {}

    def drive(users: int, rate: Rate | None, number: int) -> StepResult:
        if rate is None:
            best = max(tps.values(), default=1000.0)
            swing = chance.choice((0.5, 0.94, 0.97, 1.0, 1.02, 1.04, 1.9))
            # No two levels have the same rate.
            return a_step(users=users, tps=tps.setdefault(users, best * swing + users * 1e-3))
        is_late = late.setdefault(rate.rate, chance.random() < 0.6)
        return a_step(users=users, rate=rate, tps=rate.rate, p99_ms=50.0 if is_late else 5.0)

    return drive


@pytest.mark.parametrize("plan", PLANS, ids=["rate", "peak", "both"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_no_more_steps_follow_than_are_said_to_be_left(plan: SearchPlan, seed: int) -> None:
    server, done, said = consistent(seed), list[StepResult](), list[int]()
    while (wanted := following(plan, 8, done)) is not None:
        said.append(most_left(plan, 8, done))
        done.append(server(wanted.concurrency, wanted.rate, len(done)))
    assert most_left(plan, 8, done) == 0
    assert all(left >= len(done) - at for at, left in enumerate(said)), (said, len(done))
    assert all(after < before for before, after in zip(said, said[1:], strict=False)), said


@pytest.mark.parametrize(
    ("plan", "most"),
    [
        # The closed loop; 13 rates down to 1 % of it, and one for their rounding; 3 halvings of the
        # interval; two repeats on both sides.
        (PLANS[0], 1 + 13 + 1 + 3 + 4),
        # 1 to 1,024; two levels between neighbours; two repeats of three levels.
        (PLANS[1], 11 + 2 + 6),
        (SearchPlan(peak=True, most_users=1), 1 + 2),
    ],
)
def test_what_is_left_is_counted_from_the_searchs_own_limits(plan: SearchPlan, most: int) -> None:
    assert most_left(plan, 64, []) == most


def test_what_is_left_gets_less_with_each_level() -> None:
    done = [a_step(users=64, tps=1000.0)]
    for rate, p99_ms in ((735.0, 50.0), (514.0, 5.0)):
        done.append(a_step(users=64, rate=Rate(rate=rate), tps=rate, p99_ms=p99_ms))
    # Three halvings, and two repeats on both sides.
    assert most_left(PLANS[0], 64, done) == 3 + 4


def test_a_search_never_has_more_steps_than_its_limit() -> None:
    done = [a_step(users=64, tps=1000.0) for _ in range(MOST_STEPS - 2)]
    assert most_left(PLANS[0], 64, done) == 2
