"""From planned steps to verdicts, on simulated machines whose true effect is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from loadstone.analyse.effects import unpaired
from loadstone.analyse.experimental_units import Contrast, Observed, contrasts, sides
from loadstone.analyse.verdict import Verdict, verdicts
from loadstone.experiments.schedule import PlannedStep, schedule
from loadstone.model.experiment import Experiment, Factor, Level, SandboxChoice
from loadstone.model.plan import WorkloadSpec


def experiment(
    repeats: int, *, restart: bool = False, ladder: tuple[int, ...] = (8,)
) -> Experiment:
    kind = "startup" if restart else "dynamic"
    on = Level.model_validate({"name": "on", kind: {"a": "1"}})
    return Experiment(
        name="x",
        sandbox=SandboxChoice(),
        workloads=(WorkloadSpec(name="w", tables=1, table_size=1),),
        factors=(Factor(name="f", levels=(Level(name="off"), on)),),
        ladder=ladder,
        repeats=repeats,
    )


Machine = Callable[[int, PlannedStep], float]
"""Events a second of the n-th step."""


def carried_out(planned: Sequence[PlannedStep], machine: Machine) -> list[Observed]:
    return [
        Observed(
            variant=step.step.variant,
            cell=(step.step.workload, step.step.concurrency, step.step.rate),
            unit=step.unit,
            forward=step.forward,
            rate=machine(at, step),
        )
        for at, step in enumerate(planned)
    ]


def machine(seed: int, *, effect: float = 0.0, drift: float = 0.0, spread: float = 0.01) -> Machine:
    """A machine that slows from step to step, as under a growing CPU hog; lognormal noise."""
    chance = np.random.default_rng(seed)

    def rate(at: int, step: PlannedStep) -> float:
        faster = 1 + effect * step.step.variant.endswith("on")
        return float(1000 * faster * np.exp(-drift * at + chance.normal(0, spread)))

    return rate


def judged(asked: Experiment, on: Machine) -> tuple[Verdict, ...]:
    (contrast,) = contrasts(asked)
    return verdicts(list(sides(carried_out(schedule(asked), on), contrast).values()))


def test_a_drift_is_not_a_difference_where_variants_take_turns() -> None:
    words = [
        found.word
        for seed in range(200)
        for found in judged(experiment(8), machine(seed, drift=0.02))
    ]
    assert words.count("faster") + words.count("slower") <= 19, "of 200; 10 are allowed"


def test_the_same_drift_is_one_where_all_of_a_comes_first() -> None:
    false = 0
    for seed in range(50):
        steps = schedule(experiment(8))
        on = machine(seed, drift=0.02)
        rates = [on(at, steps[0]) for at in range(len(steps))]
        p_value = unpaired(rates[:8], rates[8:]).p_value
        false += p_value is not None and p_value <= 0.05
    assert false == 50


def test_blocks_are_as_silent_under_a_drift() -> None:
    words = [
        found.word
        for seed in range(200)
        for found in judged(experiment(8, restart=True), machine(seed, drift=0.02))
    ]
    assert words.count("faster") + words.count("slower") <= 19


def test_an_effect_is_found_beneath_a_drift_ten_times_its_size() -> None:
    found = 0
    for seed in range(100):
        (verdict,) = judged(experiment(12), machine(seed, effect=0.03, drift=0.013))
        found += verdict.word == "faster"
    assert found >= 90


def test_each_cell_has_its_own_word() -> None:
    def on(at: int, step: PlannedStep) -> float:
        faster = 0.2 if step.step.concurrency == 64 else 0.0
        return machine(at, effect=faster)(at, step)

    words = [found.word for found in judged(experiment(12, ladder=(8, 64)), on)]
    assert words == ["no difference", "faster"]


def test_a_step_without_a_rate_spoils_its_unit_alone() -> None:
    steps = carried_out(schedule(experiment(8)), machine(1))
    steps[5] = Observed("f=on", steps[5].cell, steps[5].unit, steps[5].forward, None)
    (units,) = sides(steps, Contrast("f", "f=off", "f=on")).values()
    assert [at for at, each in enumerate(units) if each.b.rate is None] == [1]
    assert verdicts([units])[0].left_out == {"incomplete": 1}


def test_what_the_hypervisor_takes_counts_where_it_takes_it_from_one_side() -> None:
    contrast = Contrast("f", "f=off", "f=on")
    steps = carried_out(schedule(experiment(8)), machine(1))
    busy = [replace(step, steal=0.05) for step in steps]
    (units,) = sides(busy, contrast).values()
    assert not any(each.a.spoiled | each.b.spoiled for each in units), "alike on both sides"
    # 3 % more in each of the two steps of a round, or 5 % in one of them: above 2 % overall.
    for robbed, more in (((5, 6), 0.03), ((5,), 0.05)):
        some = [replace(step, steal=0.05 + more * (at in robbed)) for at, step in enumerate(steps)]
        (units,) = sides(some, contrast).values()
        spoiled = [sorted(each.a.spoiled | each.b.spoiled) for each in units]
        assert spoiled == [[], ["steal"], [], []]
        assert verdicts([units])[0].left_out == {"steal": 1}


@pytest.mark.parametrize("done", [12, 13, 14, 15])
def test_a_run_that_ended_early_has_the_units_that_are_whole(done: int) -> None:
    steps = carried_out(schedule(experiment(8)), machine(1))[:done]
    (units,) = sides(steps, Contrast("f", "f=off", "f=on")).values()
    assert len(units) == 3


def test_rounds_hold_both_orders_and_blocks_say_which() -> None:
    contrast = Contrast("f", "f=off", "f=on")
    for restart, orders in ((False, [None, None]), (True, [True, False, True, False])):
        steps = carried_out(schedule(experiment(4, restart=restart)), machine(1))
        (units,) = sides(steps, contrast).values()
        assert [each.a_first for each in units] == orders


def test_levels_are_compared_with_the_first_of_their_factor_all_else_being_equal() -> None:
    asked = experiment(2)
    other = Factor(name="g", levels=tuple(Level(name=name, dynamic={"b": name}) for name in "xyz"))
    both = asked.model_copy(update={"factors": (*asked.factors, other)})
    assert [(each.factor, each.a, each.b) for each in contrasts(both)] == [
        ("f", "f=off,g=x", "f=on,g=x"),
        ("f", "f=off,g=y", "f=on,g=y"),
        ("f", "f=off,g=z", "f=on,g=z"),
        ("g", "f=off,g=x", "f=off,g=y"),
        ("g", "f=off,g=x", "f=off,g=z"),
        ("g", "f=on,g=x", "f=on,g=y"),
        ("g", "f=on,g=x", "f=on,g=z"),
    ]
