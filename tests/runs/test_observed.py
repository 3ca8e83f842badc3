"""What sources reported: in the journal, in the result, in the Parquet files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import polars
import pytest

from loadstone import engine
from loadstone.model.engine_plan import step_document
from loadstone.model.message import plain
from loadstone.model.observed import SHARED_HOST, Observation, SourceName, SourceState
from loadstone.model.plan import Plan
from loadstone.model.records import Connected, End
from loadstone.model.result import Result, StepResult
from loadstone.model.target import Endpoint
from loadstone.runs import run_folder
from loadstone.runs.parquet import read
from loadstone.runs.rebuild import replay
from recorded import a_plan, recorder_for, steps_of
from runs.cuts import cuts
from scripted_engine import Script

SERVER = SourceName(role="server")
HOST = SourceName(role="server-host")
Seen = Observation | SourceState


def second(source: SourceName, at: float, gauges: dict[str, float], **deltas: float) -> Observation:
    """The second that ends `at` seconds after the load's start."""
    named = {name.replace("__", "."): value for name, value in deltas.items()}
    return Observation(source=source, from_s=at - 1, to_s=at, deltas=named, gauges=gauges)


def a_run(
    out: Path,
    seen: Sequence[Seen],
    facts: dict[str, dict[str, str]] | None = None,
    plan: Plan | None = None,
) -> Path:
    """One step with these reports; after a second of warm-up its window is from 1 to 5 s."""
    plan = plan or a_plan(ladder=(4,))
    recorder = recorder_for(out, plan)
    (step,) = steps_of(plan)
    job = engine.start(step_document(plan, step, [Endpoint(target=plan.targets[0])]))
    recorder.begin_step(step)
    began_s = 0.0
    while not isinstance(record := job.next(0.0), End):
        assert record is not None
        recorder.record(step, record)
        if isinstance(record, Connected):
            began_s = recorder._load_began_s
            for one in seen:
                recorder.observed(step, _shifted(one, began_s))
    recorder.record(step, record)
    recorder.source_facts(step, facts or {})
    recorder.end_step(step, "finished")
    recorder.end_run("finished")
    return recorder.folder


def _shifted(seen: Seen, by_s: float) -> Seen:
    if isinstance(seen, SourceState):
        return seen
    return seen.model_copy(update={"from_s": seen.from_s + by_s, "to_s": seen.to_s + by_s})


def step_of(run: Path) -> StepResult:
    (step,) = run_folder.load(run).steps
    return step


def test_figures_are_of_the_window_and_totals_of_the_whole_step(
    tmp_path: Path, script: Script
) -> None:
    seen = [second(SERVER, at, {}, com_commit=10.0 * at) for at in (0, 1, 2, 3, 4, 5, 6)]
    server = step_of(a_run(tmp_path, seen)).server
    assert server is not None
    assert server.seconds == pytest.approx(4.0)
    assert server.rates["com_commit"] == pytest.approx((20 + 30 + 40 + 50) / 4)
    assert server.totals["com_commit"] == pytest.approx(210)


def test_a_second_on_the_edge_counts_by_the_part_that_lies_inside(
    tmp_path: Path, script: Script
) -> None:
    seen = [second(SERVER, at, {}, questions=100.0) for at in (1.25, 2.25)]
    server = step_of(a_run(tmp_path, seen)).server
    assert server is not None
    assert server.seconds == pytest.approx(1.25)
    assert server.questions_per_s == pytest.approx(100)


def test_ratios_are_those_of_sums(tmp_path: Path, script: Script) -> None:
    seen = [
        second(SERVER, 2, {}, binlog_commits=90, log_syncs=10, log_written_bytes=5000),
        second(SERVER, 3, {}, binlog_commits=10, log_syncs=10, log_written_bytes=5000),
    ]
    server = step_of(a_run(tmp_path, seen)).server
    assert server is not None
    assert server.transactions_per_sync == pytest.approx(5.0)
    assert server.bytes_per_sync == pytest.approx(500)


def test_a_counter_that_was_not_there_is_null_and_not_nought(
    tmp_path: Path, script: Script
) -> None:
    server = step_of(a_run(tmp_path, [second(SERVER, 2, {}, questions=5)])).server
    assert server is not None
    assert server.log_syncs_per_s is None
    assert server.transactions_per_sync is None


def test_a_counter_that_was_there_for_half_of_the_time_has_the_rate_of_that_half(
    tmp_path: Path, script: Script
) -> None:
    seen = [second(SERVER, 2, {}, questions=5, com_commit=8), second(SERVER, 3, {}, questions=5)]
    server = step_of(a_run(tmp_path, seen)).server
    assert server is not None
    assert server.rates == pytest.approx({"questions": 5.0, "com_commit": 8.0})


def test_a_host_is_shares_of_cores_and_the_disk_and_nic_that_matter(
    tmp_path: Path, script: Script
) -> None:
    deltas = {
        "cpu__user_s": 1.0,
        "cpu__system_s": 0.5,
        "cpu__idle_s": 0.5,
        "cpu__0__idle_s": 0.4,
        "cpu__1__idle_s": 0.1,
        "disk__vda__writes": 50.0,
        "disk__vda__write_s": 0.1,
        "disk__sdb__writes": 999.0,
        "nic__eth0__bytes_in": 1000.0,
        "nic__eth0__bytes_out": 3000.0,
    }
    facts = {str(HOST): {"data_disk": "vda", "traffic_nic": "eth0"}}
    script.tps = lambda users, second: 100
    host = step_of(a_run(tmp_path, [second(HOST, 3, {"run_queue": 2.0}, **deltas)], facts)).host
    assert host is not None
    assert host.cores == 2
    assert [host.cpu_user, host.cpu_sys, host.cpu_idle] == pytest.approx([0.5, 0.25, 0.25])
    assert host.busiest_core == pytest.approx(0.9)
    assert host.disk_write_iops == pytest.approx(50.0)
    assert host.disk_write_await_ms == pytest.approx(2.0)
    assert host.net_bytes_per_event == pytest.approx(40.0)
    assert host.run_queue == 2.0
    assert host.process_cpu_user is None


def test_a_host_that_is_both_is_shown_as_both(tmp_path: Path, script: Script) -> None:
    seen = [second(HOST, 3, {}, cpu__user_s=1.0, cpu__0__idle_s=0.0)]
    step = step_of(a_run(tmp_path / "a", seen, {str(HOST): {SHARED_HOST: "yes"}}))
    assert step.generator_host == step.host
    assert step_of(a_run(tmp_path / "b", seen)).generator_host is None


def test_nothing_that_was_seen_is_not_evaluated(tmp_path: Path, script: Script) -> None:
    step = step_of(a_run(tmp_path, []))
    assert (step.server, step.host, step.generator_host, step.observing) == (None,) * 4
    assert not (tmp_path / "server.parquet").exists()


def test_a_lost_source_is_a_note_and_takes_no_second_of_the_load(
    tmp_path: Path, script: Script
) -> None:
    lost = SourceState(source=SERVER, at_s=2.5, lost=True, why=plain("the connection was cut"))
    whole, cut = step_of(a_run(tmp_path / "a", [])), step_of(a_run(tmp_path / "b", [lost]))
    assert (cut.events, cut.seconds, cut.tps) == (whole.events, whole.seconds, whole.tps)
    assert (
        "the server's counters could not be read from 2 s of the load on: the connection was "
        "cut" in cut.notes
    )


def test_a_run_is_the_same_when_it_is_made_anew(tmp_path: Path, script: Script) -> None:
    seen = [second(SERVER, at, {"threads_running": at}, questions=at) for at in (1, 2, 3)]
    run = a_run(tmp_path, seen, {str(SERVER): {"not_evaluated.file_summary": "it is off"}})
    kept: Result = run_folder.load(run)
    assert replay(run) == kept
    assert kept.steps[0].server is not None
    assert kept.steps[0].server.not_evaluated == {"file_summary": "it is off"}


def test_names_stand_in_the_journal_once(tmp_path: Path, script: Script) -> None:
    seen = [second(SERVER, at, {}, a_counter_of_ours=at) for at in (1, 2, 3)]
    text = (a_run(tmp_path, seen) / "journal.jsonl").read_text()
    assert text.count("a_counter_of_ours") == 1


def test_the_frames_have_a_row_an_observation(tmp_path: Path, script: Script) -> None:
    seen = [
        second(SERVER, 1, {"threads_running": 3.0}, questions=7),
        second(HOST, 1, {}, context_switches=5),
        second(SERVER, 2, {}, questions=8, com_commit=1),
    ]
    run = a_run(tmp_path, seen)
    server, host = (
        polars.read_parquet(run / "server.parquet"),
        polars.read_parquet(run / "host.parquet"),
    )
    assert server["questions"].to_list() == [7.0, 8.0]
    assert server["com_commit"].to_list() == [None, 1.0]
    assert server["threads_running.now"].to_list() == [3.0, None]
    assert server["second"].to_list() == pytest.approx([1.0, 2.0])
    assert host["context_switches"].to_list() == [5.0]
    assert set(host["role"].to_list()) == {"server-host"}


def test_a_killed_run_has_the_same_frames(tmp_path: Path, script: Script) -> None:
    run = a_run(tmp_path, [second(SERVER, 1, {}, questions=7), second(HOST, 1, {}, dirty=5)])
    for which, name in read.FILES.items():
        written = read.of_run(run, which)
        (run / name).unlink()
        assert not written.is_empty()
        assert read.of_run(run, which).equals(written)


def test_a_journal_cut_anywhere_still_loads(tmp_path: Path, script: Script) -> None:
    seen = [second(SERVER, at, {"threads_running": at}, questions=at) for at in (1, 2, 3)]
    run = a_run(tmp_path / "whole", seen, {str(SERVER): {"a": "b"}})
    journal = (run / "journal.jsonl").read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    shutil.copy(run / "latency.hlog", cut)
    questions = []
    for length in cuts(journal):
        (cut / "journal.jsonl").write_bytes(journal[:length])
        for step in run_folder.load(cut).steps:
            questions.append(step.server.totals["questions"] if step.server else 0.0)
    assert questions == sorted(questions), "a longer journal never tells less"
    assert questions[-1] == 6.0


def test_states_that_come_and_go_are_no_new_names(tmp_path: Path, script: Script) -> None:
    seen = [second(SERVER, at, {"x": 1.0, f"state.{at}": 2.0}, questions=at) for at in (2, 3)]
    run = a_run(tmp_path, seen)
    assert (run / "journal.jsonl").read_text().count("observed_names") == 1
    server = step_of(run).server
    assert server is not None
    assert server.means["state.2"] == pytest.approx(1.0)


def test_a_line_without_its_names_costs_nothing_else(tmp_path: Path, script: Script) -> None:
    run = a_run(tmp_path, [second(SERVER, 2, {}, questions=5), second(HOST, 2, {}, forks=1)])
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if "observed_names" not in line or "forks" in line]
    (run / "journal.jsonl").write_text("".join(kept))
    (run / "result.json").unlink()
    step = step_of(run)
    assert step.server is None
    assert step.host is not None
    assert step.events > 0


def test_a_watch_that_was_killed_shows_what_it_saw(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1,))
    recorder = recorder_for(tmp_path, plan)
    (step,) = steps_of(plan)
    recorder.begin_step(step)
    for at in (1.0, 2.0, 3.0):
        recorder.observed(step, second(SERVER, at, {}, questions=4))
    recorder.close()
    (shown,) = run_folder.load(recorder.folder).steps
    assert shown.state == "interrupted"
    assert shown.server is not None
    assert (shown.server.seconds, shown.server.questions_per_s) == (3.0, 4.0)
