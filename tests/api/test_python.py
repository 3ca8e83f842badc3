"""The commands as Python functions, on real servers."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import loadstone
from house.repository import ROOT
from loadstone.model.exit_codes import ExitCode
from loadstone.sandbox import Sandbox

pytestmark = [pytest.mark.server, pytest.mark.slow]


def the_script() -> str:
    """The first program of docs/python.md, with steps of one second."""
    page = (ROOT / "docs/python.md").read_text()
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found
    return found[1].replace("duration_s=10", "duration_s=1, warmup_s=0")


def test_the_script_of_the_page_runs_diagnoses_and_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "script.py"
    program.write_text(the_script())
    known = runpy.run_path(str(program))
    before, after = known["before"], known["after"]
    assert isinstance(before, loadstone.Run) and isinstance(after, loadstone.Run)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted(
        [before.path.name, after.path.name]
    )
    assert before.steps["concurrency"].to_list() == [1, 8]
    assert before.result.run.state == after.result.run.state == "finished"
    changes = loadstone.compare(before, after).changes
    assert changes["users"].to_list() == [1, 8]
    for row in changes.iter_rows(named=True):
        # A step disturbed by the machine counts for nothing, and has no rate there.
        assert row["tps_first"] is None or row["tps_first"] > 0
        assert row["tps"] is None or row["tps"] > 0
    # The output holds only what the script itself prints.
    said = capsys.readouterr()
    assert said.err == ""
    assert "p99_ms" in said.out and "verdict" in said.out


@pytest.fixture
def url(own_schema: Sandbox, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LOADSTONE_PASSWORD", own_schema.tcp.credentials.reveal())
    return own_schema.tcp.target.url


def test_what_cannot_be_done_is_an_error_with_a_hint(url: str, tmp_path: Path) -> None:
    with pytest.raises(loadstone.LoadstoneError) as caught:
        loadstone.run("oltp_read_onyl", target=url, out=tmp_path)
    assert caught.value.hint == "did you mean oltp_read_only?"
    with pytest.raises(loadstone.LoadstoneError, match="sbtest1") as caught:
        loadstone.run("oltp_read_only", target=url, out=tmp_path, duration_s=1)
    assert caught.value.exit_code == ExitCode.TARGET
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_is_carried_out_and_compared(tmp_path: Path) -> None:
    file = tmp_path / "ways.toml"
    file.write_text(
        "\n".join(
            (
                'duration = "1s"',
                'warmup = "0s"',
                "ladder = [2]",
                "repeats = 2",
                "[sandbox]",
                "[[workload]]",
                'name = "oltp_point_select"',
                "tables = 1",
                "table_size = 100",
                "[factor.way.prepared]",
                "client = { prepared = true }",
                "[factor.way.text]",
                "client = { prepared = false }",
            )
        )
    )
    run = loadstone.experiment(file, out=tmp_path / "runs")
    # More units follow if noise has disturbed one.
    assert [step.variant for step in run.result.steps][:4] == [
        "way=prepared", "way=text", "way=text", "way=prepared",
    ]  # fmt: skip
    assert run.comparison is not None
    (row,) = loadstone.compare(run, by="way").changes.iter_rows(named=True)
    assert (row["side"], row["users"]) == ("text", 2)
