"""Ceilings as text and as a page."""

from __future__ import annotations

import json
import re
from typing import Any

from analyse.made import a_step
from loadstone.analyse.ceilings import ceilings
from loadstone.model.ceilings import Limits, StepCeilings
from loadstone.model.result import HostFigures, Result, RunInfo
from loadstone.report.ceilings import as_page, as_text, held_by
from loadstone.report.figures.ceilings import ceilings_figure

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
    assert held_by(last) == "held by server CPU, used to 97 %"


def test_a_ceiling_that_is_far_explains_nothing() -> None:
    (_, _, last) = found(a_ladder(idle=0.6))
    assert held_by(last).startswith("no ceiling explains it; the nearest, server CPU, is used to")


def test_the_text_has_each_step_and_says_what_is_not_evaluated() -> None:
    result = a_ladder()
    text = as_text(result, found(result))
    for said in ("1 user, 100 events/s", "16 users, 310 events/s", "disk writes", "not evaluated"):
        assert said in text
    assert "Universal Scalability Law not fitted: 3 levels" in text


def options_in(page: str) -> list[dict[str, Any]]:
    data = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert data is not None
    return list(json.loads(data[1]))


def test_the_page_stands_alone_and_takes_no_text_for_markup() -> None:
    result = a_ladder()
    page = as_page(result, found(result))
    assert HOSTILE not in page
    assert "&lt;/script&gt;" in page
    # The library's own text speaks of images that it may draw; the policy lets none be fetched.
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", page.split("<script>")[0])
    assert "default-src 'none'" in page
    assert len(page) < 2_000_000
    (option,) = options_in(page)
    assert [series["name"] for series in option["series"]][0] == "measured"


def test_the_measured_curve_lies_under_the_ceilings() -> None:
    result = a_ladder()
    option = ceilings_figure(found(result))
    measured, *lines = option["series"]
    rates = dict(map(tuple, measured["data"]))
    assert rates == {1: 100.0, 4: 300.0, 16: 310.0}
    assert lines
    for line in lines:
        assert all(rate >= rates[users] * 0.99 for users, rate in line["data"]), line["name"]


def test_no_two_lines_look_the_same() -> None:
    result = a_ladder()
    styles = [json.dumps(line["lineStyle"]) for line in ceilings_figure(found(result))["series"]]
    assert len(styles) == len(set(styles))
