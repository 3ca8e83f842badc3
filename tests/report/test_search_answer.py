"""A search's report opens with its answer; a doubt about the figures stands with each answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyse.made import a_step
from diagnose.examples import FULL
from diagnose.healthy import Made, a_case
from loadstone.analyse.ladder import ladders_of, levels
from loadstone.analyse.open_loop import held
from loadstone.analyse.search import levels_at_answer
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.model.language import ENGLISH
from loadstone.model.plan import Rate
from loadstone.model.search import Level, Objective, SearchOutcome
from loadstone.report.chat_line import as_line
from loadstone.report.html import as_html
from loadstone.report.markdown import as_markdown
from loadstone.report.opened import Run
from loadstone.report.sentences import answer
from recorded import a_plan, recorded_run
from scripted_engine import Script

FOUND = SearchOutcome(
    objective=Objective(figure="p99", relation="<", limit_ms=50.0),
    concurrency=None,
    peak_tps=None,
    rate=Level(value=350, good=1, steps=1, confidence=0.75),
    beyond=Level(value=419, good=0, steps=1, confidence=0.75),
    closed_tps=14174.0,
    complete=True,
)
STEPS = (
    a_step(users=4, tps=14174.0, step=1, p99_ms=2.56),
    a_step(users=4, rate=Rate(rate=205), tps=212.0, step=2, p99_ms=18.0),
    a_step(users=4, rate=Rate(rate=350), tps=350.0, step=3, p99_ms=6.11),
    a_step(users=4, rate=Rate(rate=419), tps=412.0, step=4, p99_ms=209.0),
)
HOGGED = FULL | {"process_cpu_user": 0.1, "process_cpu_sys": 0.1}
CROWDED = diagnosis_of(a_case(Made(host=HOGGED)))
DOUBT = "The figures are in doubt, do not compare them: other programs on the host (90 % sure)."


@pytest.fixture
def searched(tmp_path: Path, script: Script) -> Run:
    run = Run(recorded_run(tmp_path, a_plan(ladder=(4,))))
    info = run.result.run.model_copy(update={"search": FOUND})
    run.__dict__["result"] = run.result.model_copy(update={"run": info, "steps": STEPS})
    run.__dict__["diagnoses"] = [CROWDED]
    return run


def test_a_search_opens_with_its_answer_and_no_level_on_the_way_has_one(searched: Run) -> None:
    text = as_markdown(searched)
    assert text.index("holds up to 350 events/s") < text.index(DOUBT) < text.index("| users |")
    for said in ("only number of users", "Kept up with", "What holds it back", "Beyond the peak"):
        assert said not in text


def test_the_tiles_of_a_search_are_those_of_its_answer(searched: Run) -> None:
    page = as_html(searched)
    shown = page[page.index('id="answer"') :]
    assert shown.index("holds up to 350 events/s") < shown.index("<b>350</b></li>")
    assert "<b>14,174</b></li>" not in page
    assert "<b>212</b></li>" not in page


def test_the_tables_below_that_of_the_steps_have_the_levels_at_the_answer() -> None:
    closed, opened = ladders_of(STEPS)
    assert levels_at_answer(FOUND, closed) == closed
    asked = [str(level.rate) for level in levels_at_answer(FOUND, opened)]
    assert asked == ["350", "419"]
    tried = [(1, 400.0), (2, 790.0), (3, 980.0), (4, 990.0), (8, 1000.0), (16, 600.0)]
    (ladder,) = ladders_of([a_step(users=users, tps=tps) for users, tps in tried])
    at_peak = Level(value=3, good=1, steps=1, confidence=0.75)
    peak = FOUND.model_copy(
        update={"objective": None, "concurrency": at_peak, "rate": None, "beyond": None}
    )
    assert [level.concurrency for level in levels_at_answer(peak, ladder)] == [2, 3, 8]


def test_a_line_for_a_chat_has_the_doubt(searched: Run) -> None:
    assert DOUBT in as_line(searched)


def test_the_doubt_comes_before_what_holds_the_peak_back() -> None:
    said = answer(levels(STEPS[:1]), CROWDED, None, ENGLISH)
    assert said[1] == DOUBT


def test_a_rate_whose_step_was_stopped_is_neither_kept_nor_lost() -> None:
    stopped = a_step(users=4, rate=Rate(rate=383), tps=410.0).model_copy(
        update={"state": "stopped"}
    )
    found = held(levels([STEPS[2], stopped]))
    assert found is not None
    assert found.kept is not None
    assert str(found.kept.rate) == "350"
    assert found.lost is None


def test_what_was_requested_is_not_what_makes_the_rate_fall() -> None:
    """In an open loop there is no peak beyond which the rate falls."""
    fallen = CROWDED.model_copy(update={"beyond": CROWDED.findings[-1]})
    said = " ".join(answer(levels(STEPS[1:]), fallen, None, ENGLISH))
    assert "Beyond the peak" not in said
