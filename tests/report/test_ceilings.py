"""Ceilings as text and as a page."""

from __future__ import annotations

import json

from analyse.made import a_step
from loadstone.analyse.ceilings import ceilings
from loadstone.analyse.ladder import levels
from loadstone.model.ceilings import Limits, StepCeilings
from loadstone.model.language import ENGLISH
from loadstone.model.predicted import Foretold
from loadstone.model.result import HostFigures, Result, RunInfo, ServerFigures
from loadstone.report.ceilings import as_page, as_renderable
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.figures.palette import ON_DARK, ON_LIGHT
from loadstone.report.page import unpacked
from loadstone.report.sentences import answer, held_by
from loadstone.report.text import as_plain

HOSTILE = "</script><script>alert(1)</script>&\"'"


def a_ladder(idle: float = 0.03) -> Result:
    host = HostFigures(seconds=10.0, cores=2, cpu_idle=idle, disk_write_iops=50.0)
    steps = tuple(
        a_step(users=users, tps=tps, host=host).model_copy(update={"step": number})
        for number, (users, tps) in enumerate([(1, 100.0), (4, 300.0), (16, 310.0)], start=1)
    )
    run = RunInfo.model_validate(
        dict.fromkeys(RunInfo.model_fields)
        | {"id": "r", "name": HOSTILE, "state": "finished", "steps_finished": 3, "notes": ()}
    )
    return Result(run=run, steps=steps)


def found(result: Result) -> list[StepCeilings]:
    return ceilings(result.steps, Limits(disk_write_iops=1000))


def test_the_lowest_ceiling_is_named_when_it_is_nearly_reached() -> None:
    (_, _, last) = found(a_ladder())
    assert held_by(last, ENGLISH) == "held by server CPU, used to 97 %"


def test_the_use_of_row_locks_says_that_it_is_of_the_writes() -> None:
    server = ServerFigures(seconds=10.0, row_lock_waits_per_s=90.0)
    (only,) = ceilings([a_step(tps=100.0, writes=1000, server=server)], Limits())
    assert held_by(only, ENGLISH) == "held by row locks: 90 % of the writes found their row locked"


def test_what_other_programs_leave_is_not_said_to_be_the_whole_cpu() -> None:
    result = a_ladder()
    busy = result.steps[-1].host
    assert busy
    neighbour = busy.model_copy(update={"process_cpu_user": 0.3, "process_cpu_sys": 0.0})
    last = result.steps[-1].model_copy(update={"host": neighbour})
    (only,) = ceilings([last], Limits())
    said = "server CPU: the load uses 83 % of what other programs leave"
    assert held_by(only, ENGLISH) == f"held by {said}"
    (peak,) = levels((last,))
    assert f"The lowest ceiling is {said}." in answer([peak], None, only, ENGLISH)


def test_a_ceiling_that_is_far_explains_nothing() -> None:
    (_, _, last) = found(a_ladder(idle=0.6))
    assert held_by(last, ENGLISH).startswith(
        "no ceiling explains it; the nearest is server CPU, used to"
    )


def test_the_text_has_each_step_and_says_what_is_not_evaluated() -> None:
    result = a_ladder()
    text = as_plain(as_renderable(result, found(result)))
    for said in ("1 user, 100 events/s", "16 users, 310 events/s", "disk writes", "not evaluated"):
        assert said in text
    assert "Universal Scalability Law not fitted: 3 levels" in text


def test_the_rate_under_assumed_limits_is_below_the_table_and_in_the_page() -> None:
    result = a_ladder()
    told = Foretold(tps=129.0, low=118.0, high=140.0, now=310.0)
    steps = [one.model_copy(update={"foretold": told}) for one in found(result)[-1:]]
    said = "with these limits: 118 to 140 events a second predicted (80 %), 310 now"
    assert said in as_plain(as_renderable(result, steps))
    assert said in as_page(result, steps)


def test_the_page_stands_alone_and_takes_no_text_for_markup() -> None:
    result = a_ladder()
    page = as_page(result, found(result))
    assert HOSTILE not in page
    assert "&lt;/script&gt;" in page
    assert "default-src &#x27;none&#x27;; script-src &#x27;sha256-" in page
    (drawn,) = unpacked(page)["figures"]
    assert [series["name"] for series in drawn["option"]["series"]][0] == "measured"


def test_the_measured_curve_lies_under_the_ceilings() -> None:
    result = a_ladder()
    option = ceilings_figure(found(result), ENGLISH).option
    measured, *lines = option["series"]
    rates = dict(map(tuple, measured["data"]))
    assert rates == {1: 100.0, 4: 300.0, 16: 310.0}
    assert lines
    for line in lines:
        assert all(rate >= rates[users] * 0.99 for users, rate in line["data"]), line["name"]


def test_no_two_lines_look_the_same() -> None:
    lines = ceilings_figure(found(a_ladder()), ENGLISH).option["series"]
    for colours in (ON_LIGHT, ON_DARK):
        # ECharts gives the colours of a theme to series in their order.
        looks = [
            (colours[at % len(colours)], json.dumps(line["lineStyle"]))
            for at, line in enumerate(lines)
        ]
        assert len(looks) == len(set(looks))
