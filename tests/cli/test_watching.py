"""What a user sees while a run is under way."""

from __future__ import annotations

import os
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from analyse.made import a_step
from loadstone.cli.errors import exit_code_of
from loadstone.cli.progress.load import LoadLines, progress_line
from loadstone.cli.progress.steps import LiveTable, PlainLines, TimeLeft, second_line, watching
from loadstone.cli.progress.trials import TrialLines
from loadstone.lab.step.order import steps_of
from loadstone.model.message import plain
from loadstone.model.plan import Plan, Rate, Step
from loadstone.model.records import (
    Counts,
    GeneratorUse,
    Latencies,
    LatencyNs,
    LoadProgress,
    Phase,
    Sample,
    Tally,
)
from loadstone.model.search import Objective, SearchPlan
from loadstone.sandbox import SandboxError, SandboxSpec, ServerBinary
from recorded import a_plan

PLAN = a_plan(ladder=(1, 8), duration_s=30.0)


def sample(to_s: float, phase: Phase = "window", errors: dict[str, int] | None = None) -> Sample:
    response = LatencyNs(count=10, p50=1_500_000, p95=2_500_000, p99=3_500_000, max=9_000_000)
    return Sample(
        phase=phase,
        from_s=to_s - 1,
        to_s=to_s,
        tally=Tally(due=1, waiting=0, started=1, skipped=0, in_flight=0, succeeded=1, failed=0),
        counts=Counts(events=1234, reads=12_340),
        errors=errors or {},
        users=8,
        latency_ns=Latencies(response=response),
        generator=GeneratorUse(cpu_us=61_700, wall_us=1_000_000, late_ns_p99=0, shards=1),
    )


def shown(view: LiveTable) -> list[str]:
    out = StringIO()
    Console(file=out, width=100).print(view)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def test_the_current_second_is_on_top_and_the_step_in_its_row() -> None:
    view = LiveTable(PLAN, 2)
    step = steps_of(PLAN)[1]
    view.on_step_begin(step)
    assert shown(view)[0] == "step 2 of 2, 8 users: connecting"
    view.on_sample(step, sample(13.0))
    lines = shown(view)
    assert lines[0] == "step 2 of 2, 8 users: window 12 of 30 s, 1,234 tps, p95 2.50 ms"
    assert lines[-1].split() == "8 1,234 12,340 1.50 2.50 3.50 9.00 0 0 5.00".split()


def test_the_time_left_is_by_how_long_the_steps_took() -> None:
    plan = a_plan(ladder=(1, 8, 64), duration_s=30.0)
    first, second, _ = steps_of(plan)
    begun_at = iter((100.0, 190.0))
    view = LiveTable(plan, 3, lambda: next(begun_at))
    view.on_step_begin(first)
    assert "left" not in shown(view)[0]
    view.on_step_end(first, a_step())
    view.on_step_begin(second)
    view.on_sample(second, sample(13.0))
    # 18 of 31 s are left of this step, and the first one took 90 s from its start to the next.
    assert shown(view)[0].endswith("p95 2.50 ms, about 108 s left")


def test_a_terminal_that_is_closed_meanwhile_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    step, *_ = steps_of(PLAN)
    with open(slave, "w") as terminal, monkeypatch.context() as patch:
        # It keeps drawing: for a moment the terminal is not yet known to be closed.
        patch.setenv("TERM", "xterm")
        patch.setenv("FORCE_COLOR", "1")
        patch.setattr(sys, "stderr", terminal)
        with watching(PLAN, 2, quiet=False) as view:
            view.on_step_begin(step)
            os.close(master)
            with pytest.raises(OSError, match="Input/output error"):
                os.write(slave, b"x")
            view.on_sample(step, sample(13.0))
            view.on_note(plain("still there"))
        with open(os.devnull, "w") as nowhere:  # for what could not be shown
            os.dup2(nowhere.fileno(), slave)


def test_notes_stand_below_the_live_table() -> None:
    view = LiveTable(PLAN, 2)
    view.on_note("the server is on this machine")
    assert shown(view)[-1] == "note  the server is on this machine"


def test_a_second_says_its_phase_and_its_errors() -> None:
    warming = second_line(PLAN, sample(1.0, "warmup", {"1213": 2}))
    assert warming == "warmup 1 of 1 s, 1,234 tps, p95 2.50 ms, 2 errors"


def test_plain_lines_come_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainLines(PLAN, 2)
    step = steps_of(PLAN)[0]
    view.on_step_begin(step)
    for second in range(1, 32):
        view.on_sample(step, sample(float(second)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].partition(",")[0] for line in lines] == [
        "connecting",
        "window 9 of 30 s",
        "window 19 of 30 s",
        "window 29 of 30 s",
    ]


def test_a_trial_says_now_and_then_how_much_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = TrialLines(12, 48.0, quiet=False)
    step = steps_of(PLAN)[0]
    view.on_step_end(step, a_step())
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("loadstone.cli.progress.trials.LINE_EVERY_S", 0.0)
    view.on_step_end(step, a_step())
    assert capsys.readouterr().err == "  2 of 12 steps, about 40 s left\n"


def test_a_server_is_named_before_it_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def starts(spec: SandboxSpec) -> None:
        assert capsys.readouterr().err == "starting MySQL 9.7.4\n"
        raise SandboxError(plain("it does not start"))

    binary = ServerBinary(Path("mysqld"), "mysql", "9.7.4")
    monkeypatch.setattr("loadstone.sandbox.find_server", lambda wanted: binary)
    monkeypatch.setattr("loadstone.sandbox.start_sandbox", starts)
    assert exit_code_of(["sandbox", "start", "--server", "mysql"]) == 6


def test_a_server_that_takes_long_to_start_is_still_waited_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def starts(spec: SandboxSpec) -> None:
        while "still starting MySQL 9.7.4, 0 s so far" not in "".join(said):
            said.append(capsys.readouterr().err)
        raise SandboxError(plain("it does not start"))

    binary = ServerBinary(Path("mysqld"), "mysql", "9.7.4")
    monkeypatch.setattr("loadstone.sandbox.find_server", lambda wanted: binary)
    monkeypatch.setattr("loadstone.sandbox.start_sandbox", starts)
    monkeypatch.setattr("loadstone.cli.commands.sandbox._STILL_EVERY_S", 0.01)
    assert exit_code_of(["sandbox", "start", "--server", "mysql"]) == 6


def test_a_step_without_a_rate_has_no_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainLines(PLAN, 2)
    step = steps_of(PLAN)[0]
    view.on_step_end(step, a_step(state="stopped", tps=100.0).model_copy(update={"tps": None}))
    assert capsys.readouterr().err == "step 1 of 2, 1 user: stopped\n"


def test_a_search_says_what_held_and_which_rates_are_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    objective = Objective(figure="p99", relation="<", limit_ms=10.0)
    plan = PLAN.model_copy(update={"search": SearchPlan(objective=objective)})
    view = PlainLines(plan, None)
    step = steps_of(PLAN)[0]
    view.on_step_end(step, a_step(users=1, tps=1000.0, p99_ms=2.0))
    tried = ((700.0, 2.0), (858.0, 20.0), (600.0, 20.0))
    for asked, p99_ms in tried:
        rate = Rate(rate=asked)
        view.on_step_end(step, a_step(users=1, rate=rate, tps=asked, p99_ms=p99_ms))
    closed, *ended = capsys.readouterr().err.splitlines()
    assert "p99<10ms" not in closed, "the closed loop has no rate to hold"
    assert [line.partition("; ")[2] for line in ended] == [
        "holds p99<10ms; the answer is 700 events/s or more",
        "does not hold p99<10ms; the answer is from 700 to 858 events/s",
        "does not hold p99<10ms; the answer is below 600 events/s",
    ]


def test_the_live_table_of_a_search_has_the_last_verdict() -> None:
    objective = Objective(figure="p99", relation="<", limit_ms=10.0)
    view = LiveTable(PLAN.model_copy(update={"search": SearchPlan(objective=objective)}), None)
    step = steps_of(PLAN)[0]
    view.on_step_end(step, a_step(users=1, tps=1000.0))
    view.on_step_end(step, a_step(users=1, rate=Rate(rate=700.0), tps=700.0, p99_ms=2.0))
    said = "  last step: holds p99<10ms; the answer is 700 events/s or more"
    assert shown(view)[:2] == ["next step", said]


def progress(rows: int, seconds: float) -> LoadProgress:
    return LoadProgress(
        seconds=seconds,
        rows=rows,
        rows_total=1_000_000,
        phase="rows",
        tables_done=0,
        method="infile",
    )


def test_loading_says_how_fast_and_how_long_still() -> None:
    said = progress_line(progress(250_000, 2.0))
    assert said == "loading: 250,000 of 1,000,000 rows, 125,000 rows/s, 6 s left"
    assert progress_line(progress(0, 0.0)) == "loading: 0 of 1,000,000 rows, 0 rows/s"


def test_rows_of_an_earlier_load_are_none_of_its_speed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.cli.progress.load.LINE_EVERY_S", 0.0)
    monkeypatch.setattr("loadstone.cli.progress.load.FIRST_LINE_AFTER_S", 0.0)
    lines = LoadLines()
    lines.on_progress(progress(700_000, 1.0))
    lines.on_progress(progress(730_000, 2.0))
    assert capsys.readouterr().err.splitlines() == [
        "loading: 700,000 of 1,000,000 rows, 0 rows/s",
        "loading: 730,000 of 1,000,000 rows, 30,000 rows/s, 9 s left",
    ]


def test_the_time_left_is_a_guess_and_has_two_digits() -> None:
    said = progress_line(progress(470_123, 1.234567))
    assert said.endswith(", 1.4 s left")


def test_loading_is_quiet_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LoadLines(quiet=True)
    lines.on_progress(progress(1, 1.0))
    lines.close()
    assert capsys.readouterr() == ("", "")


def searching(peak: bool = True, most_users: int = 8) -> Plan:
    wanted = SearchPlan(peak=peak, most_users=most_users)
    return a_plan(ladder=(1,), duration_s=30.0).model_copy(update={"search": wanted})


def at(number: int, users: int, variant: str = "default", repeat: int = 1) -> Step:
    return Step(number=number, variant=variant, workload="w", concurrency=users, repeat=repeat)


def test_a_search_says_how_many_steps_may_follow_at_most(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # From the first step on, 40 s from one to the next.
    seconds = iter((0.0, 0.0, 40.0, 80.0))
    view = TimeLeft(searching(), None, clock=lambda: next(seconds))
    view.on_step_begin(at(1, 1))
    view.on_step_end(at(1, 1), a_step(users=1, tps=1000.0))
    view.on_step_begin(at(2, 2))
    view.on_step_end(at(2, 2), a_step(users=2, tps=2000.0))
    view.on_step_begin(at(3, 4))
    lines = [
        line
        for line in capsys.readouterr().err.splitlines()
        if "steps in" in line or "step in" in line
    ]
    # 2, 4 and 8 users, two levels between neighbours, two repeats of three levels: 11 after one.
    assert lines == [
        "1 step in 40 s; at most 11 more if repeats agree, about 7 min 20 s",
        "2 steps in 80 s; at most 10 more if repeats agree, about 6 min 40 s",
    ]


def test_the_live_table_says_so_below_the_current_second() -> None:
    begun_at = iter((100.0, 140.0))
    view = LiveTable(searching(), None, lambda: next(begun_at))
    view.on_step_begin(at(1, 1))
    assert not any("at most" in line for line in shown(view)), "no step has shown how long it takes"
    view.on_step_end(at(1, 1), a_step(users=1, tps=1000.0))
    view.on_step_begin(at(2, 2))
    said = "  1 step in 40 s; at most 11 more if repeats agree, about 7 min 20 s"
    assert shown(view)[1] == said


def test_searches_of_an_experiment_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = iter((0.0, 0.0, 10.0, 20.0))
    view = TimeLeft(searching(most_users=1), None, 2, lambda: next(seconds))
    for number, variant in enumerate(("server=a", "server=a", "server=b"), 1):
        step = at(number, 1, variant)
        view.on_step_begin(step)
        view.on_step_end(step, a_step(users=1, tps=1000.0).model_copy(update={"variant": variant}))
    lines = [line for line in capsys.readouterr().err.splitlines() if "search " in line]
    # One level, measured three times by each search.
    assert lines == [
        "search 1 of 2: 1 step in 10 s; at most 5 more if repeats agree, about 50 s",
        "search 2 of 2: 2 steps in 20 s; at most 3 more if repeats agree, about 30 s",
    ]
