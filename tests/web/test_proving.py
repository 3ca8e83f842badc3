"""The trial under way for a run's findings, and the columns of the heat map, as files grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments.trials import BEFORE, CHANGED, FACTOR
from loadstone.model.plan import Step
from loadstone.runs.proofs import STEPS
from loadstone.runs.rebuild import JOURNAL, LATENCIES
from loadstone.web.latency_columns import ROWS, LatencyColumns, row_labels
from loadstone.web.proving import TrialProgress
from recorded import a_plan, record_step, recorded_run, recorder_for, steps_of
from scripted_engine import Script


def step(number: int, variant: str = "default", users: int = 4) -> Step:
    return Step(number=number, workload="oltp_read_write", concurrency=users, variant=variant)


def test_a_trial_says_in_which_step_the_change_is_in_effect(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    progress = TrialProgress(run)
    assert progress.look() is None
    plan = a_plan(name="tls", ladder=(4, 4))
    trial = recorder_for(run / STEPS, plan)
    seen = []
    for number, level in ((1, BEFORE), (2, CHANGED)):
        trial.begin_step(step(number, f"{FACTOR}={level}"))
        seen.append(progress.look())
        trial.end_step(step(number, f"{FACTOR}={level}"), "stopped")
        seen.append(progress.look())
    common = {"cause": "tls", "steps_planned": 2}
    assert seen == [
        {**common, "steps_done": 0, "users": 4, "changed": False},
        {**common, "steps_done": 1, "users": None, "changed": None},
        {**common, "steps_done": 1, "users": 4, "changed": True},
        {**common, "steps_done": 2, "users": None, "changed": None},
    ]
    trial.end_run("finished")
    assert progress.look() is None
    trial.close()


def test_another_number_of_users_is_a_change_too(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    trial = recorder_for(run / STEPS, a_plan(name="few-users", ladder=(4, 16)))
    progress = TrialProgress(run)
    changed = []
    for number, users in ((1, 4), (2, 16)):
        trial.begin_step(step(number, users=users))
        found = progress.look()
        assert found is not None
        changed.append(found["changed"])
        trial.end_step(step(number, users=users), "stopped")
    assert changed == [False, True]
    trial.close()


def test_a_folder_of_trials_that_is_a_link_or_damaged_is_left_alone(
    tmp_path: Path, script: Script
) -> None:
    run, other = recorded_run(tmp_path / "a"), tmp_path / "other"
    trial = recorder_for(other, a_plan(name="tls"))
    (run / STEPS).symlink_to(other)
    assert TrialProgress(run).look() is None
    (run / STEPS).unlink()
    (run / STEPS).mkdir()
    trial.folder.rename(run / STEPS / trial.folder.name)
    with (run / STEPS / trial.folder.name / JOURNAL).open("ab") as journal:
        journal.write(b"no entry\n")
    assert TrialProgress(run).look() is None
    trial.close()


def test_each_second_is_a_column_of_the_events_in_each_row(tmp_path: Path, script: Script) -> None:
    script.latency_ns = lambda users, second: 2_000_000
    plan = a_plan(ladder=(4,))
    recorder = recorder_for(tmp_path, plan)
    columns = LatencyColumns(recorder.folder / LATENCIES)
    assert columns.read_on() == []
    record_step(recorder, plan, steps_of(plan)[0])
    found = columns.read_on()
    assert len(found) == 5 and columns.read_on() == []
    assert list(columns.kept) == found
    # Ten events a second for each of four users take two milliseconds.
    (row, times), *others = found[0]["rows"]
    assert (times, others) == (40, [])
    assert float(row_labels()[row]) <= 2.0 < float(row_labels()[row + 1])
    assert [one["at"] for one in found] == sorted({one["at"] for one in found})
    recorder.close()


def test_a_long_log_is_read_from_near_its_end(tmp_path: Path, script: Script) -> None:
    from loadstone.web import latency_columns

    plan = a_plan(ladder=(4,))
    recorder = recorder_for(tmp_path, plan)
    record_step(recorder, plan, steps_of(plan)[0])
    log = recorder.folder / LATENCIES
    whole = LatencyColumns(log).read_on()
    more = log.read_bytes()
    log.write_bytes(b"#" * latency_columns.MOST_BYTES + b"\n" + more)
    assert LatencyColumns(log).read_on() == whole
    recorder.close()


def test_a_log_that_is_no_log_has_no_columns(tmp_path: Path, script: Script) -> None:
    log = tmp_path / LATENCIES
    for content in (
        b"Tag=step-1/response,x,1,1,HISTF\n",
        b"\xff\n",
        b"Tag=step-1/response,1,1,1,HISTF!\n",
    ):
        log.write_bytes(content)
        assert LatencyColumns(log).read_on() == []
    log.unlink()
    log.symlink_to("/dev/zero")
    assert LatencyColumns(log).read_on() == []


@pytest.mark.parametrize(
    ("latency_ns", "row"),
    [
        (1, 0),
        *((12_000 * 10**decade, 6 * decade) for decade in range(7)),
        (10**15, ROWS - 1),
    ],
)
def test_rows_cover_all_latencies(
    tmp_path: Path, script: Script, latency_ns: int, row: int
) -> None:
    script.latency_ns = lambda users, second: latency_ns
    recorder = recorder_for(tmp_path, a_plan())
    record_step(recorder, a_plan(), steps_of(a_plan())[0])
    recorder.close()
    (column, *_) = LatencyColumns(recorder.folder / LATENCIES).read_on()
    assert column["rows"][0][0] == row
    assert len(row_labels()) == ROWS
