"""Slow seconds: found where they are, and not where there are none; what they are spent on."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from loadstone import engine
from loadstone.model.account import Account, Place, SlowSeconds
from loadstone.model.engine_plan import step_document
from loadstone.model.observed import Observation, SourceName
from loadstone.model.plan import WarmupSeconds
from loadstone.model.records import Connected, End
from loadstone.model.result import Window
from loadstone.model.target import Endpoint
from loadstone.runs import run_folder
from loadstone.runs.account import Driven
from loadstone.runs.account_course import MOST_STRETCHES, CourseSums, RatedSeconds
from loadstone.runs.anonymous.hiding import Hiding
from loadstone.runs.slow_seconds import slow_seconds
from recorded import a_plan, recorder_for, steps_of
from scripted_engine import Script

SEED = 20_261_125
USERS = 10
SESSIONS = SourceName(role="sessions")
SERVER = SourceName(role="server")
HOST = SourceName(role="server-host")
LOAD = Driven(
    users=USERS, seconds=30.0, in_statements=9.0, connecting=0.0, is_paced=False, beside=0.0,
    served=0.5,
)  # fmt: skip


def steady(chance: random.Random, seconds: int, kept: float, spread: float) -> list[float]:
    """Rates around 1,000 a second; each keeps this part of the last one's difference."""
    rates, apart = [], chance.gauss(0, 1)
    for _ in range(seconds):
        rates.append(1000 * (1 + spread * apart))
        apart = kept * apart + (1 - kept**2) ** 0.5 * chance.gauss(0, 1)
    return rates


@pytest.mark.parametrize("seconds", [10, 30, 120])
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_steady_noisy_step_has_no_slow_seconds(seconds: int, kept: float) -> None:
    """1 of 100 is to have some: of 200, 7 or more would be one chance in 200."""
    chance = random.Random(SEED)
    draws = [slow_seconds(steady(chance, seconds, kept, 0.08)) for _ in range(200)]
    assert sum(map(bool, draws)) <= 6, f"seed {SEED}"


def test_a_slow_trend_and_a_single_value_are_no_slow_seconds() -> None:
    assert slow_seconds([1000.0 - 20 * second for second in range(30)]) == ()
    assert slow_seconds([1000.0] * 30) == ()
    assert slow_seconds([0.0] * 30) == ()
    assert slow_seconds([5.0, 5.0, 0.0]) == ()


@pytest.mark.parametrize(
    ("part", "slow"),
    [
        (0.25, range(11, 16)),
        (0.3, [7]),
        (0.0, [0, 29]),
        (0.5, [2, 3, 4, 12, 13, 14, 22, 23, 24]),
    ],
    ids=["five seconds", "one sync", "first and last", "a periodic checkpoint"],
)
def test_stalls_are_found_however_many_there_are(part: float, slow: Sequence[int]) -> None:
    rates = steady(random.Random(SEED), 30, 0.3, 0.05)
    for at in slow:
        rates[at] *= part
    assert slow_seconds(rates) == tuple(slow)


def readings(
    slow: Sequence[int],
    places: Callable[[bool], dict[Place | str, float]],
    figures: Callable[[bool], tuple[dict[str, float], dict[str, float]]],
    looks: int = 15,
) -> Iterator[Observation]:
    """Thirty seconds of a server: in each look the sessions are at these seats."""
    chance = random.Random(SEED)
    for second in range(30):
        is_slow = second in slow
        seen: dict[str, float] = {"looks": looks, "core_s": 0.2 if is_slow else 4.0}
        seen |= {"delay_s": 0.0, "counted_s": 1.0, "at.running": 0.0, "sq.running": 0.0}
        for seat, mean in places(is_slow).items():
            number = [mean * chance.uniform(0.8, 1.2) for _ in range(looks)]
            seen[f"at.{seat}"] = sum(number)
            seen[f"sq.{seat}"] = sum(each**2 for each in number)
            seen[f"xr.{seat}"] = 0.0
        times = {"from_s": float(second), "to_s": second + 1.0}
        yield Observation(source=SESSIONS, deltas=seen, gauges={}, **times)
        deltas, gauges = figures(is_slow)
        noisy = {name: value * chance.uniform(0.95, 1.05) for name, value in deltas.items()}
        yield Observation(source=SERVER, deltas=noisy, gauges=gauges, **times)


def added_up(
    rates: Sequence[float], seen: Iterator[Observation], *, is_even: bool = True
) -> CourseSums:
    spans = [(float(second), second + 1.0) for second in range(len(rates))]
    sums = CourseSums(
        RatedSeconds.of(spans, rates, is_even=is_even),
        Window(from_s=0.0, to_s=float(len(rates)), method="fixed"),
        {"data_disk": "vda"},
    )
    for one in seen:
        sums.add(one)
    return sums


STALL = range(11, 16)


def with_a_stall() -> list[float]:
    rates = steady(random.Random(SEED), 30, 0.3, 0.05)
    return [0.25 * rate if second in STALL else rate for second, rate in enumerate(rates)]


def in_a_lock(is_slow: bool) -> dict[Place | str, float]:
    return {"row lock": 8.0, "client": 1.5} if is_slow else {"row lock": 1.0, "client": 4.0}


def of_a_lock(is_slow: bool) -> tuple[dict[str, float], dict[str, float]]:
    events = 250.0 if is_slow else 1000.0
    deltas = {
        "questions": 20 * events, "com_commit": events, "pages_flushed": 500.0,
        "row_lock_time_s": 8.0 if is_slow else 1.0,
    }  # fmt: skip
    return deltas, {"row_lock_current_waits": 7.0 if is_slow else 0.0, "setting.log_bin": 1.0}


def stalled(looks: int = 15) -> SlowSeconds:
    found = added_up(with_a_stall(), readings(STALL, in_a_lock, of_a_lock, looks)).slow(LOAD)
    assert found is not None
    return found


def test_a_stall_in_a_row_lock_is_told_with_its_place() -> None:
    slow = stalled()
    assert (slow.count, slow.of, slow.spans) == (5, 30, ((11.0, 16.0),))
    assert slow.tps == pytest.approx(250, rel=0.1)
    assert slow.tps_others == pytest.approx(1000, rel=0.1)
    assert slow.lost == pytest.approx(5 / 30 * 0.75, rel=0.05)
    assert slow.looks == 75
    first, *_, last = slow.places
    assert (first.place, last.place) == ("row lock", "on core")
    assert first.slow == pytest.approx(0.8, rel=0.05)
    assert first.others == pytest.approx(0.1, rel=0.1)
    assert first.low is not None
    assert first.high is not None
    assert 0.6 < first.low < first.gain < first.high < 0.8
    assert (last.known, last.low) == ("counted", None)


def test_counters_that_events_or_time_explain_are_not_named() -> None:
    """Queries fall with the events, and pages are flushed as ever."""
    told = {one.counter: one for one in stalled().counters}
    assert set(told) == {"row_lock_current_waits", "row_lock_time_s"}
    assert told["row_lock_current_waits"].spreads is None  # it was never anything but zero
    assert (told["row_lock_time_s"].spreads or 0) > 10


def test_a_disk_that_takes_longer_is_named_with_its_time() -> None:
    def figures(is_slow: bool) -> tuple[dict[str, float], dict[str, float]]:
        return {"disk.vda.writes": 100.0, "disk.vda.write_s": 5.0 if is_slow else 0.1}, {}

    seen = [
        one if one.source == SESSIONS else one.model_copy(update={"source": HOST})
        for one in readings(STALL, in_a_lock, figures)
    ]
    slow = added_up(with_a_stall(), iter(seen)).slow(LOAD)
    assert slow is not None
    (mean_time,) = slow.counters
    assert mean_time.counter == "disk.vda.write_await_ms"
    assert mean_time.slow == pytest.approx(50, rel=0.1)


def test_of_few_looks_there_is_no_interval() -> None:
    slow = stalled(looks=1)
    assert slow.looks == 5
    assert slow.places[0].place == "row lock"
    assert (slow.places[0].low, slow.places[0].high) == (None, None)


def test_without_a_look_in_the_slow_seconds_no_place_is_named() -> None:
    seen = [
        one
        for one in readings(STALL, in_a_lock, of_a_lock)
        if one.source == SERVER or int(one.from_s) not in STALL
    ]
    slow = added_up(with_a_stall(), iter(seen)).slow(LOAD)
    assert slow is not None
    assert slow.places == ()
    assert slow.counters


def test_readings_out_of_step_with_the_seconds_count_with_their_parts() -> None:
    seen = (
        one.model_copy(update={"from_s": one.from_s + 0.3, "to_s": one.to_s + 0.3})
        for one in readings(STALL, in_a_lock, of_a_lock)
    )
    slow = added_up(with_a_stall(), seen).slow(LOAD)
    assert slow is not None
    lock = slow.places[0]
    assert lock.place == "row lock"
    assert lock.slow == pytest.approx(0.8 - 0.3 / 5 * 0.7, rel=0.05)


def test_a_load_that_is_to_change_has_no_slow_seconds_but_a_course() -> None:
    sums = added_up(with_a_stall(), readings(STALL, in_a_lock, of_a_lock), is_even=False)
    assert sums.slow(LOAD) is None
    course = sums.course(LOAD)
    assert course is not None
    assert not any(one.slow for one in course.stretches)


def test_the_course_has_the_slow_seconds_apart_and_enough_looks_elsewhere() -> None:
    course = added_up(with_a_stall(), readings(STALL, in_a_lock, of_a_lock, looks=4)).course(LOAD)
    assert course is not None
    times = [(one.from_s, one.to_s, one.slow) for one in course.stretches]
    assert times == [
        (0.0, 3.0, False), (3.0, 6.0, False), (6.0, 11.0, False), (11.0, 16.0, True),
        (16.0, 19.0, False), (19.0, 22.0, False), (22.0, 25.0, False), (25.0, 30.0, False),
    ]  # fmt: skip
    row = course.places.index("row lock")
    assert [round(one.shares[row], 1) for one in course.stretches] == [0.1] * 3 + [0.8] + [0.1] * 4


def test_the_course_of_a_long_step_is_not_longer() -> None:
    rates = steady(random.Random(SEED), 3000, 0.0, 0.05)
    for second in range(0, 3000, 10):
        rates[second] = 100.0
    spans = [(float(second), second + 1.0) for second in range(3000)]
    window = Window(from_s=0.0, to_s=3000.0, method="fixed")
    sums = CourseSums(RatedSeconds.of(spans, rates, is_even=True), window, {})
    assert len(sums._stretches) <= 3 * MOST_STRETCHES + 1


def test_without_any_looks_there_is_no_course() -> None:
    assert added_up(with_a_stall(), iter(())).course(LOAD) is None
    assert Account.model_fields["course"].default is None


def a_recorded_run(out: Path) -> Path:
    """The stall as a run's folder has it; ten users, no warm-up."""
    plan = a_plan(ladder=(USERS,), duration_s=30.0, warmup=WarmupSeconds(warmup_s=0.0))
    (step,) = steps_of(plan)
    recorder = recorder_for(out, plan)
    document = step_document(plan, step, [Endpoint(target=plan.targets[0])])
    job = engine.start(document)
    recorder.begin_step(step)
    while not isinstance(record := job.next(0.0), End):
        assert record is not None
        recorder.record(step, record)
        if isinstance(record, Connected):
            began_s = recorder._load_began_s
            for one in readings(STALL, in_a_lock, of_a_lock):
                times = {"from_s": one.from_s + began_s, "to_s": one.to_s + began_s}
                recorder.observed(step, one.model_copy(update=times))
    recorder.record(step, record)
    recorder.source_facts(step, {"sessions": {"view": "threads"}})
    recorder.end_step(step, "finished")
    recorder.end_run("finished")
    return recorder.folder


def test_the_result_of_a_run_has_its_slow_seconds(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 25 if second in STALL else 100 + second % 7
    (step,) = run_folder.load(a_recorded_run(tmp_path)).steps
    assert step.account is not None
    slow, course = step.account.slow, step.account.course
    assert slow is not None
    assert course is not None
    assert slow.spans == ((11.0, 16.0),)
    assert slow.places[0].place == "row lock"
    assert [one.slow for one in course.stretches].count(True) == 5
    whole = step.account.share_of("row lock")
    at = course.places.index("row lock")
    mean = sum((one.to_s - one.from_s) * one.shares[at] for one in course.stretches) / 30
    assert mean == pytest.approx(whole, abs=0.002)


def test_what_an_open_loop_catches_up_does_not_hide_its_stall() -> None:
    due = [99.0 + second % 2 for second in range(30)]
    rates = [0.0 if second in STALL else rate for second, rate in enumerate(due)]
    rates[16:21] = [200.0] * 5
    assert slow_seconds(rates) == ()
    spans = [(float(second), second + 1.0) for second in range(30)]
    assert RatedSeconds.of(spans, rates, due, is_even=True).slow == tuple(STALL)


def test_without_names_the_counters_keep_theirs(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 25 if second in STALL else 100 + second % 7
    result = json.loads((a_recorded_run(tmp_path) / "result.json").read_text())
    counters = result["steps"][0]["account"]["slow"]["counters"]
    assert len(counters) == 2
    disk = {**counters[0], "counter": "disk.vda.write_await_ms"}
    assert Hiding(workloads=()).of([*counters, disk]) == [*counters, disk]
