"""Steps that lost cores to the hypervisor are marked; a peak rests on others where it can."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyse.made import a_step
from loadstone.analyse.ladder import has_steal, levels, shape
from loadstone.analyse.usl import Usl, of_ladder
from loadstone.model.language import ENGLISH
from loadstone.model.observed import SHARED_HOST
from loadstone.model.result import HostFigures, StepResult
from loadstone.report import frames
from loadstone.report.html import as_html
from loadstone.report.markdown import as_markdown
from loadstone.report.marks import NO_INTERVAL, marks
from loadstone.report.notes import of_the_cores
from loadstone.report.opened import Run
from loadstone.report.sentences import _parameter, law_sentence, peak_sentence
from loadstone.report.step_table import level_rows
from loadstone.report.text import ladder_table
from recorded import a_plan, recorded_run
from scripted_engine import Script


def step(users: int, tps: float, steal: float = 0.0) -> StepResult:
    host = HostFigures(seconds=10.0, cpu_steal=steal)
    return a_step(users=users, tps=tps, host=host, step=users)


def said(*steps: StepResult) -> str:
    found = shape(levels(steps))
    assert found is not None
    return peak_sentence(found, ENGLISH)


@pytest.mark.parametrize(
    ("steal", "marked"), [(0.0, False), (0.04, False), (0.06, True), (1, True)]
)
def test_a_step_is_marked_from_where_its_rate_may_be_off_by_a_twentieth(
    steal: float, marked: bool
) -> None:
    assert has_steal(step(1, 100.0, steal)) is marked
    assert ("100†" in level_rows(levels([step(1, 100.0, steal)])[0], repeats=False)[0]) is marked


def test_the_legend_names_the_mark_once_with_its_range() -> None:
    lines = [
        str(line) for line in marks([step(1, 100.0, 0.34), step(4, 300.0), step(8, 400.0, 0.45)])
    ]
    assert lines == [
        "† steal: the hypervisor gave 34 % to 45 % of the cores to others in 2 steps; their rates "
        "may be too low by as much"
    ]


def test_a_fall_that_steal_may_explain_is_none() -> None:
    known = [
        made.model_copy(update={"tps_half_width": 9.0})
        for made in (step(1, 100.0), step(4, 300.0), step(8, 200.0))
    ]
    assert said(*known).endswith("With 8 users it falls to 200.")
    assert said(step(1, 100.0), step(4, 300.0), step(8, 200.0, 0.4)) == (
        "Peak: 300 tps at 4 users. What more users bring is not known: the levels above gave no "
        "rate to quote. 1 level is left out of this, as the hypervisor took cores from it."
    )


def test_a_peak_in_spite_of_steal_stands_and_says_so() -> None:
    assert "The hypervisor took 30 % of the cores from it: the true peak may be higher." in said(
        step(1, 100.0), step(4, 300.0, 0.3), step(8, 200.0)
    )


def test_where_all_levels_have_steal_they_stand() -> None:
    text = said(*(step(users, 100.0 * users, 0.4) for users in (1, 2, 4)))
    assert text.startswith("Peak: 400 tps at 4 users.")
    assert "left out" not in text


def test_repeats_without_steal_are_enough_for_their_level() -> None:
    clean, stolen = step(4, 300.0), step(4, 150.0, 0.4).model_copy(update={"repeat": 2})
    (level,) = levels([clean, stolen])
    assert level.tps is not None and level.tps.mean == 300.0
    assert not level.has_steal


def test_the_law_is_fitted_without_them_where_enough_are_left() -> None:
    ladder = [(users, 100 * users / (1 + 0.05 * (users - 1))) for users in (1, 2, 4, 8, 16, 32)]
    clean = [step(users, tps) for users, tps in ladder]
    found = of_ladder(levels([*clean, step(64, 200.0, 0.5)]))
    assert isinstance(found, Usl)
    assert (found.steal_left_out, found.steal_within) == (1, 0)
    assert law_sentence(found, ENGLISH).endswith("1 step with steal is left out.")
    rests = of_ladder(levels([*clean[:4], step(16, ladder[4][1], 0.1)]))
    assert isinstance(rests, Usl)
    assert (rests.steal_left_out, rests.steal_within) == (0, 1)


def test_a_single_step_has_the_interval_of_its_seconds() -> None:
    one = step(4, 300.0).model_copy(update={"tps_half_width": 12.0})
    assert said(step(1, 100.0), one, step(8, 200.0)).startswith(
        "Peak: 300 ± 12.0 tps (95 %, within the step) at 4 users."
    )


def test_who_had_the_generator_s_cores_is_named() -> None:
    host = HostFigures(
        seconds=10.0, cores=2, cpu_user=0.7, cpu_sys=0.1, cpu_steal=0.15,
        process_cpu_user=0.8, process_cpu_sys=0.1, facts={SHARED_HOST: "yes"},
    )  # fmt: skip
    made = a_step(users=8, host=host)
    cost = made.generator.model_copy(
        update={"run_delay_share": 0.36, "cpu_share": 0.5, "shards": 1}
    )
    (said,) = of_the_cores([made.model_copy(update={"generator": cost})])
    assert said == (
        "the generator waited for a core for up to 36 % of the time (8 users): that is part of the "
        "latencies; its host's cores went to: the server 45 %, the generator 25 %, the hypervisor "
        "(steal) 15 %, other programs 10 %"
    )


@pytest.fixture
def stolen(tmp_path: Path, script: Script) -> Run:
    """A run whose second of three levels lost 40 % of the cores; its last one has an interval."""
    script.tps = lambda users, second: 100 * users
    run = Run(recorded_run(tmp_path, a_plan(ladder=(1, 4, 16))))
    first, second, third = run.result.steps
    host = HostFigures(seconds=10.0, cpu_steal=0.4)
    steps = (
        first,
        second.model_copy(update={"host": host}),
        third.model_copy(update={"tps_half_width": 25.0}),
    )
    run.result = run.result.model_copy(update={"steps": steps})
    return run


LEGEND = "† steal: the hypervisor gave up to 40 % of the cores to others in 1 step"


def test_the_page_says_below_the_ladder_what_its_marks_mean(stolen: Run) -> None:
    (ladder,) = re.findall(r'<section id="ladder".*?</section>', as_html(stolen), re.DOTALL)
    assert re.findall(r">([\d,]+†)<", ladder) == ["400†"]
    assert ladder.index(LEGEND) > ladder.index("400†")


def test_markdown_has_the_mark_and_its_legend(stolen: Run) -> None:
    said = as_markdown(stolen)
    assert "| 4 | 400† |" in said
    assert LEGEND in said
    assert "1,600 ± 25.0 tps (95 %, within the step) at 16 users" in said


def test_the_frame_of_steps_has_the_mark_and_the_interval(stolen: Run) -> None:
    # No host was observed in the other steps: their steal is not known, rather than none.
    assert stolen.steps["has_steal"].to_list() == [None, True, None]
    assert stolen.steps["cpu_steal"].to_list() == [None, 0.4, None]
    assert stolen.steps["tps_half_width"].to_list() == [None, None, 25.0]
    counted = frames.steps([step(1, 100.0), step(2, 100.0, 0.4)])
    assert counted["has_steal"].to_list() == [False, True]


def test_repeats_whose_interval_would_reach_zero_have_none() -> None:
    again = [step(4, tps).model_copy(update={"repeat": at}) for at, tps in ((1, 250.0), (2, 350.0))]
    steps = [step(1, 100.0), *again, step(8, 200.0)]
    assert said(*steps).startswith("Peak: 300 tps (2 repeats: not enough for an interval) at 4")
    table = ladder_table(levels(steps))
    assert table.rows[1][1:3] == ("300", "-")
    assert NO_INTERVAL in list(marks(steps))
    assert not [line for line in marks([*steps[:1], *again[:1]]) if line == NO_INTERVAL]


def test_a_coherency_that_cannot_be_told_from_none_is_zero() -> None:
    assert _parameter(1.15e-31) == "0"
    assert _parameter(1.15e-6) == "1.15e-06"
