"""Many runs over time: a known change is found with its cause, and noise gives no change."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from analyse.made import a_step
from analyse.runs import a_run, environment, repeats
from loadstone.analyse.gates import change
from loadstone.analyse.history import Series, histories, judge_history
from loadstone.analyse.metrics import METRICS, TPS
from loadstone.analyse.paired_sides import Run
from loadstone.model.plan import WATCHED
from loadstone.model.result import StepResult
from loadstone.report.trend import notes, sections

SEEDS = range(60)


def history(seed: int, *levels: tuple[int, float], noise: float = 0.01) -> list[Run]:
    chance = random.Random(seed)
    rates = [level * (1 + chance.gauss(0, noise)) for count, level in levels for _ in range(count)]
    turn = levels[0][0]
    around = [environment({"sync_binlog": "1" if day < turn else "0"}) for day in range(len(rates))]
    return [
        a_run(f"run-{day}", repeats(rate), named=("nightly", day), around=around[day])
        for day, rate in enumerate(rates)
    ]


def test_two_changes_are_found_with_what_changed_there() -> None:
    runs = history(7, (15, 1000.0), (12, 900.0), (15, 980.0))
    random.Random(1).shuffle(runs)
    (series,) = histories(runs, [TPS])
    assert [turn.point.at for turn in series.turns] == pytest.approx([15, 27], abs=1)
    assert [point.run for point in series.points][:2] == ["run-0", "run-1"]
    if series.turns[0].point.at == 15:
        assert series.turns[0].differs == ("sync_binlog",)
    assert series.turns[1].differs == ()
    assert [len(level) for level in series.levels()] == pytest.approx([15, 12, 15], abs=1)


def test_histories_without_a_change_raise_hardly_an_alarm() -> None:
    alarms = [seed for seed in SEEDS if histories(history(seed, (30, 1000.0)), [TPS])[0].turns]
    assert len(alarms) <= 3, f"false alarms with seeds {alarms}"


def test_each_name_level_and_figure_has_a_series_of_its_own() -> None:
    runs = [
        a_run(f"{name}-{day}", [*repeats(100, users=1), *repeats(700, users=8, first=2)],
              named=(name, day))
        for name in ("nightly", "weekly")
        for day in range(3)
    ]  # fmt: skip
    found = histories(runs, [TPS, METRICS["p99"]])
    assert [(each.name, each.where, each.metric.name) for each in found][:3] == [
        ("nightly", "oltp_read_write, 1 user", "tps"),
        ("nightly", "oltp_read_write, 1 user", "p99"),
        ("nightly", "oltp_read_write, 8 users", "tps"),
    ]
    assert len(found) == 8


def test_a_run_without_a_step_to_quote_is_left_out_and_counted() -> None:
    runs = history(1, (9, 1000.0))
    runs[4] = a_run("run-4", repeats(10, steady=False), named=("nightly", 4))
    (series,) = histories(runs, [TPS])
    assert (len(series.points), series.left_out) == (8, 1)


def states(runs: list[Run], text: str) -> list[str]:
    gate = change(text)
    found: list[Series] = histories(runs, [gate.metric])
    return [check.state for check in judge_history(found, {gate.metric.name: [gate]})]


def test_a_gate_asks_the_newest_level_by_the_one_before() -> None:
    worse = history(3, (15, 1000.0), (10, 900.0))
    mended = history(3, (15, 1000.0), (10, 900.0), (10, 1000.0))
    assert states(worse, "tps<-5%") == ["broken"]
    assert states(mended, "tps<-5%") == ["held"]
    assert states(worse, "tps<-20%") == ["held"]
    assert states(history(5, (20, 1000.0)), "tps<-5%") == ["held"]


def test_a_newest_run_that_says_nothing_is_no_pass() -> None:
    good = history(5, (20, 1000.0))

    def with_newest(*steps: StepResult, state: str = "finished") -> list[str]:
        run = a_run("run-20", steps, named=("nightly", 20))
        info = run.result.run.model_copy(update={"state": state})
        return states(
            [*good, replace(run, result=run.result.model_copy(update={"run": info}))], "tps<-5%"
        )

    assert with_newest(*repeats(1000)) == ["held"]
    assert with_newest(*repeats(1000, steady=False)) == ["no evidence"]
    assert with_newest(*repeats(1000, state="failed"), state="failed") == ["no evidence"]
    assert with_newest(state="failed") == ["no evidence"], "it ended before its first step"
    # From now on the runs have another ladder.
    assert with_newest(*repeats(1000, users=16)) == ["not decided", "not decided"]


def test_a_history_that_begins_is_left_open_and_one_without_the_figure_fails() -> None:
    assert states(history(1, (5, 1000.0)), "tps<-5%") == ["not decided"]
    assert states(history(1, (9, 1000.0)), "write_p99>5%") == ["no evidence"]


def watched(day: int) -> Run:
    step = a_step(tps=0.0, users=1).model_copy(update={"workload": WATCHED, "tps": None})
    return a_run(f"watch-{day}", [step], named=("watch", day))


def stopped(label: str, steps: list[StepResult], name: str, day: int) -> Run:
    run = a_run(label, steps, named=(name, day))
    info = run.result.run.model_copy(update={"state": "stopped"})
    return replace(run, result=run.result.model_copy(update={"run": info}))


def test_what_cannot_have_the_figure_breaks_no_gate_of_others() -> None:
    good = history(5, (20, 1000.0))
    first = stopped("first", repeats(1000, state="stopped"), "other", 21)
    newest = stopped("newest", repeats(1000, state="stopped"), "nightly", 22)
    assert states([*good, watched(23), first, newest], "tps<-5%") == ["held"]
    found = histories([*good, watched(23), first], [TPS])
    said = list(notes(found, ["tps"]))
    assert "left out of the gates, as no run there has their figure: other, watch" in said
    assert not [line for line in notes(found) if "left out of the gates" in line]


def test_a_gate_that_sees_nothing_does_not_pass() -> None:
    assert states([watched(1), watched(2)], "tps<-5%") == ["no evidence"]


def test_a_short_history_is_told_in_words_that_fit_its_number() -> None:
    (check,) = judge_history(
        histories(history(1, (1, 1000.0)), [TPS]), {"tps": [change("tps<-5%")]}
    )
    assert check.why == "1 run: a change shows from 8 on"


def test_the_newest_value_is_not_the_mean_of_its_level() -> None:
    rates = (1774.0, 1700.0, 1561.0)
    runs = [a_run(f"run-{at}", repeats(rate), named=("n", at)) for at, rate in enumerate(rates)]
    table = sections(histories(runs, [TPS]))[0].table
    assert table is not None
    assert [column.head for column in table.columns][5:7] == ["newest", "mean of\nits level"]
    assert table.rows[0][4:7] == ("1,774/s", "1,561/s", "1,678/s")
