"""result.json: its content, and that its schema describes it."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

import jsonschema
import polars
import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.model.result import Result, Window
from loadstone.runs import hlog, run_folder
from loadstone.runs.parquet import load_table
from loadstone.runs.rebuild import replay
from recorded import SECRET, a_plan, recorded_run
from scripted_engine import Script


def schema() -> dict[str, object]:
    text = files("loadstone.runs").joinpath("result.schema.json").read_text()
    return dict(json.loads(text))


def test_the_result_fits_its_schema(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    jsonschema.validate(json.loads((run / "result.json").read_text()), schema())


def test_the_schema_refuses_a_step_without_its_rate(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    document = json.loads((run / "result.json").read_text())
    del document["steps"][0]["tps"]
    with pytest.raises(jsonschema.ValidationError, match="'tps' is a required property"):
        jsonschema.validate(document, schema())


def test_the_schema_is_the_one_of_the_types() -> None:
    generated = Result.model_json_schema(mode="serialization")
    assert schema() == generated | {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def test_a_result_of_an_earlier_version_opens_and_its_findings_are_left_out(
    tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path)
    as_written = run_folder.load(run)
    file = run / "result.json"
    document = json.loads(file.read_text())
    assert "findings" not in document
    file.write_text(json.dumps(document | {"findings": []}))
    assert run_folder.load(run) == as_written


def test_figures_are_of_the_window_only(tmp_path: Path, script: Script) -> None:
    script.tps = lambda users, second: 1000 if second == 0 else 10 * users
    run = recorded_run(tmp_path, a_plan(ladder=(4,)))
    step = run_folder.load(run).steps[0]
    assert (step.seconds, step.events, step.tps, step.qps) == (4.0, 160, 40.0, 800.0)
    assert (step.reads, step.writes, step.other) == (14 * 160, 4 * 160, 2 * 160)
    assert step.window is not None
    assert (step.window.from_s, step.window.to_s) == (1.0, 5.0)
    assert step.latency.response.count == 160


def test_percentiles_are_those_of_all_values_together(tmp_path: Path, script: Script) -> None:
    # Three seconds at 1 ms and one at 9 ms: a mean of percentiles would say 3 ms.
    script.tps = lambda users, second: 100
    script.latency_ns = lambda users, second: 9_000_000 if second == 4 else 1_000_000
    step = run_folder.load(recorded_run(tmp_path, a_plan(ladder=(1,)))).steps[0]
    assert step.latency.response.p50 == pytest.approx(1.0, abs=0.1)
    assert step.latency.response.p90 == pytest.approx(9.0, abs=0.1)
    assert step.statements["read"].p90 == pytest.approx(9.0, abs=0.1)


def test_the_generators_cost_is_by_statement(tmp_path: Path, script: Script) -> None:
    step = run_folder.load(recorded_run(tmp_path, a_plan(ladder=(10,)))).steps[0]
    assert step.generator.cpu_us_per_query == pytest.approx(100 / 20)
    assert step.generator.cpu_share == pytest.approx(100 * 100 / 1e6)


def test_a_broken_tally_is_a_note_that_is_an_error(tmp_path: Path, script: Script) -> None:
    script.broken_tally = True
    step = run_folder.load(recorded_run(tmp_path)).steps[0]
    assert step.tally_balances is False
    assert step.notes[0].startswith("error: the counters of the generator do not add up")


def test_errors_of_the_warm_up_are_kept_apart(tmp_path: Path, script: Script) -> None:
    script.errors = {"1213": 2}
    step = run_folder.load(recorded_run(tmp_path)).steps[0]
    assert step.errors == {"1213": 8}
    assert step.errors_outside == {"1213": 2}


def test_lost_latency_lines_are_said(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    latencies = run / "latency.hlog"
    lines = latencies.read_text().splitlines(keepends=True)
    second_step = next(at for at, line in enumerate(lines) if line.startswith("Tag=step-2/"))
    latencies.write_text("".join(lines[: second_step + 4]))
    step = replay(run).steps[1]
    assert any("latency.hlog holds" in note for note in step.notes)


def test_the_result_is_what_a_replay_of_the_journal_gives(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    assert run_folder.to_json(replay(run)) == (run / "result.json").read_bytes()


def test_the_frame_has_a_row_a_second_and_step(tmp_path: Path, script: Script) -> None:
    table = polars.read_parquet(recorded_run(tmp_path) / "load.parquet")
    assert table.columns == list(load_table.COLUMNS)
    assert table.height == 2 * 5
    assert table["phase"].to_list() == ["warmup", *["window"] * 4] * 2
    assert table.filter(table["step"] == 2)["tps"].to_list() == [40.0] * 5


def test_no_file_of_a_run_holds_the_password(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    files_of_run = list(run.iterdir())
    assert len(files_of_run) >= 5
    for file in files_of_run:
        assert SECRET.encode() not in file.read_bytes(), file.name


@pytest.mark.parametrize("umask", [0, 0o077])
def test_what_a_run_keeps_is_for_its_owner_alone(
    umask: int, tmp_path: Path, script: Script
) -> None:
    before = os.umask(umask)
    try:
        run = recorded_run(tmp_path)
        assert exit_code_of(["report", str(run)]) == 0
    finally:
        os.umask(before)
    kept = {file.name: file.stat().st_mode & 0o777 for file in run.iterdir()}
    assert {"run.json", "journal.jsonl", "latency.hlog", "report.html", "seals"} <= kept.keys()
    assert set(kept.values()) == {0o600}, kept


def test_a_name_that_looks_like_a_time_and_is_none_is_listed(
    tmp_path: Path, script: Script
) -> None:
    recorded_run(tmp_path).rename(tmp_path / "x-99999999T999999Z")
    (listed,) = run_folder.list_runs(tmp_path)
    assert listed.result is not None
    assert run_folder.find(tmp_path, "last").name == "x-99999999T999999Z"


def test_a_drain_of_microseconds_is_not_in_the_window() -> None:
    # The window ends at 7.000000 + 0.123457; the drain begins there and is over 80 µs later.
    window, drain = (
        hlog.restamp(line, 0.123457)
        for line in (
            "Tag=step-1/response,6.000000,1.000000,1.0,HIST",
            "Tag=step-1/response,7.000000,0.000080,1.0,HIST",
        )
    )
    inside = Window(from_s=2.0, to_s=7.0, method="fixed")
    assert list(hlog.within([window, drain], inside, 0.123457)) == [window]
