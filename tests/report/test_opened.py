"""The Python API for a run that was opened: its frames and figures."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

import loadstone
from loadstone.report import frames
from loadstone.report.figures.of_run import NothingToDraw
from loadstone.report.opened import Run
from loadstone.runs.errors import StoreError
from recorded import a_plan, recorded_run
from report.a_day import a_day
from scripted_engine import Script


@pytest.fixture
def path(tmp_path: Path, script: Script) -> Path:
    return recorded_run(tmp_path, a_plan(ladder=(1, 4, 16)))


def types(run_frame: object) -> dict[str, str]:
    import polars

    assert isinstance(run_frame, polars.DataFrame)
    return {name: str(kind) for name, kind in run_frame.schema.items()}


def test_frames_have_the_columns_and_types_that_are_documented(path: Path) -> None:
    run = loadstone.open_run(path)
    assert types(run.steps) == frames.STEPS
    assert types(run.findings) == frames.FINDINGS
    assert run.steps["concurrency"].to_list() == [1, 4, 16]
    assert run.findings["rank"][0] == 1
    assert run.load.height == 15


def test_what_was_not_seen_is_a_frame_without_rows(path: Path) -> None:
    run = loadstone.open_run(str(path))
    assert types(run.server) == types(run.host) == frames.OBSERVED
    assert run.server.is_empty()


def test_a_run_without_its_parquet_is_read_from_the_journal(path: Path) -> None:
    whole = loadstone.open_run(path).load
    for written in ("load.parquet", "result.json"):
        (path / written).unlink()
    again = loadstone.open_run(path)
    assert again.load.equals(whole)
    assert again.result.run.state == "finished"


def test_runs_are_found_by_the_begin_of_their_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = path.parent.parent / "home"
    home.mkdir()
    path.parent.rename(home / "runs")
    monkeypatch.chdir(home)
    assert loadstone.open_run("last").path == loadstone.open_run("test").path
    with pytest.raises(StoreError, match="there is no run 'nothing'"):
        loadstone.open_run("nothing")


def test_a_figure_shows_itself_in_a_notebook(path: Path) -> None:
    shown = loadstone.open_run(path).figures.ladder()._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "<script" not in shown


def test_every_figure_of_a_step_is_there(tmp_path: Path, script: Script) -> None:
    figures = Run(a_day(tmp_path, steps=2)).figures
    made = [figures.seconds(1), figures.heat(1), figures.percentiles(1), figures.finding(1)]
    made += [figures.ladder(workload="oltp_read_write"), figures.variants(), figures.ceilings()]
    for figure in made:
        assert figure.option["series"], figure.title
        assert figure.about


@pytest.mark.parametrize("ask", ["seconds", "heat", "percentiles"])
def test_a_step_that_is_not_there_is_an_error_of_one_line(path: Path, ask: str) -> None:
    figures = loadstone.open_run(path).figures
    with pytest.raises(NothingToDraw, match=r"there is no step 99 in "):
        getattr(figures, ask)(99)


def test_a_ladder_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(NothingToDraw, match="there is no ladder 'pool=on' in "):
        loadstone.open_run(path).figures.ladder(variant="pool=on")


def test_the_percentile_curve_is_that_of_the_merged_histograms(path: Path) -> None:
    run = loadstone.open_run(path)
    step = run.result.steps[-1]
    found = run.latencies([step.step])[step.step]
    values = sorted(found.window["response"].elements())
    assert len(values) == step.latency.response.count
    curve = run.figures.percentiles(step.step).option["series"][0]["data"]
    assert curve[-1][0] == pytest.approx(len(values), rel=1e-3)
    assert curve[-1][1] == pytest.approx(values[-1] / 1e6, rel=1e-3)


def test_the_package_does_not_import_the_report_until_it_is_asked_for() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = loadstone.nothing  # type: ignore[attr-defined]


def test_the_worked_example_works(
    tmp_path: Path,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    notebook = json.loads((Path(__file__).parents[2] / "docs" / "swings.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    example = "\n".join("".join(cell["source"]) for cell in cells)
    a_day(tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(example)
    runpy.run_path(str(tmp_path / "example.py"))
    assert capsys.readouterr().out.startswith("4100 tps at 48 users\n")
