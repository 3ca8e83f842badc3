"""Gates: which are understood, which are refused, and how each state is reached."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyse.made import a_step
from analyse.runs import repeats
from loadstone.analyse.gates import (
    Change,
    Check,
    GateError,
    change,
    judge_changes,
    judge_search,
    judge_thresholds,
    threshold,
)
from loadstone.analyse.intervals import Interval
from loadstone.analyse.ladder import levels
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import plain
from loadstone.model.plan import Rate
from loadstone.model.result import GeneratorCost, StepResult
from loadstone.model.search import Level, Objective, SearchOutcome
from loadstone.report.step_table import level_rows


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("p99<20ms", 20.0),
        ("p99.9 <= 1.5s", 1500.0),
        ("max<500us", 0.5),
        ("max<1m", 60e3),
        ("tps>1.5k", 1500.0),
        ("tps>=900/s", 900.0),
        ("errors<0.1%", 0.001),
        ("write_p95<30ms", 30.0),
        ("network_bytes<64K", 65536.0),
    ],
)
def test_a_threshold_is_read_in_its_own_unit(text: str, limit: float) -> None:
    assert threshold(text).limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p9<20ms", "no figure 'p9'"),
        ("tsp>100", "no figure 'tsp'"),
        ("p99<20", "needs a unit"),
        ("p99<20mb", "'mb' is not a unit of p99"),
        ("tps>100ms", "'ms' is not a unit of tps"),
        ("errors<1", "needs a unit"),
        ("p99=20ms", "is not a limit"),
        ("p99<", "is not a limit"),
        ("", "is not a limit"),
        ("tps<-5%", "not a unit of tps"),
        ("p99<-5ms", "never below zero"),
        ("p99<nanms", "is not a limit"),
        (f"tps<{'9' * 400}", "no figure is that large"),
    ],
)
def test_what_is_misspelt_is_an_error_of_usage(text: str, said: str) -> None:
    with pytest.raises(GateError) as refused:
        threshold(text)
    assert said in refused.value.message
    assert refused.value.exit_code == ExitCode.USAGE
    assert refused.value.hint


@pytest.mark.parametrize("text", ["tsp<-5%", "tps<-5", "tps<-5ms", "tps-5%", "p99>5 %%"])
def test_so_is_a_change_that_is_misspelt(text: str) -> None:
    with pytest.raises(GateError):
        change(text)


@pytest.mark.parametrize("text", ["tps<-100%", "p99<-150%", "tps<=-101%"])
def test_a_change_that_can_never_be_is_no_gate(text: str) -> None:
    with pytest.raises(GateError, match="nothing falls by more than 100 %"):
        change(text)
    assert change("tps<=-100%").limit == -1


@given(st.text() | st.from_regex(r"(tps|p99|errors)[<>]=?-?[0-9.e]+[a-z%]*", fullmatch=True))
def test_any_text_is_a_gate_or_refused_in_one_line(text: str) -> None:
    for read in (threshold, change):
        with contextlib.suppress(GateError):
            assert math.isfinite(read(text).limit)


def test_a_change_is_a_share() -> None:
    assert change("tps<-5%").limit == pytest.approx(-0.05)
    assert change("p99 > +10%").limit == pytest.approx(0.1)


def state_of(checks: list[Check]) -> list[str]:
    return [check.state for check in checks]


def test_a_threshold_is_asked_at_each_level() -> None:
    steps = [a_step(users=1, p99_ms=5.0), a_step(users=64, p99_ms=31.2)]
    checks = judge_thresholds([threshold("p99<20ms")], steps)
    assert state_of(checks) == ["held", "broken"]
    assert checks[1].where == "oltp_read_write, 64 users"
    assert checks[1].value == 31.2


def test_repeats_are_judged_by_what_is_quoted() -> None:
    spread = repeats(90, 100, 113)
    assert state_of(judge_thresholds([threshold("tps>100")], spread)) == ["held"]
    slow = [a_step(p99_ms=value, repeat=at) for at, value in enumerate((10.0, 19.0, 400.0), 1)]
    assert state_of(judge_thresholds([threshold("p99<20ms")], slow)) == ["held"]
    even = [a_step(p99_ms=value, repeat=at) for at, value in enumerate((10.0, 30.0), 1)]
    assert judge_thresholds([threshold("p99<20ms")], even)[0].value == 30.0


def test_what_cannot_be_judged_is_no_pass() -> None:
    gate = threshold("p99<20ms")
    unsteady = [a_step(steady=False)]
    failed = [a_step(state="failed")]
    without = [a_step(latency=a_step().latency.model_copy(update={"response": none_of()}))]
    for steps in (unsteady, failed, without, []):
        (check,) = judge_thresholds([gate], steps)
        assert check.state == "no evidence"
        assert check.fails
        assert check.why
    left = judge_thresholds([gate], [a_step()], missing=["2 more steps"])
    assert state_of(left) == ["held", "no evidence"]


def none_of() -> object:
    response = a_step().latency.response
    return response.model_copy(update={"p99": None})


def test_a_repeat_that_settled_stands_for_one_that_did_not() -> None:
    steps = [a_step(p99_ms=10.0), a_step(p99_ms=90.0, steady=False, repeat=2)]
    assert state_of(judge_thresholds([threshold("p99<20ms")], steps)) == ["held"]


def test_a_generator_at_its_limit_is_told_where_a_threshold_breaks() -> None:
    cost = GeneratorCost.model_validate(
        dict.fromkeys(GeneratorCost.model_fields) | {"client_bound": True}
    )
    (held,) = judge_thresholds([threshold("tps>10")], [a_step(generator=cost)])
    (broken,) = judge_thresholds([threshold("tps>1000")], [a_step(generator=cost)])
    assert (held.state, held.why) == ("held", None)
    assert broken.state == "broken"
    assert "generator" in (broken.why or "")


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "t")


@pytest.mark.parametrize(
    ("change_seen", "state"),
    [
        (Change(plain("here"), -0.10, interval(-0.12, -0.08)), "broken"),
        (Change(plain("here"), -0.06, interval(-0.09, -0.03)), "not decided"),
        (Change(plain("here"), -0.01, interval(-0.03, 0.01)), "held"),
        (Change(plain("here"), 0.20, interval(0.10, 0.30)), "held"),
        (Change(plain("here"), -0.06, None), "broken"),
        (Change(plain("here"), -0.04, None), "held"),
        (Change(plain("here"), None, None, plain("client-bound")), "no evidence"),
    ],
)
def test_a_change_fails_where_all_of_its_interval_is_beyond_the_limit(
    change_seen: Change, state: str
) -> None:
    (check,) = judge_changes(change("tps<-5%"), [change_seen])
    assert check.state == state
    assert check.fails is (state in ("broken", "no evidence"))
    if state in ("not decided", "no evidence") or change_seen.interval is None:
        assert check.why


UNDER_10_MS = Objective(figure="p99", relation="<", limit_ms=10.0)


def searched(**found: object) -> SearchOutcome:
    """A finished search."""
    nothing = dict.fromkeys(SearchOutcome.model_fields) | {"complete": True}
    return SearchOutcome.model_validate(nothing | found)


def at(value: float) -> Level:
    return Level(value=value, good=3, steps=3, confidence=0.94)


def due(rate: float, tps: float, p99_ms: float, repeat: int = 1) -> StepResult:
    return a_step(users=64, rate=Rate(rate=rate), tps=tps, p99_ms=p99_ms, repeat=repeat)


def test_a_search_is_judged_at_the_rate_that_it_found() -> None:
    steps = [
        a_step(users=64, tps=2000.0, p99_ms=60.0),
        due(1400, 900, 500.0),
        due(990, 990, 6.0),
        due(990, 988, 7.0, repeat=2),
    ]
    found = searched(objective=UNDER_10_MS, rate=at(990), beyond=at(1400))
    gates = [threshold("tps>900"), threshold("p99<5ms")]
    held, broken = judge_search(gates, found, steps)
    assert (held.state, held.value) == ("held", 989.0)
    assert (broken.state, broken.value) == ("broken", 7.0)
    assert held.where == "oltp_read_write, 64 users, 990 events/s due"


def test_a_climb_is_judged_at_the_fewest_users_at_the_peak() -> None:
    steps = [a_step(users=users, tps=100.0 * min(users, 8)) for users in (1, 2, 4, 8, 16, 32)]
    (check,) = judge_search([threshold("tps>700")], searched(concurrency=at(8)), steps)
    assert (check.state, check.where) == ("held", "oltp_read_write, 8 users")
    both = searched(objective=UNDER_10_MS, concurrency=at(8), rate=at(500))
    at_rate = a_step(users=8, rate=Rate(rate=500), tps=500.0)
    (check,) = judge_search([threshold("tps>700")], both, [*steps, at_rate])
    assert (check.state, check.value) == ("broken", 500.0)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "it did not finish"),
        (searched(objective=UNDER_10_MS, rate=at(9), complete=False), "it did not finish"),
        (searched(objective=UNDER_10_MS), "no rate held p99<10ms"),
        (searched(), "no number of users reached the peak"),
    ],
)
def test_a_search_without_an_answer_is_no_pass(found: SearchOutcome | None, why: str) -> None:
    (check,) = judge_search([threshold("tps>1")], found, [a_step(tps=500.0)])
    assert (check.state, check.why) == ("no evidence", why)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5.0])
def test_a_figure_that_cannot_be_is_none(value: float) -> None:
    """Code that builds a step does not check types: files are checked when they are read."""
    for name in ("tps", "p99"):
        step = a_step()
        response = step.latency.response.model_copy(update={"p99": value})
        latency = step.latency.model_copy(update={"response": response})
        step = step.model_copy(update={"tps": value, "latency": latency})
        (check,) = judge_thresholds([threshold(f"{name}>1{'ms' * (name == 'p99')}")], [step])
        assert check.state == "no evidence"


def test_a_gate_judges_the_figure_that_the_table_shows() -> None:
    """A slower repeat whose p99 happens to be the better one: row and gate agree all the same."""
    steps = [a_step(tps=120.0, p99_ms=36.0), a_step(tps=80.0, p99_ms=9.0, repeat=2)]
    (check,) = judge_thresholds([threshold("p99<20ms")], steps)
    (row,) = level_rows(levels(steps)[0], repeats=True)
    assert check.value == 9.0
    assert row[6] == "9.00"
