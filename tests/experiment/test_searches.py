"""The order of an experiment's searches: one after the other, each to its end."""

from __future__ import annotations

from itertools import groupby

import pytest

from experiment.searching import PEAK, RATE, carried_out, made, servers
from loadstone.analyse.searches import searched, searching, shift_of
from loadstone.experiments.order import Again
from loadstone.experiments.schedule import PlannedStep, plan_time, schedule
from loadstone.model.experiment import Experiment, Until
from loadstone.model.plan import WorkloadSpec
from loadstone.model.result import StepResult
from loadstone.model.search import MOST_STEPS, SearchPlan

SERVERS = servers(a=1000.0, b=500.0)


def runs(planned: list[PlannedStep]) -> list[tuple[str, str, int]]:
    """The searches in the order in which they ran."""
    parts = ((each.step.variant[-1], each.step.workload, each.step.repeat) for each in planned)
    return [part for part, _ in groupby(parts)]


@pytest.mark.parametrize("search", [RATE, PEAK])
def test_variants_take_turns_search_by_search(search: SearchPlan) -> None:
    done: list[StepResult] = []
    planned = carried_out(made(search, repeats=4), SERVERS, done)
    assert "".join(variant for variant, _, _ in runs(planned)) == "abbaabba"
    assert [each.step.number for each in planned] == list(range(1, len(planned) + 1))
    assert all(each.found.complete for each in searched(made(search, repeats=4), done))


def test_each_workload_has_a_search_of_its_own() -> None:
    workloads = tuple(WorkloadSpec(name=name, tables=1, table_size=1) for name in "vw")
    planned = carried_out(made(repeats=2, workloads=workloads), SERVERS, [])
    assert "".join(variant + workload for variant, workload, _ in runs(planned)) == (
        "avbvawbwbwawbvav"
    )


def test_blocks_are_begun_once_and_hold_whole_searches() -> None:
    planned = carried_out(made(restart=True, repeats=4), SERVERS, [])
    assert "".join(variant for variant, _, _ in runs(planned)) == "abbaabba"
    fresh = [each for each in planned if each.fresh]
    assert [each.block for each in fresh] == list(range(1, 9))
    assert len({(each.step.variant, each.block) for each in planned}) == 8


def test_data_is_brought_back_before_the_first_search_of_a_round_and_no_other_step() -> None:
    planned = carried_out(made(repeats=4), SERVERS, [])
    first = next(at for at, each in enumerate(planned) if each.unit == 2)
    assert [at for at, each in enumerate(planned) if each.fresh] == [0, first]


@pytest.mark.parametrize("restart", [False, True])
def test_a_run_is_taken_up_wherever_it_was_left(restart: bool) -> None:
    experiment = made(restart=restart, repeats=2)
    whole: list[StepResult] = []
    planned = carried_out(experiment, SERVERS, whole)
    for left_after in range(len(planned) + 1):
        done: list[StepResult] = []
        carried_out(experiment, SERVERS, done, most=left_after)
        rest = carried_out(experiment, SERVERS, done)
        assert done == whole
        assert [each.step for each in rest] == [each.step for each in planned[left_after:]]


def test_a_round_beyond_the_plan_that_was_begun_is_ended() -> None:
    experiment = made(repeats=2)
    once = iter([Again(frozenset({("w", 64, None)}), "noise")])

    def more(done: object) -> Again:
        return next(once, Again())

    whole: list[StepResult] = []
    planned = carried_out(experiment, SERVERS, whole, more=more)
    assert "".join(variant for variant, _, _ in runs(planned)) == "abbaabba"
    done = whole[: len(whole) - 20]
    carried_out(experiment, SERVERS, done, more=lambda _: Again())
    assert done == whole


def test_until_goes_on_with_whole_rounds_of_searches() -> None:
    noisy = servers(noise=0.05, a=1000.0, b=900.0)
    experiment = made(repeats=2, until=Until(half_width=0.1, time_limit_s=3600.0))
    found = runs(carried_out(experiment, noisy, []))
    assert len(found) > 4
    assert "".join(variant for variant, _, _ in found) == "abba" * (len(found) // 4)


def test_searches_of_one_repeat_begin_at_rates_that_are_shifted_alike() -> None:
    assert [shift_of(repeat) for repeat in range(1, 9)] == [
        0.0, 0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875,
    ]  # fmt: skip
    planned = carried_out(made(repeats=2), servers(a=1000.0, b=1000.0), [])
    first = {
        (each.step.variant, each.step.repeat): each.step.rate.rate
        for each in reversed(planned)
        if each.step.rate
    }
    assert first["server=a", 1] == first["server=b", 1] == 735.0
    assert first["server=a", 2] == first["server=b", 2] == 719.0


def test_a_search_that_was_broken_off_is_told_as_such() -> None:
    experiment = made(repeats=2)
    done: list[StepResult] = []
    carried_out(experiment, SERVERS, done, most=3)
    going = searching(experiment)
    assert going is not None
    (found,) = going.conclude(done)
    assert (found.variant, found.workload, found.repeat) == ("server=a", "w", 1)
    assert not found.found.complete
    assert found.steps_of(done) == done


def test_the_time_is_that_of_the_longest_searches() -> None:
    experiment: Experiment = made(repeats=2, duration_s=10.0)
    assert plan_time(experiment, schedule(experiment)).load_s == 4 * MOST_STEPS * 10.0
