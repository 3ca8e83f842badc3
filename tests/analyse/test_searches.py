"""Variants compared by what their searches found, on servers whose capacity is known."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from experiment.searching import PEAK, RATE, Server, answer, carried_out, made, servers
from loadstone.analyse.comparison import CellTable, Comparison, compare, observed
from loadstone.model.experiment import Experiment
from loadstone.model.plan import Step
from loadstone.model.result import StepResult
from loadstone.model.search import SearchPlan


def compared(experiment: Experiment, server: Server) -> Comparison:
    done: list[StepResult] = []
    carried_out(experiment, server, done)
    return compare(experiment, done, {})


def table(experiment: Experiment, server: Server) -> CellTable:
    (found,) = compared(experiment, server).cells
    return found


@pytest.mark.parametrize("search", [RATE, PEAK])
@pytest.mark.parametrize("restart", [False, True])
def test_a_difference_is_found_and_the_truth_lies_in_its_interval(
    search: SearchPlan, restart: bool
) -> None:
    experiment = made(search, restart=restart, repeats=8)
    found = table(experiment, servers(noise=0.01, a=1000.0, b=800.0))
    (one,) = found.compared
    assert one.verdict.word == "slower"
    effect = one.verdict.effect
    assert effect is not None and effect.interval is not None
    assert effect.units == (8 if restart else 4)
    assert effect.interval.low < -0.2 < effect.interval.high
    assert [len(row.searches) for row in found.rows] == [8, 8]
    first = found.rows[0].mean
    assert first is not None and first.value == pytest.approx(1000, rel=0.06)
    assert found.search == search


@pytest.mark.parametrize("seed", range(5))
def test_no_difference_is_claimed_between_equals(seed: int) -> None:
    found = table(made(repeats=12), servers(noise=0.02, seed=seed, a=1000.0, b=1000.0))
    (one,) = found.compared
    assert one.verdict.word in ("no difference", "not enough evidence")


def test_a_difference_finer_than_the_steps_of_a_search_is_not_lost() -> None:
    """There is no noise, and nothing is known of a closed loop."""

    def drive(step: Step) -> StepResult:
        capacity = 600.0 if step.variant == "server=a" else 612.0
        return answer(step, capacity if step.rate else 1000.0)

    (one,) = table(made(repeats=16), drive).compared
    effect = one.verdict.effect
    assert effect is not None and effect.interval is not None
    assert effect.interval.low < 0.02 < effect.interval.high
    assert effect.relative == pytest.approx(0.02, abs=0.01)


def test_searches_that_missed_the_objective_are_counted() -> None:
    def drive(step: Step) -> StepResult:
        found = answer(step, 1000.0)
        misses = step.variant == "server=b" and step.rate is not None
        return found.model_copy(update={"failed": 1}) if misses else found

    found = table(made(repeats=4), drive)
    assert [(row.variant[-1], row.missed) for row in found.rows] == [("a", 0), ("b", 4)]
    (one,) = found.compared
    assert (one.verdict.word, one.verdict.effect) == ("not enough evidence", None)
    assert one.verdict.left_out == {"objective missed": 2}
    assert one.verdict.units_left_out == one.pairs == 2
    assert found.rows[1].mean is None


def test_a_search_that_was_broken_off_is_in_no_comparison() -> None:
    experiment = made(repeats=2)
    done: list[StepResult] = []
    carried_out(experiment, servers(a=1000.0, b=500.0), done)
    (found,) = compare(experiment, done[:-1], {}).cells
    assert [len(row.searches) for row in found.rows] == [1, 2]
    assert found.compared == () or found.compared[0].pairs == 0


def test_a_rate_that_was_lost_to_the_generator_spoils_a_search_and_a_round_replaces_it() -> None:
    def drive(step: Step) -> StepResult:
        found = answer(step, 900.0 if step.rate else 1000.0)
        bound = step.repeat == 1 and step.rate is not None and step.rate.rate > 900.0
        cost = a_step().generator.model_copy(update={"client_bound": bound})
        return found.model_copy(update={"generator": cost})

    experiment = made(repeats=4)
    done: list[StepResult] = []
    carried_out(experiment, drive, done)
    seen = observed(experiment, done)
    assert {each.unit for each in seen} == {1, 2, 3}
    assert {each.unit for each in seen if each.spoiled} == {1}
    assert {reason for each in seen for reason in each.spoiled} == {"client-bound"}


def test_noise_that_changes_no_verdict_spoils_no_search() -> None:
    """Steps that keep the objective although one fails it, and one of those that do not keep it."""
    lost: dict[tuple[str, int], int] = {}

    def drive(step: Step) -> StepResult:
        found = answer(step, 900.0 if step.rate else 1000.0)
        is_lost = step.rate is not None and step.rate.rate > 900.0
        if is_lost:
            part = step.variant, step.repeat
            lost[part] = lost.get(part, 0) + 1
        bound = not is_lost or lost[step.variant, step.repeat] == 1
        cost = a_step().generator.model_copy(update={"client_bound": bound})
        return found.model_copy(update={"generator": cost})

    experiment = made(repeats=2)
    done: list[StepResult] = []
    carried_out(experiment, drive, done)
    assert not any(each.spoiled for each in observed(experiment, done))
    assert len(observed(experiment, done)) == 4


def test_the_users_at_the_peak_are_told() -> None:
    found = table(made(PEAK, repeats=2), servers(a=1000.0, b=500.0))
    assert [row.users for row in found.rows] == [8.0, 8.0]


def test_with_both_the_rate_is_compared_and_the_users_at_the_peak_drive_it() -> None:
    both = RATE.model_copy(update={"peak": True, "most_users": 64})
    found = table(made(both, repeats=2), servers(a=1000.0, b=500.0))
    assert [row.users for row in found.rows] == [8, 8]
    rates = [{step.concurrency for step in row.steps if step.rate} for row in found.rows]
    assert rates == [{8}, {8}]
    assert [round(row.mean.value, -2) for row in found.rows if row.mean] == [1000, 500]
