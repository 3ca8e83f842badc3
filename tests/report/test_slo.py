"""The answer of a search for an objective says whose limit it found."""

from __future__ import annotations

from analyse.made import a_step
from loadstone.model.language import ENGLISH
from loadstone.model.plan import Rate
from loadstone.model.result import HostFigures, StepResult
from loadstone.model.search import Level, Objective, SearchOutcome
from loadstone.report.sentences import search_sentences

FOUND = SearchOutcome(
    objective=Objective(figure="p99", relation="<", limit_ms=20.0),
    concurrency=None,
    peak_tps=None,
    rate=Level(value=1640, good=3, steps=3, confidence=0.94),
    beyond=Level(value=1700, good=0, steps=3, confidence=0.94),
    closed_tps=48787.0,
    complete=True,
)


def tried(rate: float, p99_ms: float, *, bound: bool = False, steal: float = 0.0) -> StepResult:
    host = HostFigures(seconds=10.0, cpu_steal=steal)
    made = a_step(users=64, rate=Rate(rate=rate), tps=rate, p99_ms=p99_ms, host=host)
    cost = made.generator.model_copy(update={"client_bound": bound})
    return made.model_copy(update={"generator": cost})


def said(*beyond: StepResult) -> str:
    return " ".join(search_sentences(FOUND, [tried(1640, 15.0), *beyond], ENGLISH))


def test_a_limit_of_the_server_needs_no_further_word() -> None:
    assert said(tried(1700, 40.0)).endswith("In a closed loop the same users do 48,787 tps.")


def test_a_limit_of_the_generator_is_not_taken_for_the_server_s() -> None:
    text = said(*(tried(1700, 40.0, bound=True) for _ in range(3)))
    assert text.endswith(
        "Beyond that the load generator was the limit, not the server, which may do more: drive it "
        "from more cores or machines."
    )


def test_steal_at_the_rate_that_failed_leaves_it_in_doubt() -> None:
    assert "is in doubt: CPU steal disturbed those steps." in said(tried(1700, 40.0, steal=0.3))
    assert "in doubt" not in said(tried(1700, 40.0, steal=0.3), tried(1700, 40.0))
