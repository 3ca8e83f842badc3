"""The order of steps: balanced for any number of variants and repeats."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.experiments.schedule import PlannedStep, passes, plan_time, schedule
from loadstone.model.experiment import Experiment, Factor, Level, SandboxChoice
from loadstone.model.plan import Rate, WarmupAuto, WarmupSeconds, WorkloadSpec


def factor(name: str, levels: int, *, restart: bool) -> Factor:
    def level(at: int) -> Level:
        setting = {f"var_{name}": str(at)}
        if restart:
            return Level(name=f"l{at}", startup=setting)
        return Level(name=f"l{at}", dynamic=setting)

    return Factor(name=name, levels=tuple(level(at) for at in range(levels)))


def made(*factors: Factor, **changes: object) -> Experiment:
    given_: dict[str, object] = {
        "name": "x",
        "sandbox": SandboxChoice(),
        "workloads": (WorkloadSpec(name="w", tables=1, table_size=1),),
        "factors": factors,
        "ladder": (8,),
        "repeats": 4,
    }
    return Experiment.model_validate(given_ | changes)


def order(steps: tuple[PlannedStep, ...]) -> str:
    """Variants by the last digit of their levels."""
    return " ".join("".join(part[-1] for part in step.step.variant.split(",")) for step in steps)


DYNAMIC, RESTART = factor("d", 2, restart=False), factor("r", 2, restart=True)


def test_dynamic_levels_take_turns_step_by_step() -> None:
    steps = schedule(made(DYNAMIC))
    assert order(steps) == "0 1 1 0 0 1 1 0"
    assert [step.unit for step in steps] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert {step.block for step in steps} == {1}


def test_a_ladder_is_gone_through_within_the_pass() -> None:
    steps = schedule(made(DYNAMIC, ladder=(1, 8), repeats=2))
    assert [(step.step.concurrency, step.step.variant[-1]) for step in steps] == [
        (1, "0"), (1, "1"), (8, "0"), (8, "1"), (8, "1"), (8, "0"), (1, "1"), (1, "0")
    ]  # fmt: skip


def test_levels_that_need_a_restart_are_blocks_that_take_turns() -> None:
    steps = schedule(made(RESTART, ladder=(1, 8, 64)))
    blocks = [
        ({step.step.variant for step in group}, len(list(group)))
        for _, group in groupby(steps, key=lambda step: step.block)
    ]
    assert len(blocks) == 8
    assert "".join(step.step.variant[-1] for step in steps[::3]) == "01100110"
    assert [step.unit for step in steps[::3]] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_block_of_several_variants_holds_both_orders() -> None:
    steps = schedule(made(RESTART, DYNAMIC, repeats=2))
    assert order(steps) == "00 01 01 00 10 11 11 10 11 10 10 11 01 00 00 01"
    assert [step.block for step in steps] == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4


def test_three_levels_go_there_and_back() -> None:
    assert order(schedule(made(factor("d", 3, restart=False), repeats=2))) == "0 1 2 2 1 0"


def test_without_factors_there_is_one_variant() -> None:
    steps = schedule(made(ladder=(1, 8), repeats=3))
    assert [(step.step.variant, step.step.concurrency) for step in steps] == [
        ("default", 1), ("default", 8), ("default", 8), ("default", 1), ("default", 1),
        ("default", 8),
    ]  # fmt: skip


def test_data_is_brought_back_once_a_block_or_round() -> None:
    for experiment in (made(DYNAMIC, ladder=(1, 8)), made(RESTART, DYNAMIC)):
        steps = schedule(experiment)
        fresh = [at for at, step in enumerate(steps) if step.fresh]
        restarts = bool(experiment.restarting)
        begins = {
            (step.block if restarts else step.unit): at
            for at, step in reversed(list(enumerate(steps)))
        }
        assert fresh == sorted(begins.values())


def test_passes_go_on_where_the_schedule_ends() -> None:
    experiment = made(RESTART, DYNAMIC)
    further = [step for each in islice(passes(experiment), 6) for step in each]
    assert tuple(further[: len(schedule(experiment))]) == schedule(experiment)
    assert [step.step.number for step in further] == list(range(1, len(further) + 1))


def test_the_time_counts_warm_up_windows_and_starts() -> None:
    experiment = made(RESTART, duration_s=60.0, warmup=WarmupSeconds(warmup_s=10.0))
    found = plan_time(experiment, schedule(experiment))
    assert (found.load_s, found.starts, found.restores) == (8 * 70.0, 8, 8)
    assert found.total_s == 8 * 70.0 + 8 * found.start_s
    auto = made(DYNAMIC, duration_s=60.0, warmup=WarmupAuto())
    assert plan_time(auto, schedule(auto)).load_s == 8 * 60.0
    assert plan_time(auto, schedule(auto)).starts == 1


EXPERIMENTS = st.builds(
    made,
    st.builds(factor, st.just("a"), st.integers(2, 4), restart=st.booleans()),
    st.builds(factor, st.just("b"), st.integers(2, 3), restart=st.booleans()),
    ladder=st.sampled_from([(1,), (1, 8), (1, 8, 64)]),
    rates=st.sampled_from([(), (Rate(rate=100), Rate(rate=200))]),
    workloads=st.sampled_from(
        [tuple(WorkloadSpec(name=name, tables=1, table_size=1) for name in names)
         for names in ("w", "vw")]
    ),
    repeats=st.sampled_from([2, 4, 6]),
)  # fmt: skip


@given(EXPERIMENTS)
def test_every_variant_has_as_many_units_of_every_cell(experiment: Experiment) -> None:
    steps = schedule(experiment)
    cells = len(experiment.workloads) * len(experiment.ladder) * max(1, len(experiment.rates))
    units = Counter((step.step.variant, cell(step), step.unit) for step in steps)
    assert len(set(units.values())) == 1, "each unit has as many steps as any other"
    assert len({(variant, where) for variant, where, _ in units}) == cells * len(
        experiment.variants
    )
    repeats = Counter((step.step.variant, cell(step), step.step.repeat) for step in steps)
    assert set(repeats.values()) == {1}
    assert [step.step.number for step in steps] == list(range(1, len(steps) + 1))


@given(EXPERIMENTS)
def test_a_drift_that_grows_evenly_adds_the_same_to_all(experiment: Experiment) -> None:
    moments = defaultdict(list)
    for at, step in enumerate(schedule(experiment)):
        moments[step.step.variant, cell(step)].append(at)
    means = {sum(each) / len(each) for each in moments.values()}
    assert means == {(len(schedule(experiment)) - 1) / 2}


@given(EXPERIMENTS)
def test_a_block_is_one_start_of_one_kind(experiment: Experiment) -> None:
    starts = defaultdict(set)
    by_name = {variant.name: variant for variant in experiment.variants}
    for step in schedule(experiment):
        variant = by_name[step.step.variant]
        starts[step.block].add(variant.at_start(experiment.restarting))
    assert all(len(kinds) == 1 for kinds in starts.values())
    wanted = {variant.at_start(experiment.restarting) for variant in experiment.variants}
    assert len(starts) == (len(wanted) * experiment.repeats if len(wanted) > 1 else 1)


def cell(step: PlannedStep) -> tuple[str, int, str]:
    return step.step.workload, step.step.concurrency, str(step.step.rate)


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_a_unit_of_rounds_is_two_repeats(repeats: int) -> None:
    assert {step.unit for step in schedule(made(DYNAMIC, repeats=repeats))} == set(
        range(1, (repeats + 1) // 2 + 1)
    )
