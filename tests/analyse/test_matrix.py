"""Sides compared: which ones, what is said of them, and when nothing may be said."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from analyse.made import a_step
from analyse.runs import a_run, an_experiment, at_target, repeats
from loadstone.analyse.gates import change
from loadstone.analyse.matrix import ComparisonError, judge, matrix, swings
from loadstone.analyse.paired_sides import Run
from loadstone.experiments.schedule import schedule


def noisy(seed: int, level: float, count: int = 8) -> list[float]:
    chance = random.Random(seed)
    return [level * (1 + chance.gauss(0, 0.01)) for _ in range(count)]


def measured(seed: int, gain: float) -> Run:
    """An experiment as planned, whose second level is faster by `gain`, on a drifting machine."""
    experiment = an_experiment(repeats=12)
    chance = random.Random(seed)
    steps = []
    for planned in schedule(experiment):
        step = planned.step
        rate = 1000.0 * (1 + 0.01 * step.number) * (1 + chance.gauss(0, 0.005))
        if step.variant == "durability=relaxed":
            rate *= 1 + gain
        made = a_step(tps=rate, step=step.number, variant=step.variant, repeat=step.repeat)
        steps.append(made)
    return a_run("exp", steps, experiment=experiment)


def test_two_runs_of_many_steps_are_told_apart() -> None:
    a, b = a_run("a", repeats(*noisy(1, 1000))), a_run("b", repeats(*noisy(2, 1100)))
    found = matrix([a, b])
    assert [side.name for side in found.sides] == ["a", "b"]
    (cell,) = found.cells
    (against,) = cell.against
    assert against.verdict.word == "faster"
    assert against.verdict.effect is not None
    assert against.verdict.effect.relative == pytest.approx(0.10, abs=0.02)
    assert not found.interleaved
    assert not found.single


def test_one_step_a_side_has_a_ratio_and_no_interval() -> None:
    found = matrix([a_run("a", repeats(1000)), a_run("b", repeats(900))])
    (against,) = found.cells[0].against
    assert against.verdict.word == "not enough evidence"
    assert against.verdict.effect is not None
    assert against.verdict.effect.relative == pytest.approx(-0.1)
    assert against.verdict.effect.interval is None
    assert found.single


def test_an_experiment_alone_is_compared_by_its_factor_in_pairs() -> None:
    found = matrix([measured(3, 0.05)])
    assert [side.name for side in found.sides] == ["full", "relaxed"]
    (against,) = found.cells[0].against
    assert found.interleaved
    assert against.contest.beside is not None
    assert against.verdict.word == "faster"
    # Paired units cancel a drift of 24 % over the run.
    assert against.verdict.effect is not None
    assert against.verdict.effect.relative == pytest.approx(0.05, abs=0.01)


def test_two_experiments_are_compared_variant_by_variant() -> None:
    old, new = (
        replace(measured(seed, 0.05), label=name) for seed, name in ((4, "old"), (5, "new"))
    )
    found = matrix([old, new])
    assert [str(cell.place) for cell in found.cells] == [
        "oltp_read_write, 8 users, durability=full",
        "oltp_read_write, 8 users, durability=relaxed",
    ]
    by_factor = matrix([old, new], "durability")
    assert [cell.place.context for cell in by_factor.cells] == ["old", "new"]
    assert by_factor.interleaved


def test_runs_at_two_targets_are_compared_by_target() -> None:
    one, two = (
        a_run(name, repeats(*noisy(seed, 1000), **at_target(f"mysql://u@{name}/s?tls=disabled")))
        for seed, name in enumerate(("db1", "db2"))
    )
    found = matrix([one, two], "target")
    assert [side.name for side in found.sides] == ["db1:3306", "db2:3306"]


def test_a_level_that_only_one_side_has_is_shown_and_not_compared() -> None:
    a = a_run("a", [*repeats(1000), a_step(users=64, step=2)])
    found = matrix([a, a_run("b", repeats(1000))])
    assert [len(cell.side_results) for cell in found.cells] == [2, 1]
    assert [len(cell.against) for cell in found.cells] == [1, 0]


@pytest.mark.parametrize(
    ("runs", "by", "said"),
    [
        ([a_run("a", repeats(1))], None, "nothing to compare"),
        ([a_run("a", repeats(1)), a_run("b", repeats(1))], "pool", "no factor 'pool'"),
        ([measured(1, 0.0)], "pool", "no factor 'pool'"),
        ([a_run("a", []), a_run("b", [])], None, "no step"),
        (
            [a_run(name, repeats(1, **at_target("mysql://u@db/s"))) for name in "ab"],
            "target",
            "only one target",
        ),
    ],
)
def test_what_has_no_two_sides_is_refused(runs: list[Run], by: str | None, said: str) -> None:
    with pytest.raises(ComparisonError, match=said):
        matrix(runs, by)


def test_swings_and_dips_are_those_within_steps() -> None:
    even = swings([[100.0, 101.0, 99.0, 100.0]])
    uneven = swings([[100.0, 20.0, 100.0, 110.0], [500.0, 500.0, 510.0, 490.0]])
    assert even.dips == 0.0
    assert uneven.dips == pytest.approx(1 / 8)
    assert uneven.lowest == pytest.approx(0.2)
    assert (uneven.variation.within or 0) > 0.2 > (even.variation.within or 0)
    assert swings([]).dips is None


def states(a: list[float], b: list[float], gate: str = "tps<-5%") -> list[str]:
    found = matrix([a_run("a", repeats(*a)), a_run("b", repeats(*b))])
    return [check.state for check in judge(found, [change(gate)])]


def test_a_gate_on_changes_asks_the_interval() -> None:
    assert states(noisy(1, 1000), noisy(2, 900)) == ["broken"]
    assert states(noisy(1, 1000), noisy(2, 1000)) == ["held"]
    assert states(noisy(1, 1000), noisy(2, 950)) == ["not decided"]
    assert states([1000], [940]) == ["broken"]
    assert states([1000], [960]) == ["held"]


def test_a_gate_that_sees_nothing_fails() -> None:
    a = a_run("a", [*repeats(1000), a_step(users=64, step=2)])
    checks = judge(matrix([a, a_run("b", repeats(1000))]), [change("tps<-5%")])
    assert [(check.state, check.fails) for check in checks] == [
        ("held", False),
        ("no evidence", True),
    ]
    unsteady = a_run("b", repeats(1000, 1000, steady=False))
    (check,) = judge(matrix([a_run("a", repeats(1000, 990)), unsteady]), [change("tps<-5%")])
    assert (check.state, check.why) == ("no evidence", "left out: unsteady")


def test_errors_from_nought_and_to_nought_are_changes() -> None:
    errors: dict[str, Any] = {"errors": {"1213": 50}}
    clean, dirty = a_run("a", repeats(1000)), a_run("b", repeats(1000, **errors))
    gate = change("errors>10%")
    worse, better, same = (
        judge(matrix([a, b]), [gate])[0].state
        for a, b in (
            (clean, dirty),
            (a_run("a", repeats(1000, **errors)), a_run("b", repeats(1000))),
            (clean, a_run("b", repeats(1000))),
        )
    )
    assert (worse, better, same) == ("broken", "held", "held")
