"""Searches on servers whose capacity is known."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from analyse.made import a_step
from loadstone.analyse.search import confidence, following, outcome
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.model.search import Objective, SearchOutcome, SearchPlan

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
