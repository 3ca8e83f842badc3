"""`loadstone runs ask`: what the live page can ask of a run, asked by a command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from called import called
from loadstone.model.control import SetRate, SetUsers, StopRun
from loadstone.model.plan import Rate, Step
from loadstone.runs import control_requests
from loadstone.runs.recorder import Recorder
from recorded import a_plan, record_step, recorder_for, steps_of
from scripted_engine import Script


@pytest.fixture
def recorder(tmp_path: Path, script: Script) -> Iterator[Recorder]:
    """A run under way, after its first step and before its second."""
    plan = a_plan()
    found = recorder_for(tmp_path / "runs", plan)
    record_step(found, plan, steps_of(plan)[0])
    yield found
    found.close()


def ask(recorder: Recorder, *words: str, code: int = 0) -> str:
    run = recorder.folder
    return called("runs", "ask", run.name, *words, folder=run.parents[1], code=code).stderr


def test_what_is_asked_is_for_the_step_that_runs(recorder: Recorder) -> None:
    step = Step(number=2, workload="oltp_read_write", concurrency=4, rate=Rate(rate=100.0))
    recorder.begin_step(step)
    assert "within a second" in ask(recorder, "--users", "3")
    ask(recorder, "--rate=12.5")
    ask(recorder, "--stop")
    assert control_requests.take(recorder.folder) == [
        SetUsers(step=2, users=3),
        SetRate(step=2, rate=12.5),
        StopRun(),
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--users", "5"), "step 2 has 4 users: a step cannot have more than it started with"),
        (("--users", "0"), "users: it must be 1 or more"),
        (("--rate", "10"), "step 2 has no rate"),
        ((), "give one of --users, --rate and --stop"),
        (("--users", "2", "--stop"), "give one of --users, --rate and --stop"),
    ],
)
def test_what_the_step_cannot_do_is_a_usage_error(
    recorder: Recorder, words: tuple[str, ...], why: str
) -> None:
    recorder.begin_step(Step(number=2, workload="oltp_read_write", concurrency=4))
    assert why in ask(recorder, *words, code=2)
    assert control_requests.take(recorder.folder) == []


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf", "1e9"])
def test_a_rate_that_no_load_has_is_refused(recorder: Recorder, rate: str) -> None:
    step = Step(number=2, workload="oltp_read_write", concurrency=4, rate=Rate(rate=100.0))
    recorder.begin_step(step)
    assert "rate: it must be" in ask(recorder, f"--rate={rate}", code=2)
    assert control_requests.take(recorder.folder) == []


def test_between_two_steps_it_can_only_be_stopped(recorder: Recorder) -> None:
    assert "is between two steps" in ask(recorder, "--users", "1", code=8)
    ask(recorder, "--stop")
    assert control_requests.take(recorder.folder) == [StopRun()]


def test_of_a_run_that_is_over_nothing_is_asked(recorder: Recorder) -> None:
    recorder.end_run("finished")
    recorder.close()
    said = ask(recorder, "--stop", code=8)
    assert said.startswith(f"error: {recorder.folder.name} is over")
    assert control_requests.take(recorder.folder) == []


def test_of_what_is_no_run_nothing_is_asked(recorder: Recorder) -> None:
    out = recorder.folder.parents[1]
    said = called("runs", "ask", "no-such", "--stop", folder=out, code=8).stderr
    assert "there is no run 'no-such'" in said
