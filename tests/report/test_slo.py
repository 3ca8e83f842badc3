"""The answer of a search for an objective says whose limit it found."""

from __future__ import annotations

from typing import Any

import pytest

from analyse.made import a_step
from analyse.runs import a_run
from loadstone.analyse.ladder import levels
from loadstone.analyse.search import outcome
from loadstone.model.language import ENGLISH
from loadstone.model.plan import Rate
from loadstone.model.result import HostFigures, StepResult
from loadstone.model.search import Level, Objective, SearchOutcome, SearchPlan
from loadstone.report.marks import marks
from loadstone.report.runs import best
from loadstone.report.sentences import search_sentences, verdict
from loadstone.report.step_table import level_rows

FOUND = SearchOutcome(
    objective=Objective(figure="p99", relation="<", limit_ms=20.0),
    concurrency=None,
    peak_tps=None,
    rate=Level(value=1640, good=3, steps=3, confidence=0.94),
    beyond=Level(value=1700, good=0, steps=3, confidence=0.94),
    closed_tps=48787.0,
    complete=True,
)


CLOSED = "In a closed loop the same users do 48,787 tps."
BOUND = "There the load generator was the limit, not the server"
MORE = "The server may do more: drive it from more cores or machines."


def tried(
    rate: float | None, p99_ms: float, *, bound: bool = False, steal: float = 0.0, **cost: Any
) -> StepResult:
    host = HostFigures(seconds=10.0, cpu_steal=steal)
    asked = Rate(rate=rate) if rate else None
    made = a_step(users=64, rate=asked, tps=rate or 48787.0, p99_ms=p99_ms, host=host)
    used = made.generator.model_copy(update={"client_bound": bound} | cost)
    return made.model_copy(update={"generator": used})


def said(*beyond: StepResult, **found: Any) -> str:
    steps = [tried(1640, 15.0), *beyond]
    return " ".join(search_sentences(FOUND.model_copy(update=found), steps, ENGLISH))


def test_a_limit_of_the_server_needs_no_further_word() -> None:
    assert said(tried(1700, 40.0)) == (
        "p99<20ms holds up to 1,640 events/s (3 of 3 steps held, 94 % sure); at 1,700 it does not "
        f"(0 of 3 steps held, 94 % sure). {CLOSED}"
    )


def test_where_repeats_differ_the_figures_of_all_of_them_are_quoted() -> None:
    steps = [tried(1640, p99_ms) for p99_ms in (8.06, 74.6, 13.8)]
    found = FOUND.model_copy(update={"rate": Level(value=1640, good=2, steps=3, confidence=0.69)})
    (said,) = search_sentences(found, steps, ENGLISH)
    assert "(2 of 3 steps held, with a p99 of 8.06, 74.6, 13.8 ms; 69 % sure)" in said


def peak_said(*rates: tuple[int, tuple[float, ...]]) -> str:
    steps = [
        a_step(users=users, tps=tps, repeat=number)
        for users, tried in rates
        for number, tps in enumerate(tried, 1)
    ]
    plan = SearchPlan(peak=True, most_users=max(users for users, _ in rates))
    return " ".join(search_sentences(outcome(plan, 1, steps), steps, ENGLISH))


def test_the_fewest_users_at_the_peak_have_the_rate_of_the_table() -> None:
    said = peak_said((1, (4000.0,)), (2, (7900.0, 8000.0, 8100.0)), (4, (8200.0,)))
    assert said.startswith(
        "Fewest users at the peak: 2 users with 8,000 tps, within 5 % of the highest, 8,200 at "
        "4 users (3 of 3 steps, 94 % sure)."
    )
    assert "chance" not in said


def test_the_highest_rate_is_not_compared_with_itself() -> None:
    said = peak_said((1, (4000.0,)), (2, (8000.0,)))
    assert "2 users with 8,000 tps, the highest rate (1 of 1 step, 75 % sure)." in said


def test_repeats_that_differ_by_more_than_what_decides_make_the_peak_chance() -> None:
    """The median would hide it: the mean of the repeats is also what the table shows."""
    said = peak_said((1, (900.0,)), (2, (1000.0, 8000.0, 18000.0)), (4, (8500.0,)))
    assert "2 users with 9,000 tps, the highest rate (1 of 3 steps, 31 % sure)." in said
    assert "The repeats at 2 users did 1,000 to 18,000 tps" in said


def test_a_lost_rate_is_shown_by_a_step_that_lost_it() -> None:
    asked = Rate(rate=100)
    steps = [
        a_step(rate=asked, tps=101.0, step=1),
        a_step(rate=asked, tps=90.0, step=2, repeat=2, waiting=100),
        a_step(rate=asked, tps=102.0, step=3, repeat=3),
    ]
    assert verdict(levels(steps), ENGLISH) == (
        "Kept up with no rate that was tried. Of 100 events/s it did 90.0 a second: 100 waited at "
        "the end. It did not keep up in 1 of 3 steps."
    )


def test_a_limit_of_the_generator_is_not_taken_for_the_server_s() -> None:
    text = said(*(tried(1700, 40.0, bound=True) for _ in range(3)))
    assert text.endswith(f"94 % sure). {BOUND}. {MORE} {CLOSED}")


def test_the_generators_share_of_the_p99_is_that_of_the_worst_step_that_failed() -> None:
    late = (tried(1700, 40.0, bound=True, dispatch_p99_us=us) for us in (8_000.0, 36_000.0))
    kept = tried(1700, 10.0, bound=True, dispatch_p99_us=10_000.0)
    assert (f"{BOUND} (up to 90 % of the p99 was the generator's own lateness). {MORE}") in said(
        *late, kept
    )


def test_where_no_rate_failed_the_closed_loop_says_whose_limit_it_is() -> None:
    assert BOUND in said(tried(None, 5.0, bound=True), beyond=None)
    assert BOUND not in said(tried(None, 5.0), beyond=None)


def test_an_objective_that_never_held_says_whose_limit_it_is_too() -> None:
    text = said(tried(1700, 40.0, bound=True), rate=None)
    assert text.startswith("p99<20ms did not hold at 1,700 events/s")
    assert text.endswith(f"and no lower rate was tried. {BOUND}. {MORE}")


def test_a_search_that_was_stopped_before_its_first_verdict_claims_none() -> None:
    found = FOUND.model_copy(update={"rate": None, "beyond": None, "complete": False})
    assert list(search_sentences(found, [tried(None, 5.0)], ENGLISH)) == [
        "No verdict on p99<20ms: no rate was tried to the end.",
        "The search did not finish.",
    ]
    result = a_run("stopped", [tried(None, 5.0)]).result
    info = result.run.model_copy(update={"search": found})
    assert best(result.model_copy(update={"run": info})) == "p99<20ms: no verdict"


@pytest.mark.parametrize(
    ("rates", "listed"),
    [
        ({50: 56.2, 5000: 609.0}, "kept up with 50.0/s"),
        ({1000: 300.0, 5000: 609.0}, "609 tps at 64 users"),
    ],
)
def test_a_ladder_of_rates_is_listed_with_the_rate_that_it_kept_up_with(
    rates: dict[int, float], listed: str
) -> None:
    steps = [
        a_step(users=64, rate=Rate(rate=rate), tps=tps, step=at)
        for at, (rate, tps) in enumerate(rates.items(), 1)
    ]
    assert best(a_run("rates", steps).result) == listed


def test_steal_at_the_rate_that_failed_leaves_it_in_doubt() -> None:
    assert "is in doubt: CPU steal disturbed those steps." in said(tried(1700, 40.0, steal=0.3))
    assert "in doubt" not in said(tried(1700, 40.0, steal=0.3), tried(1700, 40.0))


@pytest.mark.parametrize("bound", [(True,), (False, True, False)])
def test_a_rate_with_a_step_that_the_generator_limited_is_marked(bound: tuple[bool, ...]) -> None:
    steps = [
        tried(1700, 40.0, bound=each).model_copy(update={"repeat": repeat})
        for repeat, each in enumerate(bound, start=1)
    ]
    (level,) = levels(steps)
    ((_, _, rate, *_),) = level_rows(level, repeats=len(steps) > 1, rates=True)
    assert rate == "1,700!"
    assert "! client-bound: the generator was, or may have been, the limit" in list(marks(steps))
    (clean,) = level_rows(levels([tried(1640, 15.0)])[0], repeats=False, rates=True)
    assert "1,640" in clean
