"""The report of an experiment: the matrix and its verdicts come first."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.test_experiment import FILE, by_server, carried_out, undisturbed
from loadstone.model.language import in_language
from loadstone.report.html import as_html
from loadstone.report.markdown import as_markdown
from loadstone.report.names import VERDICT_WORDS
from loadstone.report.opened import Run
from report.test_html import Seen
from scripted_engine import Script

__all__ = ["undisturbed"]


@pytest.fixture
def run(script: Script) -> Run:
    """A run in which server b does a tenth more; each step has its own noise."""
    by_server(script, lambda port, step, second: 100 + step % 3 + (10 if port == 3302 else 0))
    assert carried_out(FILE.replace("repeats = 4", "repeats = 8")) == 0
    (path,) = Path("runs").iterdir()
    return Run(path)


def test_the_matrix_follows_the_answer_and_says_what_is_faster(run: Run) -> None:
    page = Seen(as_html(run))
    sections = [one["id"] for one in page.named("section")]
    assert sections[:3] == ["answer", "matrix", "ladder"]
    assert "1 cell with 2 variants were compared." in page.text
    assert "server=b against server=a: faster" in page.text
    assert "▲ faster +9" in page.text
    assert "Variants took turns, so that a drift hits all alike" in page.text


def test_the_matrix_is_told_in_chinese_and_in_markdown(run: Run) -> None:
    assert f"▲ {in_language('zh')(VERDICT_WORDS['faster'])}" in as_html(run, "zh")
    told = as_markdown(run)
    rows = [line for line in told.splitlines() if "server=b against server=a" in line]
    assert len(rows) == 1
    assert rows[0].startswith("| oltp\\_point\\_select, 4 users | ")
    assert " | faster | +9" in rows[0]


def test_one_variant_is_measured_and_not_compared(script: Script) -> None:
    by_server(script, lambda port, step, second: 100 + step % 3)
    one = FILE.partition("[factor")[0] + '[target]\nurl = "mysql://bench@127.0.0.1:3301/sbtest"\n'
    assert carried_out(one.replace("repeats = 4", "repeats = 2")) == 0
    (path,) = Path("runs").iterdir()
    page = Seen(as_html(Run(path)))
    assert "Measured: 1 cell with one variant." in page.text
    assert "With one variant nothing is compared." in page.text
    assert "differ" not in page.text
