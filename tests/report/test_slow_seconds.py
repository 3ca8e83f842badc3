"""Slow seconds in words, and the account over the seconds as a figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.analyse.ladder import Level, ladders_of
from loadstone.model.account import Account, CounterGain, Course, PlaceGain, SlowSeconds, Stretch
from loadstone.model.language import ENGLISH, in_language
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.report.figures.account_course import course_figure
from loadstone.report.figures.of_run import NothingToDraw
from loadstone.report.html import as_html
from loadstone.report.markdown import as_markdown
from loadstone.report.opened import Run
from loadstone.report.slow_seconds import slow_notes
from loadstone.report.text import as_text
from loadstone.runs import run_folder
from recorded import a_plan, recorded_run
from scripted_engine import Script

SLOW = SlowSeconds(
    count=3, of=30, spans=((11.0, 14.0),), tps=310.0, tps_others=1240.0, lost=0.075, looks=45.0,
    places=(
        PlaceGain(
            place="log sync", slow=0.71, others=0.12, known="sampled", low=0.5, high=0.68
        ),
        PlaceGain(place="latch", slow=0.05, others=0.03, known="sampled", low=-0.01, high=0.05),
        PlaceGain(place="on core", slow=0.1, others=0.6, known="counted", low=None, high=None),
    ),
    counters=(
        CounterGain(
            role="server-host", counter="disk.vda.write_await_ms", is_rate=False, slow=48.2,
            others=1.93, spreads=31.0,
        ),
        CounterGain(
            role="server", counter="redo_file_wait_s", is_rate=True, slow=0.62, others=0.021,
            spreads=12.0,
        ),
    ),
)  # fmt: skip
"""Three seconds in which the redo log's sync took long."""

COURSE = Course(
    places=("generator", "on core", "log sync"),
    stretches=(
        Stretch(from_s=2.0, to_s=11.0, slow=False, shares=(0.004, 0.6, 0.12)),
        Stretch(from_s=11.0, to_s=14.0, slow=True, shares=(0.001, 0.1, 0.71)),
        Stretch(from_s=14.0, to_s=32.0, slow=False, shares=(0.006, 0.6, 0.12)),
    ),
)


def a_step(tmp_path: Path, **changes: object) -> StepResult:
    slow = SLOW.model_copy(update=changes)
    account = Account(
        users=8, seconds=30.0, view="threads", looks=400.0, entries=(), unnamed=1.0, beyond=0.0,
        slow=slow, course=COURSE,
    )  # fmt: skip
    step = run_folder.load(recorded_run(tmp_path, a_plan(ladder=(8,)))).steps[0]
    return step.model_copy(update={"account": account})


def said(*steps: StepResult) -> list[str]:
    ladder: list[Level] = next(ladders_of(steps))
    return [*map(ENGLISH, slow_notes(ladder))]


def test_slow_seconds_are_told_with_their_place_and_what_else_differed(
    tmp_path: Path, script: Script
) -> None:
    assert said(a_step(tmp_path)) == [
        "With 8 users, 3 of 30 seconds were slow (seconds 12 to 14: 310/s against 1,240/s), which "
        "cost 7.5 % of the rate. There the users' time went to commit: sync of the redo log or "
        "WAL 71 % (12 % otherwise). Figures that differed most: disk.vda.write_await_ms 48.2 (1.93 "
        "otherwise), redo_file_wait_s 0.62/s (0.021/s otherwise)."
    ]


def test_what_rests_on_few_looks_or_none_says_so(tmp_path: Path, script: Script) -> None:
    sync = SLOW.places[0].model_copy(update={"low": None, "high": None})
    few = a_step(tmp_path / "1", places=(sync,), looks=5.0, counters=(), count=1)
    assert "That rests on 5 looks, too few for an interval." in said(few)[0]
    none = a_step(tmp_path / "2", places=(), looks=0.0, counters=())
    assert "hardly looked at" in said(none)[0]
    no_gain = a_step(tmp_path / "3", places=SLOW.places[1:], counters=())
    assert "No place held more" in said(no_gain)[0]


def test_in_an_open_loop_events_are_late_and_not_lost(tmp_path: Path, script: Script) -> None:
    step = a_step(tmp_path).model_copy(update={"rate": Rate(rate=1200)})
    assert said(step)[0].startswith(
        "With 8 users and 1,200 events/s due, 3 of 30 seconds were slow (seconds 12 to 14: 310/s "
        "against 1,240/s), which delayed 7.5 % of the events. "
    )


def test_of_many_runs_of_slow_seconds_the_first_are_named(tmp_path: Path, script: Script) -> None:
    spans = ((4.0, 5.0), (14.0, 15.0), (24.0, 25.0), (34.0, 35.0), (44.0, 46.0))
    assert "(seconds 5, 15, 25, 2 more times: " in said(a_step(tmp_path, spans=spans))[0]
    one = a_step(tmp_path / "1", spans=spans[:1], count=1)
    assert "1 of 30 seconds was slow (second 5: " in said(one)[0]


def test_levels_that_lost_less_are_only_counted(tmp_path: Path, script: Script) -> None:
    step = a_step(tmp_path)
    steps = [
        a_step(tmp_path / str(number), lost=0.01 * number).model_copy(
            update={"concurrency": 8 * number, "step": number}
        )
        for number in (1, 2, 3)
    ]
    told = said(*steps)
    assert told[0].startswith("With 24 users, ")
    assert told[1].startswith("With 16 users, ")
    assert told[2:] == ["1 more level has slow seconds, which cost less."]
    assert said(step.model_copy(update={"account": None})) == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_course_is_areas_with_the_slow_seconds_marked(
    lang: str, tmp_path: Path, script: Script
) -> None:
    words = in_language("zh" if lang == "zh" else "en")
    figure = course_figure(a_step(tmp_path), words, "step-1")
    assert figure is not None
    source = figure.option["dataset"][0]["source"]
    assert source["s"] == [2.0, 10.999, 11.0, 13.999, 14.0, 31.999]
    assert source["v0"] == [60.0, 60.0, 10.0, 10.0, 60.0, 60.0]
    assert source["v1"] == [12.0, 12.0, 71.0, 71.0, 12.0, 12.0]
    assert len(figure.option["series"]) == 4  # the generator's share is small
    ((begin, end),) = figure.option["series"][0]["markArea"]["data"]
    assert (begin["xAxis"], end["xAxis"]) == (11.0, 14.0)


def test_all_outputs_have_it(tmp_path: Path, script: Script) -> None:
    path = recorded_run(tmp_path, a_plan(ladder=(8,)))
    result = run_folder.load(path)
    account = a_step(tmp_path / "other").account
    steps = tuple(step.model_copy(update={"account": account}) for step in result.steps)
    run = Run(path)
    run.__dict__["result"] = result.model_copy(update={"steps": steps})
    assert "3 of 30 seconds were slow" in " ".join(as_text(run.result).split())
    assert "3 of 30 seconds were slow" in as_markdown(run)
    page = as_html(run)
    assert "3 of 30 seconds were slow" in page
    assert "over the seconds" in page
    assert run.figures.account_course(1).option["series"]
    with pytest.raises(NothingToDraw, match="over the seconds"):
        Run(path).figures.account_course(1)
