"""OpenMetrics of runs, read by Prometheus' own parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as MEDIA_TYPE
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from loadstone.web.followed import Followed
from loadstone.web.metrics import exposition
from loadstone.web.series import FAMILIES, RunCounts
from recorded import a_plan, record_step, recorder_for, steps_of
from scripted_engine import Script
from web.served import served


def parse(text: str) -> list[Metric]:
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def counts_of(run: Path) -> RunCounts:
    return Followed(run).finish()


def values(text: str) -> dict[tuple[str, str], float]:
    """The values by a sample's name and labels."""
    return {
        (
            sample.name,
            ",".join(value for name, value in sample.labels.items() if name != "run"),
        ): sample.value
        for family in parse(text)
        for sample in family.samples
    }


@pytest.fixture
def one_step(tmp_path: Path, script: Script) -> Path:
    """A run after the first of its four steps: the second one has started."""
    script.errors = {"1213": 2}
    plan = a_plan(ladder=(4, 8))
    recorder = recorder_for(tmp_path, plan)
    steps = steps_of(plan)
    record_step(recorder, plan, steps[0])
    recorder.begin_step(steps[1])
    recorder.close()
    return recorder.folder


def test_prometheus_reads_what_a_journal_says(one_step: Path) -> None:
    found = values(exposition([counts_of(one_step)]))
    # A second of warm-up and four of the window, forty events in each.
    assert found["loadstone_events_total", ""] == 200
    assert found["loadstone_statements_total", "read"] == 200 * 14
    assert found["loadstone_errors_total", "1213"] == 10
    assert found["loadstone_response_seconds_count", ""] == 200
    assert found["loadstone_step", ""] == 2
    assert found["loadstone_users_asked", ""] == 8
    assert found["loadstone_steps_planned", ""] == 2
    assert found["loadstone_phase", "connecting"] == 1
    assert found["loadstone_phase", "window"] == 0
    level = ",4,default,oltp_read_write"
    assert found["loadstone_level_tps", level] == pytest.approx(40)
    assert 0 < found["loadstone_level_response_seconds", f"0.99,{level}"] < 1
    # Between two steps nobody is connected: no value is better than an old one.
    assert ("loadstone_users", "") not in found


def test_names_of_anything_are_escaped(one_step: Path) -> None:
    counts = counts_of(one_step)
    counts.folder = Path('a "quoted"\nname \\ with all')
    (info,) = [one for one in parse(exposition([counts])) if one.name == "loadstone_run"]
    assert info.samples[0].labels["run"] == counts.run


def test_no_run_is_an_exposition_too() -> None:
    assert {family.name for family in parse(exposition([]))} == {one.name for one in FAMILIES}


def test_the_page_tells_of_the_runs_that_go_on(tmp_path: Path, script: Script) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    with served(tmp_path) as page:
        record_step(recorder, plan, steps_of(plan)[0])
        answer = page.get("/metrics")
        assert answer.headers["content-type"] == MEDIA_TYPE
        assert values(answer.text)["loadstone_events_total", ""] == 50
        record_step(recorder, plan, steps_of(plan)[1])
        assert values(page.get("/metrics").text)["loadstone_events_total", ""] == 250
        recorder.close()
        assert values(page.get("/metrics").text) == {}
